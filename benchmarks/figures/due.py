"""Due: thousands of jobs of one instant on an idle node, and how long after it the last began."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks import child, inside
from benchmarks.limits import DUE_IN_SECONDS
from benchmarks.measure import Figure, Run, Sample, absolute
from benchmarks.stage import Stage

LAST_SECONDS_MAX = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    jobs: int


async def figures(stage: Stage) -> list[Figure]:
    name = f"{stage.scale.due_jobs:,} jobs due at once: last one started after"
    series = await stage.interleave([Run(name=name, once=lambda: measure(stage))])
    return [absolute(series[name], at_most=LAST_SECONDS_MAX)]


async def measure(stage: Stage) -> Sample:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.due"),
            Request(dsn=dsn, redis_url=stage.redis_url, jobs=stage.scale.due_jobs),
            Sample,
        )


async def measure_here(request: Request) -> Sample:
    async with inside.node(request.dsn, request.redis_url) as node:
        ends = inside.Ends(node.announcer, request.jobs)
        run_at = datetime.now(UTC) + timedelta(seconds=DUE_IN_SECONDS)
        await inside.door(node.database, node.follower.follow).submit_batch(
            inside.drafts(request.jobs, run_at=run_at)
        )
        assert datetime.now(UTC) < run_at, "submitting took so long that the instant has passed"
        await ends.all()
    await inside.check_all_succeeded(request.dsn, request.jobs)
    async with inside.connected(request.dsn) as connection:
        [row] = await connection.fetch(
            "SELECT min(started_at) AS first, max(started_at) AS last FROM windlass.job_history"
        )
    assert row["first"] >= run_at, f"a job due at {run_at} was started at {row['first']}"
    return Sample(value=(row["last"] - run_at).total_seconds(), unit="s")


if __name__ == "__main__":
    child.answer(Request, measure_here)
