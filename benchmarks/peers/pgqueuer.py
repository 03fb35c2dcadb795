"""PgQueuer (PyPI): drain jobs in one process.

Its settings: `drain` mode, batches of 500 (both larger and smaller were slower), uvloop, and a
pool rather than one connection, so that it dequeues while it logs what is done. Logs are folded
into statistics by a timer; over so short a drain that timer is turned off.

PgQueuer comes with the `bench` extra, not with the tools of a checkout, hence the late import.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter

import asyncpg

from benchmarks import child
from benchmarks.limits import CHILD_SECONDS_MAX, DRAIN_JOBS, READY_SECONDS_MAX
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import fresh_schema, settle

SCHEMA = "peer_pgqueuer"
BATCH = 500
CONNECTIONS = 3  # one listens, one dequeues, one logs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    jobs: int


async def measure(
    dsn: str, *, jobs: int = DRAIN_JOBS, tell: Callable[[str], None] = print
) -> Sample | None:
    """Jobs per second, from a process of its own; None when PgQueuer is not installed."""
    if find_spec("pgqueuer") is None:
        tell("PgQueuer is left out: it is not installed (it comes with the bench extra)")
        return None
    return await child.call(
        child.python("benchmarks.peers.pgqueuer"), Request(dsn=dsn, jobs=jobs), Sample
    )


async def measure_here(request: Request) -> Sample:
    queries_of = import_module("pgqueuer.queries").Queries
    async with fresh_schema(request.dsn, SCHEMA) as connection:
        queries = queries_of.from_asyncpg_connection(connection)
        await queries.install()
        await queries.enqueue(
            ["noop"] * request.jobs, [PAYLOAD_TEXT.encode()] * request.jobs, [0] * request.jobs
        )
        await settle(connection, "pgqueuer")
        async with asyncpg.create_pool(
            request.dsn,
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            timeout=READY_SECONDS_MAX,
            command_timeout=CHILD_SECONDS_MAX,
            server_settings={"search_path": SCHEMA},
        ) as pool:
            seconds = await drain(pool)
        done = await connection.fetchval(
            "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"
        )
        assert done == request.jobs, f"PgQueuer logged {done} of {request.jobs} jobs"
        return Sample.rate(done, seconds, "jobs/s")


async def drain(pool: asyncpg.Pool) -> float:
    """Seconds from the first look at the queue to the end of the last job's bookkeeping."""
    queries = import_module("pgqueuer.queries").Queries.from_asyncpg_pool(pool)
    worker = import_module("pgqueuer.qm").QueueManager(queries)

    async def noop(_job: object) -> None:
        pass

    worker.entrypoint("noop")(noop)
    started = perf_counter()
    check_schema = worker.verify_structure

    async def check_schema_then_start_the_clock() -> None:
        nonlocal started
        await check_schema()
        started = perf_counter()

    worker.verify_structure = check_schema_then_start_the_clock
    await worker.run(
        batch_size=BATCH,
        mode=import_module("pgqueuer.types").QueueExecutionMode.drain,
        # How long it rests before it looks again whether it is done: part of its last mile.
        dequeue_timeout=timedelta(milliseconds=2),
        log_aggregation_interval=timedelta(0),
    )
    return perf_counter() - started


if __name__ == "__main__":
    child.answer(Request, measure_here)
