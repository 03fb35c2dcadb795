"""Jobs that kill what runs them: quarantined after a few crashes, and only they."""

from __future__ import annotations

from tests.faults.check import faults_found
from tests.faults.job_objects import noop, task, wait
from tests.faults.nodes import EndedEarly, NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.api.jobs.view import job_view
from windlass.limits import CRASHES_MAX

QUICK_RETRY = {"max_attempts": 10, "initial": 0.05, "factor": 1, "jitter": False}


async def test_a_job_that_kills_its_node_is_buried_after_exactly_so_many_crashes(
    cluster: Cluster,
) -> None:
    poison = task("exit_node", "poison", retry=QUICK_RETRY)
    await cluster.submit([task("note", f"n{n}", 0.2) for n in range(6)])
    await cluster.submit([poison, *(wait(f"w{n}", 0.2) for n in range(6))])
    await cluster.submit([noop(f"k{n}") for n in range(50)])
    codes: list[int] = []  # that nodes ended with

    async def start() -> NodeProcess:
        """A node that is alive; work begins before it says that it is ready, and may end it."""
        while len(codes) <= CRASHES_MAX:
            try:
                return await cluster.start_mortal_node()
            except EndedEarly as early:
                codes.append(early.code)
        raise AssertionError(f"nodes ended with {codes}")

    node = await start()

    async def is_over() -> bool:
        nonlocal node
        if not node.is_alive:
            codes.append(await node.ends())
            node = await start()
        return (await cluster.states(["poison"]))["dead"] == 1

    await until(is_over, what="the poisoned job is buried")
    await cluster.until_ended()
    assert codes == [9] * CRASHES_MAX
    assert len(cluster.witness.lines("start", "poison")) == CRASHES_MAX
    row = (await cluster.rows(["poison"]))["poison"]
    assert (row["cause"], row["outcome"], row["attempt"]) == ("worker_died", "lost", CRASHES_MAX)
    assert job_view(row).crashes == CRASHES_MAX, "the one that ended it counts too"
    neighbours = [marker for marker in cluster.accepted if marker != "poison"]
    assert await cluster.states(neighbours) == {"succeeded": len(neighbours)}
    assert node.is_alive
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_an_isolated_job_that_dies_takes_only_its_own_process_along(
    cluster: Cluster,
) -> None:
    node = await cluster.start_node(workers=4)
    crashers = {"exit_process": "x", "segfault": "s"}
    await cluster.submit([task(name, m, retry=QUICK_RETRY) for name, m in crashers.items()])
    await cluster.submit([task("segfault", "once", retry={"max_attempts": 1})])
    await cluster.submit([task("note_isolated", f"i{n}") for n in range(6)])
    await cluster.submit([task("note", f"n{n}", 0.05) for n in range(40)])
    await cluster.until_ended()
    rows = await cluster.rows(cluster.accepted)
    for marker in ("x", "s", "once"):
        row = rows.pop(marker)
        assert (row["state"], row["cause"], row["outcome"]) == ("dead", "worker_died", "lost")
        assert row["attempt"] == CRASHES_MAX, "a crash is counted apart from tries"
        starts = cluster.witness.lines("start", marker)
        assert len(starts) == CRASHES_MAX
        assert node.pid not in {line.pid for line in starts}
    assert {row["state"] for row in rows.values()} == {"succeeded"}
    assert node.is_alive
    assert {row["node_id"] for row in rows.values()} == {node.node_id}, "it kept its lease"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
