"""Outage: throughput when Redis is killed half way, against the same with Redis to the end.

One process submits, another is the node, so that the node's wake-ups come through Redis as long as
there is one. The clock is PostgreSQL's: from the first job's creation to the last job's end.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import asyncpg

from benchmarks import child, inside
from benchmarks.limits import OUTAGE_BATCH
from benchmarks.measure import Figure, Run, Sample, Series, absolute, compare
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.until import until
from windlass.engine.announce import Announcer
from windlass.engine.follow import Follower
from windlass.fastlane.lane import FastLane

RATIO_MIN = 0.7
KILLED, BARE = "throughput with Redis killed half way", "with Redis to the end"
# Counters are exact at every instant and cheap to read, unlike the history itself.
ENDED = """
SELECT coalesce(sum(succeeded), 0)::int
FROM (SELECT succeeded FROM windlass.counter
      UNION ALL SELECT succeeded FROM windlass.counter_delta) counted
"""
KEPT = """
SELECT count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
    extract(epoch FROM max(finished_at) - min(created_at))::float8 AS seconds
FROM windlass.job_history
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    jobs: int


async def figures(stage: Stage) -> list[Figure]:
    lost: list[float] = []
    series = await stage.interleave(
        [
            Run(name=KILLED, once=lambda: measure(stage, lost, is_killed=True)),
            Run(name=BARE, once=lambda: measure(stage, lost, is_killed=False)),
        ]
    )
    losses = Series(name="jobs lost meanwhile", unit="jobs", values=tuple(lost))
    return [
        compare(series[KILLED], series[BARE], at_least=RATIO_MIN),
        absolute(losses, at_most=0.0),
    ]


async def measure(stage: Stage, lost: list[float], *, is_killed: bool) -> Sample:
    jobs = stage.scale.outage_jobs
    try:
        async with (
            stage.database() as dsn,
            running(dsn, stage.redis_url, roles="worker,leader"),
            inside.connected(dsn) as connection,
            asyncio.TaskGroup() as submitting,
        ):
            submitting.create_task(submit(Request(dsn=dsn, redis_url=stage.redis_url, jobs=jobs)))
            await _ended(connection, jobs // 2)
            if is_killed:
                await stage.servers.kill_valkey()
            await _ended(connection, jobs)
            [kept] = await connection.fetch(KEPT)
    finally:
        if is_killed:
            await stage.servers.restart_valkey()
    lost.append(float(jobs - kept["succeeded"]))
    return Sample.rate(jobs, kept["seconds"], "jobs/s")


async def submit(request: Request) -> None:
    await child.call(child.python("benchmarks.figures.outage"), request, int)


async def submit_here(request: Request) -> int:
    lane = FastLane(request.redis_url)
    announcer = Announcer(lane)
    await lane.open()
    async with inside.opened(request.dsn) as database:
        enqueuer = inside.door(database, Follower(database, announcer).follow)
        for _ in range(0, request.jobs, OUTAGE_BATCH):
            await enqueuer.submit_batch(inside.drafts(OUTAGE_BATCH))
    await lane.close()
    return request.jobs


async def _ended(connection: asyncpg.Connection, wanted: int) -> None:
    """Wait until so many jobs have ended; the run's own deadline bounds it."""

    async def have_ended() -> bool:
        ended: int = await connection.fetchval(ENDED)
        return ended >= wanted

    await until(have_ended)


if __name__ == "__main__":
    child.answer(Request, submit_here)
