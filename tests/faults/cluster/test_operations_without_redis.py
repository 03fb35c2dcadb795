"""Operations where there has never been a Redis: PostgreSQL alone brings every one to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.door import Door, open_door
from tests.faults.job_objects import task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until

# None: nobody was told of one. The other: nobody answers there.
LANES = [None, "redis://127.0.0.1:1/0"]


@pytest.fixture(params=LANES, ids=["without an address", "where nobody answers"])
async def cluster(
    request: pytest.FixtureRequest, database_url: str, tmp_path: Path
) -> AsyncIterator[Cluster]:
    """Instead of the one with Redis."""
    async with open_cluster(database_url, request.param, tmp_path) as opened:
        yield opened


async def is_whole(cluster: Cluster) -> None:
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    assert await cluster.count("FROM windlass.attempt") == 0, "no attempt was cut off"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def fill(
    cluster: Cluster, door: Door, nodes: list[NodeProcess], seconds: float | None
) -> None:
    """Each node runs as many tasks as it has slots, and more wait. None: until they are let go."""
    slots = [(await door.shown(node))["workers"] for node in nodes]
    before = len(cluster.accepted)
    name, args = ("note_held", []) if seconds is None else ("note", [seconds])
    await cluster.submit(
        [task(name, f"f{before + n}", *args) for n in range(sum(slots) + len(nodes))]
    )

    async def is_full() -> bool:
        running = [await cluster.running_on(node.node_id) for node in nodes]
        return all(count >= size for count, size in zip(running, slots, strict=True))

    await until(is_full, what="every slot is taken")


async def test_a_busy_node_grows_and_shrinks_to_nothing_and_back(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=4)
        await fill(cluster, door, [node], 1.0)
        for size in (0, 6, 1, 3):
            done = await door.until_ended(await door.resize(node.node_id, size))
            assert done["phase"] == "done", done
            assert (await door.shown(node))["workers"] == size
        await cluster.until_ended()
    await is_whole(cluster)


async def test_an_idle_node_is_resized_as_well(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=4)
        for size in (1, 8):
            done = await door.until_ended(await door.resize(node.node_id, size))
            assert done["phase"] == "done", done
        # The one that serves and runs nothing has a size, too.
        done = await door.until_ended(await door.resize(door.node_id, 2))
        assert done["phase"] == "done", done


async def test_a_paused_node_starts_nothing_and_a_resumed_one_goes_on(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=2)
        await fill(cluster, door, [node], 0.5)
        paused = await door.until_ended(await door.verb(node.node_id, "pause"))
        assert paused["phase"] == "done"

        async def is_idle() -> bool:
            return await cluster.running_on(node.node_id) == 0

        await until(is_idle, what="what ran has ended and the rest is handed back")
        await cluster.submit([task("note", "late")])
        began = len(cluster.witness.lines("start"))
        # It hears of a change although it looks for no work.
        done = await door.until_ended(await door.resize(node.node_id, 3))
        assert done["phase"] == "done"
        assert len(cluster.witness.lines("start")) == began
        resumed = await door.until_ended(await door.verb(node.node_id, "resume"))
        assert resumed["phase"] == "done"
        await cluster.until_ended()
    await is_whole(cluster)


async def test_a_drained_node_finishes_leaves_and_another_does_the_rest(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=2)
        await fill(cluster, door, [node], 1.0)
        asked = await door.verb(node.node_id, "drain")
        assert await node.ends() == 0
        assert (await door.until_ended(asked))["phase"] == "done"
        assert (await door.shown(node))["state"] == "left"
        await cluster.start_node(workers=4)
        await cluster.until_ended()
    await is_whole(cluster)


async def test_an_aborted_resize_goes_back_and_the_node_works_on(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=2)
        await fill(cluster, door, [node], None)
        asked = await door.until_phase(await door.resize(node.node_id, 0), "draining")
        await door.call("POST", f"/v1/operations/{asked['id']}/abort", 200)
        back = await door.until_ended(asked)
        assert (back["phase"], back["reason"]) == ("rolled_back", "aborted")
        assert (await door.shown(node))["workers"] == 2
        gate(cluster.witness.path).touch()
        await cluster.until_ended()
    await is_whole(cluster)


async def test_the_whole_cluster_is_resized_and_called_back_while_it_works(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        both = (cluster.start_node(workers=2) for _ in range(2))
        nodes = list(await asyncio.gather(*both))
        await fill(cluster, door, nodes, None)
        asked = await door.call("PATCH", "/v1/cluster", 202, {"workers": 0})
        assert len(asked["operations"]) == 3
        await door.until_phase(asked, "draining")
        await door.call("POST", f"/v1/operations/{asked['id']}/abort", 200)
        back = await door.until_ended(asked)
        assert back["phase"] == "rolled_back"
        assert [(await door.shown(node))["workers"] for node in nodes] == [2, 2]

        asked = await door.call("PATCH", "/v1/cluster", 202, {"workers": 5})
        done = await door.until_ended(asked)
        assert {part["phase"] for part in done["operations"]} == {"done"}
        assert [(await door.shown(node))["workers"] for node in nodes] == [5, 5]
        gate(cluster.witness.path).touch()
        await cluster.until_ended()
    await is_whole(cluster)
