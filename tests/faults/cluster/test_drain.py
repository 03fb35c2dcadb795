"""SIGTERM: a node finishes what runs, hands back what has not begun, and leaves."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.check import faults_found
from tests.faults.job_objects import noop, task
from tests.faults.nodes import MORTAL, NodeProcess
from tests.faults.proxy import Proxy
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.clock import monotonic
from windlass.testing.servers import PrivateServers

WORKERS = 4


async def test_a_drain_finishes_what_runs_and_hands_back_what_has_not_begun(
    cluster: Cluster,
) -> None:
    node = await cluster.start_node(workers=WORKERS)
    # While jobs take no time the node claims further and further ahead; then they are long.
    await cluster.submit([noop(f"k{n}") for n in range(1_000)])
    await cluster.until_ended()
    long = await cluster.submit([task("note", f"l{n}", 1.0) for n in range(100)])
    await until_it_holds(cluster, node, WORKERS + 10)
    node.terminate()
    assert await node.ends() == 0

    rows = await cluster.rows(long)
    starts, ends = cluster.witness.by_marker("start"), cluster.witness.by_marker("end")
    assert {line.pid for line in cluster.witness.lines()} == {node.pid}
    assert starts.keys() == ends.keys(), "whatever began has ended"
    for marker, row in rows.items():
        if marker in starts:
            assert (row["state"], row["attempt"]) == ("succeeded", 1)
        else:
            assert (row["state"], row["attempt"]) == ("queued", 0)
    released = await cluster.fetch("SELECT job_id FROM windlass.event WHERE type = 'released'")
    assert len(released) >= 10
    [row] = await cluster.fetch("SELECT state FROM windlass.node WHERE id = $1", node.node_id)
    assert row["state"] == "left"

    await cluster.start_node(workers=100)
    await cluster.until_ended()
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    assert await cluster.count("FROM windlass.attempt") == 0
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_a_second_signal_ends_the_drain_and_another_node_does_the_work(
    cluster: Cluster,
) -> None:
    node = await cluster.start_node()
    await cluster.submit([task("note", "long", 20.0), task("note_isolated", "apart", 20.0)])
    await cluster.until_started(["long", "apart"])
    node.terminate()
    await until_it_says(cluster, node, "draining")
    node.terminate()
    second_at = monotonic()
    assert await node.ends() == 0
    assert monotonic() - second_at < 10.0, "it did not wait for the tasks"
    assert cluster.witness.lines("end") == []
    other = await cluster.start_node()
    # Enough to know that it runs again; the end would take its time.
    await cluster.until_started(["long", "apart"], times=2)
    assert await cluster.running_on(other.node_id) == 2
    lost = await cluster.fetch("SELECT node_id, outcome FROM windlass.attempt")
    assert {(row["node_id"], row["outcome"]) for row in lost} == {(node.node_id, "lost")}
    assert len(lost) == 2


async def test_a_drain_gives_up_on_a_task_that_does_not_end(cluster: Cluster) -> None:
    node = await cluster.start_node(WINDLASS_DRAIN_TIMEOUT_SECONDS="2")
    await cluster.submit([task("note", "endless", 3600.0)])
    await cluster.until_started(["endless"])
    asked_at = monotonic()
    node.terminate()
    assert await node.ends() == 0
    assert 2.0 <= monotonic() - asked_at < 20.0
    assert "drain_timed_out" in node.log
    row = (await cluster.rows(["endless"]))["endless"]
    # The job did nothing wrong: it is due again and no try is spent.
    assert (row["state"], row["attempt"], row["snoozes"], row["crashes"]) == ("queued", 1, 1, 0)
    assert cluster.witness.lines("end") == []
    # The job did nothing wrong: it goes on elsewhere, with no crash and no try held against it.
    [row] = (await cluster.rows(["endless"])).values()
    assert (row["state"], row["crashes"], row["attempt"], row["snoozes"]) == ("queued", 0, 1, 1)


async def until_it_holds(cluster: Cluster, node: NodeProcess, count: int) -> None:
    async def holds() -> bool:
        return await cluster.running_on(node.node_id) >= count

    await until(holds, what=f"the node has claimed {count} jobs")


async def until_it_says(cluster: Cluster, node: NodeProcess, state: str) -> None:
    async def said() -> bool:
        [row] = await cluster.fetch("SELECT state FROM windlass.node WHERE id = $1", node.node_id)
        return bool(row["state"] == state)

    await until(said, what=f"the node is {state}")


async def test_a_node_without_a_lease_that_is_told_to_leave_is_not_born_again(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
    ):
        node = await cluster.nodes.start(proxy.url, cluster.redis_url, settings=MORTAL)
        proxy.silence()

        async def has_lost_its_lease() -> bool:
            return "node_lost_its_lease" in node.log

        await until(has_lost_its_lease, what="the node knows that it is none any more")
        # Both its first word as another node and the one that it leaves are under way.
        proxy.hold(b"-- node_register", b"-- node_set_state")
        proxy.heal()

        async def registers() -> bool:
            return proxy.held == 1

        await until(registers, what="it registers again")
        node.terminate()

        async def leaves() -> bool:
            return proxy.held == 2

        await until(leaves, what="it says that it leaves")
        await cluster.submit([task("note", f"n{n}", 60.0) for n in range(WORKERS)])
        await proxy.release()
        assert await node.ends() == 0
        assert cluster.witness.lines("start") == []
        for row in (await cluster.rows(cluster.accepted)).values():
            assert (row["state"], row["attempt"], row["crashes"]) == ("queued", 0, 0)
