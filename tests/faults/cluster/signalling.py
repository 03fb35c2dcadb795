"""Whoever sends signals to the nodes of a cluster: an API, without its HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from redis.asyncio import Redis

from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass import ids
from windlass.engine.cluster.node_signals import Signaller
from windlass.fastlane.keys import coordinator
from windlass.fastlane.lane import FastLane
from windlass.fastlane.signals import Signals
from windlass.model.cluster.node_signal import Signalled


def shown(*nodes: NodeProcess) -> list[str]:
    return sorted(ids.show("node", node.node_id) for node in nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    cluster: Cluster
    signals: Signals
    signaller: Signaller
    id: str

    async def send(
        self, name: str = "ping", *, to: list[UUID] | None = None, wait_seconds: float = 30.0
    ) -> Signalled:
        return await self.signaller.signal(to, name, {}, wait_seconds)

    async def stored(self) -> int:
        """How many signals went by way of PostgreSQL."""
        return await self.cluster.count("FROM windlass.signal")


@asynccontextmanager
async def signalling(cluster: Cluster, redis_url: str | None) -> AsyncIterator[Sender]:
    lane = FastLane(redis_url)
    signals = Signals(lane)
    sender = ids.show("node", uuid4())
    await lane.open()
    try:
        yield Sender(
            cluster=cluster,
            signals=signals,
            signaller=Signaller(cluster.database, signals, lambda: sender),
            id=sender,
        )
    finally:
        await lane.close()


async def owned(redis: Redis, owner: str) -> set[str]:
    """The keys of one coordinator."""
    prefix = coordinator(owner, "")
    return {key.decode() async for key in redis.scan_iter(match=prefix + "*")}


async def names_in_index(redis: Redis, owner: str) -> set[str]:
    """The keys that it says it owns."""
    names = await redis.smembers(coordinator(owner, "keys"))
    return {name if isinstance(name, str) else name.decode() for name in names}


async def until_it_beats(redis: Redis, *nodes: NodeProcess) -> None:
    """Wait until these are in Redis with all that they say of themselves."""

    async def all_beat() -> bool:
        keys = [coordinator(node, "activity") for node in shown(*nodes)]
        return int(await redis.exists(*keys)) == len(keys)

    await until(all_beat, what=f"{len(nodes)} coordinators beat")


def came(node: NodeProcess, signal_id: str) -> int:
    """How often the node handled a signal."""
    return sum("signal_came" in line and signal_id in line for line in node.log.splitlines())
