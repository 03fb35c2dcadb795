"""Backlog: what a claim costs beside a million waiting jobs, against beside a thousand.

The same program on both: claim, finish, submit as many again, so that the backlog keeps its size.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import backlog, child, inside
from benchmarks.claims import Claimer, p99_ms
from benchmarks.limits import CLAIM_JOBS, SMALL_BACKLOG
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.stage import Stage

RATIO_MAX = 2.0
WARM_UP_CLAIMS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    claims: int


async def figures(stage: Stage) -> list[Figure]:
    sizes = (SMALL_BACKLOG, stage.scale.backlog_jobs)
    small, large = (f"claim p99 at {size:,} waiting" for size in sizes)
    async with stage.database() as small_dsn, stage.database() as large_dsn:
        for dsn, size in zip((small_dsn, large_dsn), sizes, strict=True):
            stage.tell(f"filling {size:,} waiting jobs")
            await backlog.fill(dsn, {"due": size})
        series = await stage.interleave(
            [
                Run(name=large, once=lambda: measure(large_dsn, stage.scale.backlog_claims)),
                Run(name=small, once=lambda: measure(small_dsn, stage.scale.backlog_claims)),
            ]
        )
    return [compare(series[large], series[small], at_most=RATIO_MAX)]


async def measure(dsn: str, claims: int) -> Sample:
    return await child.call(
        child.python("benchmarks.figures.backlog"), Request(dsn=dsn, claims=claims), Sample
    )


async def measure_here(request: Request) -> Sample:
    async with inside.opened(request.dsn) as database:
        claimer = Claimer(database=database, most=CLAIM_JOBS)
        enqueuer = inside.door(database)
        await claimer.start()
        taken: list[float] = []
        for _ in range(WARM_UP_CLAIMS + request.claims):
            attempts, seconds = await claimer.claim()
            assert len(attempts) == CLAIM_JOBS, f"claimed {len(attempts)} of a backlog"
            taken.append(seconds)
            await claimer.finish(attempts)
            await enqueuer.submit_batch(inside.drafts(CLAIM_JOBS))
        return Sample(value=p99_ms(taken[WARM_UP_CLAIMS:]), unit="ms")


if __name__ == "__main__":
    child.answer(Request, measure_here)
