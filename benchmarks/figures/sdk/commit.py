"""Commit: from the commit of a caller's own transaction to the start of the task enqueued in it.

One job at a time on a node that is idle, in turns: nobody says a word after the commit; the nodes
are told after it (`handle.hint()`, which sessions of SQLAlchemy and Django's transactions do by
themselves); and the same task submitted over HTTP, from the call on. When a task started it says
itself, by the clock that all processes of this machine share.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import quantiles

import asyncpg

from benchmarks import child
from benchmarks.limits import READY_SECONDS_MAX
from benchmarks.measure import Figure, Series, absolute
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.tasks import now
from windlass import App
from windlass.sdk.tasks.task import Task

APP = "benchmarks.tasks:app"
P50_MS_MAX = 100.0  # of what was told
REST_SECONDS = (0.3, 1.0)  # between two of them: long enough for a node to look rarely
SECONDS_MAX_EACH = 10.0  # of a round of all three
WARM_UP = 3
WITHOUT, TOLD, HTTP = "without a word", "told after the commit", "over HTTP"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    address: str
    key: str
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    ms: dict[str, list[float]]  # by way


async def figures(stage: Stage) -> list[Figure]:
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, app=APP) as node,
    ):
        assert node.key is not None
        waits = await child.call(
            child.python("benchmarks.figures.sdk.commit"),
            Request(dsn=dsn, address=node.address, key=node.key, commits=stage.scale.commits),
            Waits,
            seconds_max=READY_SECONDS_MAX + SECONDS_MAX_EACH * stage.scale.commits,
        )
    found = []
    for way, ms in waits.ms.items():
        cuts = quantiles(ms, n=100)
        stage.tell(
            f"{way}, {len(ms)}: p50 {cuts[49]:.0f}, p99 {cuts[98]:.0f}, worst {max(ms):.0f} ms"
        )
        for part, index in (("p50", 49), ("p99", 98)):
            name = f"commit to start, {way}, {part}"
            series = Series(name=name, unit="ms", values=(cuts[index],))
            is_judged = way == TOLD and part == "p50"
            found.append(absolute(series, at_most=P50_MS_MAX if is_judged else None))
    return found


async def measure_here(request: Request) -> Waits:
    app = App("benchmarks", url=request.address, token=request.key)
    task = app.task(name="now")(now.function)
    connection = await asyncpg.connect(request.dsn)
    chance = random.Random(1)
    ways: dict[str, Callable[[], Awaitable[float]]] = {
        WITHOUT: lambda: _committed(connection, task, is_told=False),
        TOLD: lambda: _committed(connection, task, is_told=True),
        HTTP: lambda: _submitted(task),
    }
    ms: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(WARM_UP + request.commits):
        for way, once in ways.items():
            await asyncio.sleep(chance.uniform(*REST_SECONDS))
            ms[way].append(await once() * 1000)
    await connection.close()
    return Waits(ms={way: taken[WARM_UP:] for way, taken in ms.items()})


async def _committed(
    connection: asyncpg.Connection[asyncpg.Record], task: Task[[], float], *, is_told: bool
) -> float:
    async with connection.transaction():
        handle = await task.using(connection=connection).aenqueue()
    committed = time.time()
    if is_told:
        handle.hint()
    return await handle.aresult(timeout=60) - committed


async def _submitted(task: Task[[], float]) -> float:
    begun = time.time()
    handle = await task.aenqueue()
    return await handle.aresult(timeout=60) - begun


if __name__ == "__main__":
    child.answer(Request, measure_here)
