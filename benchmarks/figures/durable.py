"""Durable functions of ten steps that do nothing, beside DBOS's on the same PostgreSQL.

Both start their functions from the process that runs them, and the clock runs from the first start
to the last end. A step is answered when its checkpoint is committed; of ours, all functions that
run side by side share commits.

Ours are measured in two ways. Started one by one through the SDK, as DBOS's are: that is what a
caller of `.astart()` sees, and what is wanted is wanted of it. Started many at a time, nearly all
of the time goes into steps; shown beside it so that nobody takes the one for the other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from benchmarks import child, inside
from benchmarks.durables import STEPS, app, ten
from benchmarks.flows import BATCH
from benchmarks.measure import Figure, Run, Sample, absolute, compare
from benchmarks.peers import dbos
from benchmarks.stage import Stage
from windlass.compose.start import Windlass
from windlass.config import Settings
from windlass.engine.executions.start import Start, start_many

APP = "benchmarks.durables:app"
STEPS_OF = {
    "batch": "durable steps, functions started many at a time",
    "single": "durable steps, functions started one by one",
}
DBOS = "steps of DBOS, started one by one"
RATIO_MIN = 5.0
SLOTS, STARTS_AT_ONCE = 256, 256
Way = Literal["batch", "single"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    functions: int
    way: Way


async def figures(stage: Stage) -> list[Figure]:
    series = await stage.interleave(
        [
            Run(name=STEPS_OF["batch"], once=lambda: measure(stage, "batch")),
            Run(name=DBOS, once=lambda: measure_dbos(stage)),
            Run(name=STEPS_OF["single"], once=lambda: measure(stage, "single")),
        ]
    )
    batch, single = series[STEPS_OF["batch"]], series[STEPS_OF["single"]]
    if DBOS not in series:
        return [absolute(batch), absolute(single)]
    return [compare(single, series[DBOS], at_least=RATIO_MIN), compare(batch, series[DBOS])]


async def measure(stage: Stage, way: Way) -> Sample:
    scale = stage.scale
    count = scale.durable_functions if way == "batch" else scale.durable_single_functions
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.durable"),
            Request(dsn=dsn, redis_url=stage.redis_url, functions=count, way=way),
            Sample,
        )


async def measure_dbos(stage: Stage) -> Sample | None:
    async with stage.database() as dsn:
        return await dbos.measure(
            dsn, functions=stage.scale.durable_peer_functions, tell=stage.tell
        )


async def measure_here(request: Request) -> Sample:
    settings = Settings(app=APP, workers=SLOTS)
    async with inside.node(request.dsn, request.redis_url, settings) as node:
        await app.client.workflows.put(ten.definition())
        # Of each function its job, and then its execution.
        ends = inside.Ends(node.announcer, 2 * request.functions)
        started = perf_counter()
        await _STARTS[request.way](node, request.functions)
        await ends.all()
        seconds = perf_counter() - started
    await inside.check_all_succeeded(request.dsn, request.functions)
    return Sample.rate(request.functions * STEPS, seconds, "steps/s")


async def _start_many(node: Windlass, count: int) -> None:
    for begun in range(0, count, BATCH):
        starts = [Start(workflow=ten.name)] * min(BATCH, count - begun)
        node.follower.follow((await start_many(node.database, starts)).effects)


async def _start_each(_node: Windlass, count: int) -> None:
    at_once = asyncio.Semaphore(STARTS_AT_ONCE)

    async def start() -> None:
        async with at_once:
            await ten.astart()

    await asyncio.gather(*(start() for _ in range(count)))


_STARTS = {"batch": _start_many, "single": _start_each}


if __name__ == "__main__":
    child.answer(Request, measure_here)
