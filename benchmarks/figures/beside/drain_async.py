"""Drain of async tasks that write 16 bytes: one node beside graphile-worker and PgQueuer.

The same jobs wait in the same PostgreSQL before the clock starts, and each writes the same 16 bytes
to nowhere. A node is inside the measuring process and has the settings of somebody who set none, as
for tasks that do nothing (sdk.tasks); the peers have their fastest (peers/). Nobody keeps a job
anywhere but in PostgreSQL, and all commits are durable.

CPU seconds are those of the worker's process and of PostgreSQL with all below it, from the first
look at the queue to the last commit, for a thousand jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter

from benchmarks import child, inside
from benchmarks.cpu import Drained, Meter
from benchmarks.measure import Figure, Series, absolute, compare
from benchmarks.peers import graphile, pgqueuer
from benchmarks.stage import Stage
from windlass.config import Settings
from windlass.model.job.draft import Draft

APP = "benchmarks.tasks:plain"
OURS, PGQUEUER, GRAPHILE = "drain of async tasks", pgqueuer.NAME, graphile.NAME
# What is wanted of the ratio of rates to each; None: it is only shown.
WANTED = {GRAPHILE: 1.0, PGQUEUER: None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    jobs: int


async def figures(stage: Stage) -> list[Figure]:
    jobs, tell = stage.scale.write_jobs, stage.tell
    peers = {GRAPHILE: graphile, PGQUEUER: pgqueuer}
    taken = await stage.take_turns(
        {
            OURS: partial(measure, stage, jobs),
            **{
                name: partial(peer.drain, stage.bare_dsn, jobs=jobs, task="write", tell=tell)
                for name, peer in peers.items()
            },
        },
        _shown,
    )
    rates = {name: _rates(name, runs) for name, runs in taken.items()}
    found = [
        compare(rates[OURS], rates[name], at_least=at_least)
        for name, at_least in WANTED.items()
        if name in taken
    ] or [absolute(rates[OURS])]
    cpu = {name: _cpu(name, runs) for name, runs in taken.items()}
    for whose, used in cpu[OURS].items():
        name = f"CPU of {whose}"
        if GRAPHILE in cpu:
            found.append(compare(used, cpu[GRAPHILE][whose], name=name))
        else:
            found.append(absolute(used, name=name))
    return found


async def measure(stage: Stage, jobs: int) -> Drained:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.beside.drain_async"),
            Request(dsn=dsn, redis_url=stage.servers.redis_of(dsn), jobs=jobs),
            Drained,
        )


async def measure_here(request: Request) -> Drained:
    text = '{"task":"write","kwargs":{},"args":[]}'
    await inside.fill(request.dsn, [Draft(kind="python", input=text)] * request.jobs)
    async with inside.connected(request.dsn) as connection:
        meter = await Meter.beside(connection)
        async with inside.node(request.dsn, request.redis_url, Settings(app=APP)) as node:
            ends = inside.Ends(node.announcer, request.jobs)
            before, started = meter.read(), perf_counter()
            await ends.all()
            seconds, cpu = perf_counter() - started, meter.read() - before
    await inside.check_all_succeeded(request.dsn, request.jobs)
    return Drained(jobs=request.jobs, seconds=seconds, cpu=cpu)


def _rates(name: str, runs: list[Drained]) -> Series:
    return Series(name=name, unit="jobs/s", values=tuple(run.per_second for run in runs))


def _cpu(name: str, runs: list[Drained]) -> dict[str, Series]:
    """CPU seconds of a thousand jobs."""
    of_each = {
        "the worker": [run.cpu.worker_seconds / run.jobs for run in runs],
        "PostgreSQL": [run.cpu.postgres_seconds / run.jobs for run in runs],
    }
    return {
        whose: Series(
            name=name, unit="s/1,000 jobs", values=tuple(1000 * seconds for seconds in of_job)
        )
        for whose, of_job in of_each.items()
    }


def _shown(run: Drained) -> str:
    return (
        f"{run.per_second:,.0f} jobs/s; CPU seconds of 1,000 jobs: "
        f"worker {run.cpu.worker_seconds / run.jobs * 1000:.3f}, "
        f"PostgreSQL {run.cpu.postgres_seconds / run.jobs * 1000:.3f}"
    )


if __name__ == "__main__":
    child.answer(Request, measure_here)
