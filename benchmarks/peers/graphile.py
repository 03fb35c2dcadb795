"""graphile-worker (npm), the fastest peer we know: drain jobs in one process of Node.

Its settings are those of its own performance page (a local queue, completion in batches without
delay, 24 jobs at once), with the local queue enlarged to what was fastest here. They are in
graphile/drain.mjs. It is installed beside that file, on first use, when there is an npm.

From a submit to a start (graphile/work.mjs, graphile/submit.mjs) it has the settings of the same
page, which its figure for that was taken with: a local queue of 500, 25 connections.

The version is the last that runs on the Node 20 of a fresh machine (0.18 asks for Node 22).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import child
from benchmarks.cpu import Drained
from benchmarks.limits import DRAIN_JOBS
from benchmarks.measure import Sample
from benchmarks.peers import npm
from benchmarks.rows import PAYLOAD, TaskName
from benchmarks.traffic import starts
from benchmarks.traffic.pace import Latency

NAME = "graphile-worker"
FOLDER = Path(__file__).parent / "graphile"
SCHEMA = "peer_graphile"
# Its own switch against a log line per job.
ENVIRONMENT = {**npm.ENVIRONMENT, "NO_LOG_SUCCESS": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    schema: str
    jobs: int
    payload: dict[str, str]
    task: TaskName


async def measure(
    dsn: str, *, jobs: int = DRAIN_JOBS, tell: Callable[[str], None] = print
) -> Sample | None:
    """Jobs per second; None when it cannot be installed here."""
    drained = await drain(dsn, jobs=jobs, task="noop", tell=tell)
    return None if drained is None else Sample.rate(drained.jobs, drained.seconds, "jobs/s")


async def drain(
    dsn: str, *, jobs: int, task: TaskName, tell: Callable[[str], None] = print
) -> Drained | None:
    if not await npm.is_ready(NAME, FOLDER, tell):
        return None
    drained = await child.call(
        ["node", "drain.mjs"],
        Request(dsn=dsn, schema=SCHEMA, jobs=jobs, payload=PAYLOAD, task=task),
        Drained,
        cwd=FOLDER,
        environment=ENVIRONMENT,
    )
    assert drained.jobs == jobs, f"graphile-worker drained {drained.jobs} of {jobs}"
    return drained


async def submit_to_start(
    dsn: str, *, jobs: int, tell: Callable[[str], None] = print
) -> Latency | None:
    """From `addJob` to the first line of the task; None when it cannot be installed here."""
    if not await npm.is_ready(NAME, FOLDER, tell):
        return None
    environment = {**ENVIRONMENT, "PEER_DSN": dsn}
    async with _worker(environment):
        submitter = starts.Submitter(
            command=["node", "submit.mjs"], cwd=FOLDER, environment=environment
        )
        return await starts.measure(submitter, jobs)


@asynccontextmanager
async def _worker(environment: dict[str, str]) -> AsyncIterator[None]:
    async with child.serving(["node", "work.mjs"], cwd=FOLDER, environment=environment):
        yield
