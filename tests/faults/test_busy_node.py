"""A node with plenty to do still finds what nobody told it about."""

from __future__ import annotations

from tests.faults.cluster import Cluster
from tests.faults.jobs import wait
from tests.faults.until import until


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
