"""A rolling restart: three nodes, one after the other, under load; nothing is lost or doubled."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.faults.check import faults_found
from tests.faults.door import Door, open_door
from tests.faults.job_objects import noop, task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until

NODES = 3
BATCH = 15
QUIET_SECONDS = 0.1


@pytest.mark.timeout(300)  # three nodes end and start, one after the other
@pytest.mark.parametrize("how", ["signal", "operation"])
async def test_a_rolling_restart_of_three_nodes_under_load_loses_and_doubles_nothing(
    cluster: Cluster, how: str
) -> None:
    nodes = list(await asyncio.gather(*(start(cluster) for _ in range(NODES))))
    is_over = False

    async def keep_submitting() -> None:
        n = 0
        while not is_over:
            work = [task("note", f"t{n}-{m}", 0.05 * (m % 6)) for m in range(BATCH)]
            await cluster.submit([*work, *(noop(f"n{n}-{m}") for m in range(BATCH))])
            n += 1
            await asyncio.sleep(QUIET_SECONDS)

    async with open_door(cluster) as door:
        submitting = asyncio.create_task(keep_submitting())
        for old in nodes[:NODES]:
            await until(lambda old=old: is_busy(cluster, old), what="it runs something")  # type: ignore[misc]
            await leave(door, old, how)
            nodes.append(await start(cluster))
        is_over = True
        await submitting
        await cluster.until_ended()
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    tasks = [marker for marker in cluster.accepted if marker.startswith("t")]
    starts, ends = cluster.witness.by_marker("start"), cluster.witness.by_marker("end")
    assert Counter(len(starts[marker]) for marker in tasks) == {1: len(tasks)}
    assert Counter(len(ends[marker]) for marker in tasks) == {1: len(tasks)}
    assert len({line.pid for line in cluster.witness.lines("start")}) > NODES
    assert await cluster.count("FROM windlass.attempt") == 0
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def start(cluster: Cluster) -> NodeProcess:
    return await cluster.start_node(workers=4)


async def leave(door: Door, node: NodeProcess, how: str) -> None:
    if how == "signal":
        node.terminate()
        assert await node.ends() == 0
        return
    asked = await door.verb(node.node_id, "drain")
    assert await node.ends() == 0
    assert (await door.read(asked))["phase"] == "done"


async def is_busy(cluster: Cluster, node: NodeProcess) -> bool:
    return await cluster.running_on(node.node_id) > 0
