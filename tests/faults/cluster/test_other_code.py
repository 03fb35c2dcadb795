"""Nodes of the old and of the new code side by side: nothing is spent on those who cannot."""

from __future__ import annotations

from tests.as_node_role import by_hand
from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until

MARKERS = [f"m{n}" for n in range(8)]


async def test_a_task_waits_for_a_node_that_has_it_and_loses_no_try(cluster: Cluster) -> None:
    old = await cluster.nodes.start(cluster.database.url, cluster.redis_url)  # has other tasks
    once = {"max_attempts": 1}
    await cluster.submit([task("write_quickly", marker, 0, retry=once) for marker in MARKERS])

    async def one_has_written() -> bool:
        return bool(await cluster.fetch("SELECT FROM public.effect"))

    # What it has the task for and is due later was looked for later.
    await cluster.submit([task("note", "after")])
    await cluster.until_ended(["after"])
    async with by_hand(cluster.database) as connection:
        await connection.execute(
            "CREATE TABLE public.effect (marker text, attempt int4);"
            "GRANT SELECT, INSERT ON public.effect TO PUBLIC"
        )
    await cluster.nodes.start(
        cluster.database.url, cluster.redis_url, app="tests.faults.jobs.writing_app:app"
    )
    await until(one_has_written, what="the new node has done one of them")
    old.terminate()
    assert await old.ends() == 0
    await cluster.until_ended()
    assert await cluster.states(cluster.accepted) == {"succeeded": len(MARKERS) + 1}
    rows = await cluster.rows(MARKERS)
    assert {(row["attempt"], row["snoozes"]) for row in rows.values()} == {(1, 0)}
    assert await faults_found(cluster.database, list(cluster.accepted.values())) == []
