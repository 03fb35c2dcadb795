"""Held: what a claim costs while somebody's transaction keeps every dead row version in place.

A backlog is drained to its end with a snapshot held open from before its first job. The claims of
its last quarter walk beside three quarters of dead rows; they are read against the claims of the
first quarter of the same drain without any such transaction.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from benchmarks import backlog, child, inside
from benchmarks.claims import Claimer, p99_ms
from benchmarks.limits import CLAIM_JOBS, FILL_SECONDS_MAX, HELD_SHARE
from benchmarks.measure import Figure, Run, Sample, Series, absolute, compare
from benchmarks.stage import Stage

RATIO_MAX = 2.0
NAME, BARE = "claim p99, end of a drain under an open transaction", "its start without"
PEEK = "a look over all lines after that"
HOLD = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM windlass.job LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    jobs: int
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    first_ms: float  # p99 of the claims of the first quarter
    last_ms: float  # of the last; without the transaction only the first is drained
    peek_ms: float


async def figures(stage: Stage) -> list[Figure]:
    peeks: list[float] = []
    series = await stage.interleave(
        [
            Run(name=NAME, once=lambda: held(stage, peeks)),
            Run(name=BARE, once=lambda: free(stage)),
        ]
    )
    peek = Series(name=PEEK, unit="ms", values=tuple(peeks))
    return [compare(series[NAME], series[BARE], at_most=RATIO_MAX), absolute(peek)]


async def held(stage: Stage, peeks: list[float]) -> Sample:
    answer = await measure(stage, is_held=True)
    peeks.append(answer.peek_ms)
    return Sample(value=answer.last_ms, unit="ms")


async def free(stage: Stage) -> Sample:
    answer = await measure(stage, is_held=False)
    return Sample(value=answer.first_ms, unit="ms")


async def measure(stage: Stage, *, is_held: bool) -> Answer:
    async with stage.database() as dsn:
        await backlog.fill(dsn, {"due": stage.scale.held_jobs})
        return await child.call(
            child.python("benchmarks.figures.held"),
            Request(dsn=dsn, jobs=stage.scale.held_jobs, is_held=is_held),
            Answer,
            seconds_max=FILL_SECONDS_MAX,
        )


async def measure_here(request: Request) -> Answer:
    quarter = request.jobs // CLAIM_JOBS // HELD_SHARE
    async with inside.opened(request.dsn) as database, AsyncExitStack() as held_open:
        claimer = Claimer(database=database, most=CLAIM_JOBS)
        await claimer.start()
        if request.is_held:
            await held_open.enter_async_context(_snapshot(request.dsn))
        taken = await _drain(claimer, quarter * (HELD_SHARE if request.is_held else 1))
        return Answer(
            first_ms=p99_ms(taken[:quarter]),
            last_ms=p99_ms(taken[-quarter:]),
            peek_ms=await claimer.peek() * 1_000,
        )


async def _drain(claimer: Claimer, claims: int) -> list[float]:
    taken = []
    for _ in range(claims):
        attempts, seconds = await claimer.claim()
        assert len(attempts) == CLAIM_JOBS, f"claimed {len(attempts)} of a backlog"
        taken.append(seconds)
        await claimer.finish(attempts)
    return taken


@asynccontextmanager
async def _snapshot(dsn: str) -> AsyncIterator[None]:
    async with inside.connected(dsn) as connection:
        await connection.execute(HOLD)
        yield
        assert connection.is_in_transaction(), "the transaction did not last"


if __name__ == "__main__":
    child.answer(Request, measure_here)
