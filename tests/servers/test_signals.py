"""Signals while Redis itself changes: Sentinels name a new primary, a Cluster's slots move.

Whom Redis does not reach meanwhile is told through PostgreSQL (engine.cluster.node_signals).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from redis.crc import key_slot

from tests.faults.cluster.signalling import Sender, shown, signalling
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import open_cluster
from tests.servers.valkeys import ClusterOfThree, open_cluster_of_three, open_watched
from tests.until import until
from windlass.fastlane.keys import coordinator
from windlass.model.cluster.node_signal import Signalled

SENDERS = 3
# Long enough for both ways, one after the other.
WAIT_SECONDS = 5.0


@dataclass(slots=True, kw_only=True)
class Load:
    """Signals that are sent all the time, to all nodes."""

    sender: Sender
    nodes: list[NodeProcess]
    said: list[Signalled] = field(default_factory=list)

    @property
    def owners(self) -> list[str]:
        """All whose keys are in use."""
        return [*shown(*self.nodes), self.sender.id]

    async def send_during(self, change: Change) -> None:
        is_over = False

        async def send_for_ever() -> None:
            while not is_over:
                self.said.append(await self.sender.send(wait_seconds=WAIT_SECONDS))
                await asyncio.sleep(0.01)

        senders = [asyncio.create_task(send_for_ever()) for _ in range(SENDERS)]
        try:
            await change(self)
        finally:
            is_over = True
            await asyncio.gather(*senders)

    async def until_more(self) -> None:
        """Each of the senders has begun a signal after this, and it has ended."""
        wanted = len(self.said) + 2 * SENDERS

        async def are_more() -> bool:
            return len(self.said) >= wanted

        await until(are_more, what="signals end")

    async def until_through_redis(self) -> None:
        """All acknowledge, and nothing has to be written into PostgreSQL for it."""

        async def is_so() -> bool:
            before = await self.sender.stored()
            said = await self.sender.send(wait_seconds=WAIT_SECONDS)
            self.said.append(said)
            is_by_all = said.acknowledged == shown(*self.nodes)
            return is_by_all and await self.sender.stored() == before

        await until(is_so, what="signals go through Redis")

    def all_are_accounted_for(self) -> None:
        by_node = {shown(node)[0]: handled(node) for node in self.nodes}
        assert all(set(counts.values()) == {1} for counts in by_node.values()), "once each"
        for one in self.said:
            assert sorted([*one.acknowledged, *one.missing]) == shown(*self.nodes)
            assert all(by_node[node][one.id] == 1 for node in one.acknowledged)


Change = Callable[[Load], Awaitable[None]]


def handled(node: NodeProcess) -> Counter[str]:
    """How often the node handled each signal."""
    lines = [line for line in node.log.splitlines() if "signal_came" in line]
    return Counter(line.partition("signal=")[2].split()[0] for line in lines)


async def tell_nodes_during(url: str, database_url: str, folder: Path, change: Change) -> None:
    async with open_cluster(database_url, url, folder) as cluster:
        nodes = [await cluster.start_node(), await cluster.start_node()]
        async with signalling(cluster, url) as sender:
            load = Load(sender=sender, nodes=nodes)
            await load.until_through_redis()
            await load.send_during(change)
            print(f"{len(load.said)} signals, {await sender.stored()} through PostgreSQL")
            await load.until_through_redis()
            load.all_are_accounted_for()
        assert all(node.is_alive for node in nodes)


async def test_while_sentinels_name_a_new_primary_each_signal_is_accounted_for(
    database_url: str, tmp_path: Path
) -> None:
    async with open_watched() as watched:

        async def fail_over(load: Load) -> None:
            await load.until_more()
            await watched.primary.kill()
            await watched.until_promoted()
            await load.until_more()

        await tell_nodes_during(watched.url, database_url, tmp_path, fail_over)


async def test_while_the_slots_of_sender_and_targets_move_each_signal_is_accounted_for(
    database_url: str, tmp_path: Path
) -> None:
    async with open_cluster_of_three() as valkeys:

        async def move_each(load: Load) -> None:
            for owner in load.owners:
                await move_with_a_rest(valkeys, key_slot(coordinator(owner, "").encode()), load)

        await tell_nodes_during(valkeys.url, database_url, tmp_path, move_each)


async def move_with_a_rest(valkeys: ClusterOfThree, slot: int, load: Load) -> None:
    """Half-way scripts find one of their keys here and the other there, and are refused."""
    here = valkeys.first_owner_of(slot)
    there = next(server for server in valkeys.primaries if server is not here)
    await valkeys.begin_to_move(slot, here, there)
    await valkeys.move_some(slot, here, there, 1)
    await load.until_more()
    while await valkeys.move_some(slot, here, there, 1):
        pass
    await valkeys.end_move(slot, here, there)
    await valkeys.until_all_know(slot, there)
    await load.until_more()
