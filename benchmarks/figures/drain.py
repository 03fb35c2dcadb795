"""Drain: noop jobs that were submitted before, from a node's start to the last commit of an end.

In turns with the bare loop of two UPDATEs and with the peers, on the same PostgreSQL. Everything
that Windlass keeps is kept: the fence, the history row, the counters; Redis is told of every end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks import child, inside
from benchmarks.bare import drain as bare
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.peers.runs import peer_runs
from benchmarks.stage import Stage

OURS, BARE = "drain of noop jobs", "bare claim and complete"
# What is wanted of the ratio to each; None: it is only shown.
WANTED = {BARE: 0.3, "PgQueuer": 1.2, "graphile-worker": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    jobs: int


async def figures(stage: Stage) -> list[Figure]:
    jobs = stage.scale.drain_jobs
    series = await stage.interleave(
        [
            Run(name=OURS, once=lambda: measure(stage, jobs)),
            Run(name=BARE, once=lambda: bare.measure(stage.bare_dsn, jobs=jobs)),
            *peer_runs(stage.bare_dsn, jobs=jobs, tell=stage.tell),
        ]
    )
    return [
        compare(series[OURS], series[other], at_least=at_least)
        for other, at_least in WANTED.items()
        if other in series
    ]


async def measure(stage: Stage, jobs: int, home: Path = child.ROOT) -> Sample:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.drain", home),
            Request(dsn=dsn, redis_url=stage.servers.redis_of(dsn), jobs=jobs),
            Sample,
            cwd=home,
            environment=child.path_of(home),
        )


async def measure_here(request: Request) -> Sample:
    await inside.fill(request.dsn, inside.drafts(request.jobs))
    async with inside.node(request.dsn, request.redis_url) as node:
        ends = inside.Ends(node.announcer, request.jobs)
        started = perf_counter()
        await ends.all()
        seconds = perf_counter() - started
    await inside.check_all_succeeded(request.dsn, request.jobs)
    return Sample.rate(request.jobs, seconds, "jobs/s")


if __name__ == "__main__":
    child.answer(Request, measure_here)
