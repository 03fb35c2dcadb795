"""SIGTERM: a node finishes what runs, hands back what has not begun, and leaves."""

from __future__ import annotations

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster
from tests.faults.jobs import noop, task
from tests.faults.nodes import NodeProcess
from tests.faults.until import until
from windlass.clock import monotonic

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
