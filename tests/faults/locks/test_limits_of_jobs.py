"""Limits of jobs on real nodes: tasks that fail and rest, a node that is killed, Redis gone."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from tests.engine.locks.locking import nothing_left
from tests.faults.job_objects import Job, task
from tests.faults.real_cluster import Cluster, open_cluster

# What ran when, by the database's clock: also what a killed node had begun, until it was rescued.
SPANS = """
    SELECT started_at, ended_at FROM windlass.attempt
    UNION ALL SELECT started_at, finished_at FROM windlass.job_history WHERE outcome IS NOT NULL"""


def most_at_once(spans: list[tuple[datetime, datetime]]) -> int:
    moments = sorted([(end, -1) for _, end in spans] + [(begin, 1) for begin, _ in spans])
    running = most = 0
    for _, step in moments:
        running += step
        most = max(most, running)
    return most


async def spans_of(cluster: Cluster) -> list[tuple[datetime, datetime]]:
    return [(row["started_at"], row["ended_at"]) for row in await cluster.fetch(SPANS)]


def limited(count: int, limit: dict[str, object], seconds: float = 0.02) -> list[Job]:
    return [task("note", f"n{n}", seconds, limits=[limit]) for n in range(count)]


async def test_no_more_run_at_once_than_a_limit_says_though_a_node_is_killed(
    cluster: Cluster,
) -> None:
    victim = await cluster.start_mortal_node(workers=4)
    await cluster.start_mortal_node(workers=4)
    limit = {"name": "api", "max_running": 3}
    await cluster.submit(limited(60, limit, 0.05))
    await cluster.until_ended(["n0", "n1", "n2"])
    await victim.kill()
    await cluster.until_ended()
    spans = await spans_of(cluster)
    assert len(spans) >= 60
    assert most_at_once(spans) == 3
    assert await nothing_left(cluster.database)


async def test_no_more_start_than_a_rate_says_whoever_starts_them(cluster: Cluster) -> None:
    for _ in range(2):
        await cluster.start_node(workers=4)
    rate = 20.0
    await cluster.submit(limited(60, {"name": "api", "rate": rate}, 0.0))
    await cluster.until_ended()
    starts = sorted(begin for begin, _ in await spans_of(cluster))
    assert len(starts) == 60
    # At most a second's worth at once, and who was let go late: two seconds' worth more.
    for place, start in enumerate(starts):
        window = [other for other in starts[place:] if other - start <= timedelta(seconds=1)]
        assert len(window) <= 3 * rate
    assert starts[-1] - starts[0] >= timedelta(seconds=60 / rate - 2)


async def test_limits_hold_without_redis(database_url: str, tmp_path: Path) -> None:
    async with open_cluster(database_url, None, tmp_path) as cluster:
        for _ in range(2):
            await cluster.start_node(workers=4)
        await cluster.submit(limited(20, {"name": "api", "max_running": 2}))
        await cluster.until_ended()
        assert most_at_once(await spans_of(cluster)) == 2
        assert await nothing_left(cluster.database)
