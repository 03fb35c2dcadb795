"""Batch: submitting ten thousand jobs at a time, against a bare `INSERT … SELECT unnest`.

Over HTTP on one connection, from prepared bytes; and, to see what HTTP costs, through the engine's
door without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import msgspec

from benchmarks import child, inside
from benchmarks.bare import insert
from benchmarks.limits import INSERT_BATCH
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.node import RunningNode, running
from benchmarks.rows import PAYLOAD
from benchmarks.stage import Stage
from benchmarks.traffic import load

RATIO_MIN = 0.35
PATH = "/v1/jobs/batch"
OVER_HTTP, INSIDE, BARE = f"POST {PATH}", "the same without HTTP", "bare unnest insert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    batches: int


async def figures(stage: Stage) -> list[Figure]:
    batches = stage.scale.batches
    series = await stage.interleave(
        [
            Run(name=OVER_HTTP, once=lambda: measure(stage, batches)),
            Run(name=BARE, once=lambda: insert.measure(stage.bare_dsn, statements=batches)),
            Run(name=INSIDE, once=lambda: measure_inside(stage, batches)),
        ]
    )
    return [
        compare(series[OVER_HTTP], series[BARE], at_least=RATIO_MIN),
        compare(series[INSIDE], series[BARE]),
    ]


async def measure(stage: Stage, batches: int) -> Sample:
    """Jobs per second that a node with the API alone accepts."""
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, roles="api") as node,
    ):
        report = await load.generate(order(node, batches))
    return Sample(value=report.sample().value * INSERT_BATCH, unit="rows/s")


def order(node: RunningNode, batches: int) -> load.Load:
    return load.Load(
        address=node.address,
        path=PATH,
        body="benchmarks.figures.batch:body",
        headers=node.headers,
        count=batches,
        connections=1,
        warm_up=1,
    )


def body(number: int) -> bytes:
    """The first, which is not counted, is small: it opens connections and prepares statements."""
    job = {"kind": "noop", "input": PAYLOAD, "queue": "default", "priority": "normal"}
    return msgspec.json.encode({"jobs": [job] * (INSERT_BATCH if number else 2)})


async def measure_inside(stage: Stage, batches: int, home: Path = child.ROOT) -> Sample:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.batch", home),
            Request(dsn=dsn, batches=batches),
            Sample,
            cwd=home,
            environment=child.path_of(home),
        )


async def measure_here(request: Request) -> Sample:
    async with inside.opened(request.dsn) as database:
        enqueuer = inside.door(database)
        await enqueuer.submit_batch(inside.drafts(2))
        batches = [inside.drafts(INSERT_BATCH) for _ in range(request.batches)]
        started = perf_counter()
        for batch in batches:
            await enqueuer.submit_batch(batch)
        seconds = perf_counter() - started
    return Sample.rate(request.batches * INSERT_BATCH, seconds, "rows/s")


if __name__ == "__main__":
    child.answer(Request, measure_here)
