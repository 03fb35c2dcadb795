"""Celery (PyPI), with Redis for its broker: from `task.delay` to the first line of the task.

Its settings are those of its guide to optimizing, for short tasks: a large prefetch, no rate
limits, no result backend, no events, and neither gossip nor mingle at the start of a single worker.
Tasks run in its pool of threads: from a submit to a start its prefork pool, the default, took
longer, for a task is handed to another process there. JSON is the default, and stays.

Jobs lie in Valkey, in memory alone, and are acknowledged before they run, as by default: a worker
that is killed loses its own.

Celery comes with the `bench` extra and has no types, hence the late import.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import msgspec

from benchmarks import child
from benchmarks.peers import valkey
from benchmarks.peers.valkey import Keyspace
from benchmarks.traffic.pace import Latency
from benchmarks.traffic.starts import Order, Sent, Submitter, measure, note

THREADS = 16  # as many as a node has slots
PREFETCH = 64  # of each thread; "say, 64 or 128"
WORKER_FLAGS = (
    "--pool=threads",
    f"--concurrency={THREADS}",
    "--without-gossip",
    "--without-mingle",
    "--without-heartbeat",
    "--loglevel=ERROR",
)


async def submit_to_start(
    redis_url: str, *, jobs: int, tell: Callable[[str], None] = print
) -> Latency | None:
    """None when Celery is not installed."""
    if find_spec("celery") is None:
        tell("Celery is left out: it is not installed (it comes with the bench extra)")
        return None
    await valkey.empty(redis_url)
    async with _worker(redis_url):
        submitter = Submitter(command=_command("submit"), environment=_environment(redis_url))
        return await measure(submitter, jobs)


@asynccontextmanager
async def _worker(redis_url: str) -> AsyncIterator[None]:
    async with child.serving(_command("work"), environment=_environment(redis_url)):
        yield


def _command(verb: str) -> list[str]:
    return [*child.python("benchmarks.peers.celery"), verb]


def _environment(redis_url: str) -> dict[str, str]:
    # It warns of being root, which a benchmark may be.
    return {valkey.VARIABLE: redis_url, "PYTHONWARNINGS": "ignore"}


def make_app() -> Any:
    """The worker's app and the submitter's: one task, named, so that both mean the same."""
    keys = Keyspace.at(os.environ[valkey.VARIABLE])
    broker = f"redis+socket://:{quote(keys.password)}@{quote(keys.path)}?virtual_host={keys.db}"
    app = import_module("celery").Celery("benchmarks", broker=broker)
    app.conf.update(
        task_ignore_result=True,
        worker_prefetch_multiplier=PREFETCH,
        worker_disable_rate_limits=True,
        worker_redirect_stdouts=False,  # standard output is for `ready:` alone
    )
    app.task(name="begin")(begin)
    return app


def begin(path: str, number: int) -> None:
    at = time.monotonic()
    note(path, number, at)


def work() -> None:
    child.end_with_parent()
    app = make_app()

    def say_ready(**_: object) -> None:
        print(f"{child.READY}worker", flush=True)

    import_module("celery.signals").worker_ready.connect(say_ready, weak=False)
    app.worker_main(["worker", *WORKER_FLAGS])


def submit(order: Order) -> Sent:
    """In a plain loop, as those who call Celery have no other."""
    task = make_app().tasks["begin"]
    at = []
    started = time.monotonic()
    for number in range(order.count):
        time.sleep(max(0.0, started + number / order.per_second - time.monotonic()))
        at.append(time.monotonic())
        task.delay(order.path, number)
    return Sent(at=at)


def main() -> None:
    if sys.argv[1:] == ["work"]:
        work()
    else:
        sent = submit(msgspec.json.decode(sys.stdin.buffer.read(), type=Order))
        sys.stdout.buffer.write(msgspec.json.encode(sent) + b"\n")


if __name__ == "__main__":
    main()
