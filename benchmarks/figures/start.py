"""Start: from the start of a process to its first finished job, and what a small command takes.

`windlass node` on servers that run and are migrated, with a noop job and a task of an App waiting:
once with no more roles than a worker, once with all. The clock begins before the process does, and
ends with `finished_at`, which PostgreSQL reads from the clock of the same machine. What the process
used of a processor by then is told beside it: that hardly depends on who else uses the machine.
Beside it stand `windlass --help`, a question to a running node, and an interpreter that does
nothing. Modules are compiled before: the first start of all is not counted.
"""

from __future__ import annotations

import asyncio
import sys
import time
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import asyncpg
import psutil

from benchmarks import child, inside
from benchmarks.limits import CHILD_SECONDS_MAX, LOOK_EVERY_SECONDS
from benchmarks.measure import Figure, Series, absolute
from benchmarks.node import ALL_ROLES, RunningNode, running
from benchmarks.stage import Stage
from windlass.store.migrate import migrate

WINDLASS = str(Path(sys.executable).with_name("windlass"))
APP = "benchmarks.small_app:app"
BARE, HELP, ASK = "python -c pass", "windlass --help", "windlass job ls"
NODES = {"a worker": "worker", "a node with all roles": ALL_ROLES}
JOBS = {
    "noop": """{"kind": "noop"}""",
    "python": """{"kind": "python", "input": {"task": "nothing"}}""",
}
FIRST, TASK = "its first job's end", "its first task's end"
READY, CPU = "ready", "processor time by then"
# Seconds; of a machine with two cores that has nothing else to do.
WANTED = {
    f"{name}: {what}": at_most
    for name, at_most in zip(NODES, (0.8, 1.2), strict=True)
    for what in (FIRST, TASK)
} | {HELP: 0.15, ASK: 0.4}
# Modules are compiled once, whatever the shell around us wants for its own.
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
# With a key that signs deliveries, as a node has that somebody runs.
SETTINGS = {**COMPILED, "WINDLASS_SECRET_KEY": b64encode(bytes(range(32))).decode()}
ENDS = "SELECT id, finished_at FROM windlass.job_history WHERE id = ANY($1)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A node's start, in seconds since its process began."""

    ended: dict[str, float]  # by kind: when its job had ended
    ready: float  # when it said so
    cpu: float  # what it has used of a processor when all that had come about
    asked: float | None  # how long somebody took who asked it; None: it has no API


async def figures(stage: Stage) -> list[Figure]:
    taken: defaultdict[str, list[float]] = defaultdict(list)
    async with stage.database() as dsn, inside.connected(dsn) as eye:
        await migrate(dsn)
        key = await first_start(stage, dsn, eye)
        for number in range(1, stage.scale.node_starts + 1):
            taken[BARE].append(await timed([sys.executable, "-c", "pass"]))
            taken[HELP].append(await timed([WINDLASS, "--help"]))
            for name, roles in NODES.items():
                started = await start(stage, dsn, eye, roles, key)
                taken[f"{name}: {FIRST}"].append(min(started.ended.values()))
                taken[f"{name}: {TASK}"].append(started.ended["python"])
                taken[f"{name}: {READY}"].append(started.ready)
                taken[f"{name}: {CPU}"].append(started.cpu)
                if started.asked is not None:
                    taken[ASK].append(started.asked)
            said = (f"{name} {values[-1]:.3f}" for name, values in taken.items())
            stage.tell(f"{number}/{stage.scale.node_starts} {', '.join(said)} s")
    return [
        absolute(
            Series(name=name, unit="s", values=tuple(values)),
            at_most=WANTED.get(name),
        )
        for name, values in taken.items()
    ]


async def first_start(stage: Stage, dsn: str, eye: asyncpg.Connection) -> str:
    """It compiles what was changed, and makes the key of the API."""
    async with _node(stage, dsn, ALL_ROLES) as node:
        await _ask(node, key := node.key or "")
    await start(stage, dsn, eye, "worker", key)
    return key


async def start(stage: Stage, dsn: str, eye: asyncpg.Connection, roles: str, key: str) -> Started:
    jobs = {await _enqueue(eye, job): kind for kind, job in JOBS.items()}
    began_at = time.time()
    async with _node(stage, dsn, roles) as node:
        ready = time.time() - began_at
        ends = await _ends(eye, list(jobs))
        used = psutil.Process(node.pid).cpu_times()
        return Started(
            ended={jobs[job]: at - began_at for job, at in ends.items()},
            ready=ready,
            cpu=used.user + used.system,
            asked=await _ask(node, key) if "api" in roles else None,
        )


async def timed(command: Sequence[str], environment: dict[str, str] | None = None) -> float:
    began_at = time.perf_counter()
    await child.run(
        command, seconds_max=CHILD_SECONDS_MAX, environment={**COMPILED, **(environment or {})}
    )
    return time.perf_counter() - began_at


async def _enqueue(eye: asyncpg.Connection, job: str) -> UUID:
    shown: str = await eye.fetchval("SELECT windlass.enqueue($1::text::jsonb)", job)
    return UUID(shown.removeprefix("job_"))


def _node(stage: Stage, dsn: str, roles: str) -> AbstractAsyncContextManager[RunningNode]:
    return running(
        dsn,
        stage.redis_url,
        roles=roles,
        app=APP,
        settings=SETTINGS,
        command=[WINDLASS, "node"],
    )


async def _ask(node: RunningNode, key: str) -> float:
    return await timed(
        [WINDLASS, "job", "ls"], {"WINDLASS_URL": node.address, "WINDLASS_TOKEN": key}
    )


async def _ends(eye: asyncpg.Connection, jobs: list[UUID]) -> dict[UUID, float]:
    async with asyncio.timeout(CHILD_SECONDS_MAX):
        while True:
            rows = await eye.fetch(ENDS, jobs)
            if len(rows) == len(jobs):
                return {row["id"]: row["finished_at"].timestamp() for row in rows}
            await asyncio.sleep(LOOK_EVERY_SECONDS)
