"""BullMQ (npm): chains of steps as flows, and jobs from `queue.add` to the first line of the task.

A chain is a flow whose jobs are nested ten deep, as its guide to flows has it: a parent runs once
its child has. One worker in a process of Node with so many jobs at once (`AT_ONCE`); its guides
show 50, and 16 to 300 gave the same rate within what a round differs from the next. Everything
else is its default: finished jobs stay, as ours do in the history.

Jobs lie in Valkey, in memory alone. Its guide to production advises an append-only file, which our
Valkey does not write: that is in its favour. It also wants `maxmemory-policy noeviction`; ours only
evicts keys with a lifetime, and a run stays far below `maxmemory`.

It is installed beside its scripts in bullmq/, on first use, when there is an npm.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import child
from benchmarks.peers import npm, valkey
from benchmarks.peers.valkey import Keyspace
from benchmarks.traffic import starts
from benchmarks.traffic.pace import Latency

NAME = "BullMQ"
FOLDER = Path(__file__).parent / "bullmq"
AT_ONCE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    connection: Mapping[str, str | int | None]
    concurrency: int
    chains: int
    steps: int
    together: bool  # whether flows are added while others run


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    jobs: int
    seconds: float  # from the worker's start to the last end
    add_seconds: float  # all flows were added before; 0: meanwhile


async def run_chains(
    redis_url: str,
    *,
    chains: int,
    steps: int,
    together: bool = False,
    tell: Callable[[str], None] = print,
) -> Ran | None:
    """None when it cannot be installed here. `together`: they are added while they run."""
    if not await npm.is_ready(NAME, FOLDER, tell):
        return None
    await valkey.empty(redis_url)
    ran = await child.call(
        ["node", "chain.mjs"],
        Request(
            connection=_connection(redis_url),
            concurrency=AT_ONCE,
            chains=chains,
            steps=steps,
            together=together,
        ),
        Ran,
        cwd=FOLDER,
        environment=npm.ENVIRONMENT,
    )
    await valkey.empty(redis_url)
    assert ran.jobs == chains * steps, f"BullMQ ran {ran.jobs} of {chains * steps} jobs"
    return ran


async def submit_to_start(
    redis_url: str, *, jobs: int, tell: Callable[[str], None] = print
) -> Latency | None:
    """From `queue.add` to the first line of the task; None when it cannot be installed here."""
    if not await npm.is_ready(NAME, FOLDER, tell):
        return None
    await valkey.empty(redis_url)
    environment = {
        **npm.ENVIRONMENT,
        "PEER_CONNECTION": json.dumps(_connection(redis_url)),
        "PEER_CONCURRENCY": str(AT_ONCE),
    }
    async with _worker(environment):
        submitter = starts.Submitter(
            command=["node", "submit.mjs"], cwd=FOLDER, environment=environment
        )
        return await starts.measure(submitter, jobs)


@asynccontextmanager
async def _worker(environment: Mapping[str, str]) -> AsyncIterator[None]:
    command = ["node", "work.mjs"]
    async with child.serving(command, cwd=FOLDER, environment=environment, hush=b"noeviction"):
        yield


def _connection(redis_url: str) -> dict[str, str | int | None]:
    """As ioredis wants it; a worker's waits are not to be given up (None: no limit)."""
    keys = Keyspace.at(redis_url)
    return {
        "path": keys.path,
        "password": keys.password,
        "db": keys.db,
        "maxRetriesPerRequest": None,
    }
