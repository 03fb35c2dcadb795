"""PgQueuer (PyPI): drain jobs in one process; and from its `enqueue` to the first line of a task.

Its settings: `drain` mode, batches of 500 (both larger and smaller were slower), uvloop, and a
pool rather than one connection, so that it dequeues while it logs what is done. Logs are folded
into statistics by a timer; over so short a drain that timer is turned off.

From a submit to a start its worker is as its guide starts one (continuous mode, woken by NOTIFY,
batches of 10), on uvloop; it has one connection, its submitter another. A pool was no quicker.

PgQueuer comes with the `bench` extra, not with the tools of a checkout, hence the late import.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import asyncpg
import msgspec
import uvloop

from benchmarks import child
from benchmarks.cpu import Drained, Meter
from benchmarks.limits import CHILD_SECONDS_MAX, DRAIN_JOBS, READY_SECONDS_MAX
from benchmarks.measure import Sample
from benchmarks.rows import PAYLOAD_TEXT, TaskName, write_16_bytes
from benchmarks.schema import fresh_schema, settle
from benchmarks.traffic import starts
from benchmarks.traffic.pace import Latency
from benchmarks.traffic.starts import Order, Sent

NAME = "PgQueuer"
SCHEMA = "peer_pgqueuer"
BATCH = 500
CONNECTIONS = 3  # one listens, one dequeues, one logs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    jobs: int
    task: TaskName


async def measure(
    dsn: str, *, jobs: int = DRAIN_JOBS, tell: Callable[[str], None] = print
) -> Sample | None:
    """Jobs per second, from a process of its own; None when PgQueuer is not installed."""
    drained = await drain(dsn, jobs=jobs, task="noop", tell=tell)
    return None if drained is None else Sample.rate(drained.jobs, drained.seconds, "jobs/s")


async def drain(
    dsn: str, *, jobs: int, task: TaskName, tell: Callable[[str], None] = print
) -> Drained | None:
    if not _is_installed(tell):
        return None
    request = Request(dsn=dsn, jobs=jobs, task=task)
    return await child.call(child.python("benchmarks.peers.pgqueuer"), request, Drained)


async def submit_to_start(
    dsn: str, *, jobs: int, tell: Callable[[str], None] = print
) -> Latency | None:
    """From its `enqueue` to the first line of the task; None when PgQueuer is not installed."""
    if not _is_installed(tell):
        return None
    environment = {"PEER_DSN": dsn}
    async with _worker(environment):
        submitter = starts.Submitter(command=_command("submit"), environment=environment)
        return await starts.measure(submitter, jobs)


@asynccontextmanager
async def _worker(environment: dict[str, str]) -> AsyncIterator[None]:
    async with child.serving(_command("work"), environment=environment):
        yield


def _command(verb: str) -> list[str]:
    return [*child.python("benchmarks.peers.pgqueuer"), verb]


def _is_installed(tell: Callable[[str], None]) -> bool:
    if find_spec("pgqueuer") is None:
        tell("PgQueuer is left out: it is not installed (it comes with the bench extra)")
        return False
    return True


async def drain_here(request: Request) -> Drained:
    queries_of = import_module("pgqueuer.queries").Queries
    async with fresh_schema(request.dsn, SCHEMA) as connection:
        queries = queries_of.from_asyncpg_connection(connection)
        await queries.install()
        await queries.enqueue(
            ["job"] * request.jobs, [PAYLOAD_TEXT.encode()] * request.jobs, [0] * request.jobs
        )
        await settle(connection, "pgqueuer")
        meter = await Meter.beside(connection)
        async with asyncpg.create_pool(
            request.dsn,
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            timeout=READY_SECONDS_MAX,
            command_timeout=CHILD_SECONDS_MAX,
            server_settings={"search_path": SCHEMA},
        ) as pool:
            drained = await drain_timed(pool, meter, request)
        done = await connection.fetchval(
            "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"
        )
        assert done == request.jobs, f"PgQueuer logged {done} of {request.jobs} jobs"
        return drained


async def drain_timed(pool: asyncpg.Pool, meter: Meter, request: Request) -> Drained:
    """From the first look at the queue to the end of the last job's bookkeeping."""
    queries = import_module("pgqueuer.queries").Queries.from_asyncpg_pool(pool)
    worker = import_module("pgqueuer.qm").QueueManager(queries)

    async def noop(_job: object) -> None:
        pass

    async def write(_job: object) -> None:
        write_16_bytes()

    worker.entrypoint("job")({"noop": noop, "write": write}[request.task])
    before, started = meter.read(), perf_counter()
    check_schema = worker.verify_structure

    async def check_schema_then_start_the_clock() -> None:
        nonlocal started, before
        await check_schema()
        before, started = meter.read(), perf_counter()

    worker.verify_structure = check_schema_then_start_the_clock
    await worker.run(
        batch_size=BATCH,
        mode=import_module("pgqueuer.types").QueueExecutionMode.drain,
        # How long it rests before it looks again whether it is done: part of its last mile.
        dequeue_timeout=timedelta(milliseconds=2),
        log_aggregation_interval=timedelta(0),
    )
    seconds = perf_counter() - started
    return Drained(jobs=request.jobs, seconds=seconds, cpu=meter.read() - before)


async def work() -> None:
    """Performs jobs in a database of its own, and ends with whoever started it."""
    dsn = os.environ["PEER_DSN"]
    queries_of = import_module("pgqueuer.queries").Queries
    connection = await asyncpg.connect(dsn, timeout=READY_SECONDS_MAX)
    queries = queries_of.from_asyncpg_connection(connection)
    await queries.install()
    worker = import_module("pgqueuer.qm").QueueManager(queries)

    async def begin(job: Any) -> None:
        at = time.monotonic()
        path, number = msgspec.json.decode(job.payload)
        starts.note(path, number, at)

    worker.entrypoint("begin")(begin)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.shutdown.set)
    print(f"{child.READY}worker", flush=True)
    await worker.run(log_aggregation_interval=timedelta(0))
    await connection.close()


async def submit(order: Order) -> Sent:
    dsn = os.environ["PEER_DSN"]
    connection = await asyncpg.connect(dsn, timeout=READY_SECONDS_MAX)
    queries = import_module("pgqueuer.queries").Queries.from_asyncpg_connection(connection)
    try:
        return await starts.submit_all(
            order,
            lambda path, number: queries.enqueue("begin", msgspec.json.encode((path, number))),
        )
    finally:
        await connection.close()


def main() -> None:
    match sys.argv[1:]:
        case ["work"]:
            child.end_with_parent()
            uvloop.run(work())
        case ["submit"]:
            child.answer(Order, submit)
        case _:
            child.answer(Request, drain_here)


if __name__ == "__main__":
    main()
