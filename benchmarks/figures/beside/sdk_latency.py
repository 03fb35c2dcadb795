"""SDK latency: from a client's call to the first line of the task, at a steady pace, beside peers.

Each is called through its own client, from a process of its own, and performs the task in another:

    Windlass         await task.aenqueue(...) over HTTP, an async task on a node with all its roles
    PgQueuer         await queries.enqueue(...), an async entrypoint; kept in PostgreSQL, as ours
    graphile-worker  await utils.addJob(...); kept in PostgreSQL, as ours
    Celery           task.delay(...), a pool of threads; kept in Valkey, in memory alone
    BullMQ           await queue.add(...); kept in Valkey, in memory alone

The instant is taken right before the call and by the first line of the task (traffic/starts.py).
Their settings are in peers/. Judged beside PgQueuer, which promises of a job what we do.

And the first call of a fresh client of ours: a plain program that imports windlass, makes an App
and a task, and awaits its first `aenqueue`. What that imports and opens is in the figure.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from benchmarks import child
from benchmarks.limits import FIRST_CALLS, PACE_PER_SECOND, READY_SECONDS_MAX
from benchmarks.measure import Figure, Series, absolute, compare
from benchmarks.node import RunningNode, running
from benchmarks.peers import bullmq, celery, graphile, pgqueuer, valkey
from benchmarks.stage import Stage
from benchmarks.tasks import begin
from benchmarks.traffic import starts
from benchmarks.traffic.pace import Latency

APP = "benchmarks.tasks:plain"
P50_RATIO_MAX, P99_RATIO_MAX, FIRST_CALL_MS_MAX = 0.9, 1.0, 30.0
OURS, PGQUEUER, GRAPHILE = "Windlass", pgqueuer.NAME, graphile.NAME
CELERY, BULLMQ = f"Celery ({valkey.KEPT})", f"{bullmq.NAME} ({valkey.KEPT})"
# What is wanted of the ratio to each, of p50 and of p99; None: it is only shown.
WANTED: dict[str, tuple[float | None, float | None]] = {
    PGQUEUER: (P50_RATIO_MAX, P99_RATIO_MAX),
    GRAPHILE: (None, None),
    CELERY: (None, None),
    BULLMQ: (None, None),
}
# As a user's program has it; the address and the key come from the environment.
FIRST_CALL = """
import asyncio, time
import windlass

app = windlass.App("benchmarks")

@app.task
async def begin(path: str, number: int) -> None: ...

async def main():
    started = time.perf_counter()
    await begin.aenqueue("/dev/null", 0)
    print((time.perf_counter() - started) * 1000)

asyncio.run(main())
"""


class SubmitToStart(Protocol):
    def __call__(
        self, address: str, /, *, jobs: int, tell: Callable[[str], None]
    ) -> Awaitable[Latency | None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    latency: Latency
    first_calls_ms: tuple[float, ...] = ()  # (): of ours alone


async def figures(stage: Stage) -> list[Figure]:
    taken = await stage.take_turns({OURS: partial(measure, stage), **_peers(stage)}, _shown)
    p50 = {name: _series(name, "p50", runs) for name, runs in taken.items()}
    p99 = {name: _series(name, "p99", runs) for name, runs in taken.items()}
    found = [
        compare(p50[OURS], p50[name], name=_named("p50"), at_most=wanted[0])
        for name, wanted in WANTED.items()
        if name in taken
    ]
    found += [
        compare(p99[OURS], p99[name], name=_named("p99"), at_most=wanted[1])
        for name, wanted in WANTED.items()
        if name in taken
    ]
    found = found or [absolute(p50[OURS]), absolute(p99[OURS])]
    first = tuple(ms for run in taken[OURS] for ms in run.first_calls_ms)
    name = "first call of a fresh client"
    return [*found, absolute(Series(name=name, unit="ms", values=first), at_most=FIRST_CALL_MS_MAX)]


async def measure(stage: Stage) -> Measured:
    async with stage.database() as dsn, running(dsn, stage.servers.redis_of(dsn), app=APP) as node:
        environment = environment_of(node)
        command = child.python("benchmarks.figures.beside.sdk_latency")
        submitter = starts.Submitter(command=command, environment=environment)
        latency = await starts.measure(submitter, stage.scale.client_jobs)
        await first_call_ms(environment)  # compiles what was changed
        first = [await first_call_ms(environment) for _ in range(FIRST_CALLS)]
    return Measured(latency=latency, first_calls_ms=tuple(first))


def environment_of(node: RunningNode) -> dict[str, str]:
    """What a client finds its node by."""
    assert node.key is not None
    return {"WINDLASS_URL": node.address, "WINDLASS_TOKEN": node.key}


async def first_call_ms(environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", FIRST_CALL]
    return float(await child.run(command, seconds_max=READY_SECONDS_MAX, environment=environment))


def _peers(stage: Stage) -> dict[str, Callable[[], Awaitable[Measured | None]]]:
    """Each with a database, or with keys, of its own."""
    jobs, tell = stage.scale.client_jobs, stage.tell
    keys = stage.servers.redis_of(stage.bare_dsn)

    async def on_postgres(measure_at: SubmitToStart) -> Measured | None:
        async with stage.database() as dsn:
            latency = await measure_at(dsn, jobs=jobs, tell=tell)
            return None if latency is None else Measured(latency=latency)

    async def on_valkey(measure_at: SubmitToStart) -> Measured | None:
        latency = await measure_at(keys, jobs=jobs, tell=tell)
        return None if latency is None else Measured(latency=latency)

    return {
        PGQUEUER: partial(on_postgres, pgqueuer.submit_to_start),
        GRAPHILE: partial(on_postgres, graphile.submit_to_start),
        CELERY: partial(on_valkey, celery.submit_to_start),
        BULLMQ: partial(on_valkey, bullmq.submit_to_start),
    }


def _named(part: str) -> str:
    return f"client's call to task's start at {PACE_PER_SECOND}/s: {part}"


def _series(name: str, part: str, runs: list[Measured]) -> Series:
    values = [run.latency.p50_ms if part == "p50" else run.latency.p99_ms for run in runs]
    return Series(name=name, unit="ms", values=tuple(values))


def _shown(one: Measured) -> str:
    first = f", first calls {', '.join(f'{ms:.0f}' for ms in one.first_calls_ms)} ms"
    latency = one.latency
    return (
        f"p50 {latency.p50_ms:.2f}, p99 {latency.p99_ms:.2f}, worst {latency.max_ms:.2f} ms"
        f"{first if one.first_calls_ms else ''}"
    )


async def submit_here(order: starts.Order) -> starts.Sent:
    return await starts.submit_all(order, begin.aenqueue)


if __name__ == "__main__":
    child.answer(starts.Order, submit_here)
