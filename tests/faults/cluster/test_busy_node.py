"""A node with plenty to do still finds what nobody told it about."""

from __future__ import annotations

from tests.faults.job_objects import noop, wait
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.engine.jobs.queues import QueueLimits, put_queue


async def test_a_critical_job_submitted_by_sql_overtakes_a_long_line_of_low_ones(
    cluster: Cluster,
) -> None:
    await cluster.start_node(workers=2)
    low = await cluster.submit([wait(f"low{n}", 0.05, priority="low") for n in range(600)])
    await cluster.until_ended(list(low)[:10])
    # No hint goes out for what comes in through SQL.
    [row] = await cluster.fetch(
        """SELECT windlass.enqueue('{"kind": "noop", "priority": "critical"}') AS id"""
    )
    job_id = row["id"].removeprefix("job_")

    async def has_ended() -> bool:
        return await cluster.count("FROM windlass.job_history WHERE id = $1::uuid", job_id) == 1

    await until(has_ended, what="the critical job ends", within_seconds=8)
    assert await cluster.count("FROM windlass.job WHERE state = 'queued'") > 100, "not in its turn"


async def test_a_critical_job_overtakes_low_ones_of_a_limited_queue(cluster: Cluster) -> None:
    await put_queue(cluster.database, "bulk", QueueLimits(max_running=50))
    await cluster.start_node(workers=2)
    low = [wait(f"low{n}", 0.5, priority="low", queue="bulk") for n in range(60)]
    await cluster.submit(low)
    await cluster.until_ended(["low0", "low1"])
    await cluster.submit([noop("critical", priority="critical")])
    await cluster.until_ended(["critical"])
    assert await cluster.count("FROM windlass.job WHERE state = 'queued'") > 20, "not in its turn"
