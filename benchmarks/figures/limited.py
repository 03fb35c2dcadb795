"""Limits of jobs: noop jobs that all carry one limit, or one of a hundred, beside jobs without.

From a node's start to the last commit of an end, as in `drain`. A hundred values stand for a limit
of each customer; the rate is what may be asked for at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from benchmarks import child, inside
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.stage import Stage
from windlass.clock import wall
from windlass.limits import JOB_RATE_MAX
from windlass.model.job.draft import Draft
from windlass.model.job.submission import SubmissionContext, read_job

JOBS = 5_000
VALUES = 100
PLAIN = "noop jobs without a limit"
LIMITS: dict[str, list[dict[str, Any]]] = {
    "16 at once": [{"name": "api", "max_running": 16}],
    f"16 at once for each of {VALUES} values": [
        {"name": "api", "max_running": 16, "per": ["/customer"]}
    ],
    f"{JOB_RATE_MAX:.0f} a second": [{"name": "api", "rate": JOB_RATE_MAX}],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    limit: str | None  # of LIMITS; None: none


async def figures(stage: Stage) -> list[Figure]:
    series = await stage.interleave(
        [
            Run(name=PLAIN, once=lambda: measure(stage, None)),
            *(Run(name=name, once=partial(measure, stage, name)) for name in LIMITS),
        ]
    )
    return [compare(series[name], series[PLAIN]) for name in LIMITS]


async def measure(stage: Stage, limit: str | None) -> Sample:
    async with stage.database() as dsn:
        request = Request(dsn=dsn, redis_url=stage.servers.redis_of(dsn), limit=limit)
        return await child.call(child.python("benchmarks.figures.limited"), request, Sample)


async def measure_here(request: Request) -> Sample:
    await inside.fill(request.dsn, drafts(request.limit))
    async with inside.node(request.dsn, request.redis_url) as node:
        ends = inside.Ends(node.announcer, JOBS)
        started = perf_counter()
        await ends.all()
        seconds = perf_counter() - started
    await inside.check_all_succeeded(request.dsn, JOBS)
    return Sample.rate(JOBS, seconds, "jobs/s")


def drafts(limit: str | None) -> list[Draft]:
    context = SubmissionContext(kinds={"noop": lambda _: []})
    said = {} if limit is None else {"limits": LIMITS[limit]}
    return [
        read_job({"kind": "noop", "input": {"customer": n % VALUES}, **said}, context, wall())
        for n in range(JOBS)
    ]


if __name__ == "__main__":
    child.answer(Request, measure_here)
