"""Workflows to be measured, and executions of them that wait for one instant.

Executions are started while their queue is paused; resuming it is the starting shot, and the rows
say when the first step began and when the last one ended.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg

from benchmarks import inside
from benchmarks.limits import PAIR_SLOTS
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.until import until
from windlass.engine.announce import Announcer
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.fastlane.lane import FastLane
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

BATCH = 500
NODES = 2
WORKED = """
SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM windlass.job_history
"""
WRONG = "SELECT count(*) FROM windlass.execution WHERE state <> 'succeeded'"


@asynccontextmanager
async def two_nodes(
    stage: Stage, nodes: int = NODES, app: str | None = None
) -> AsyncIterator[tuple[str, asyncpg.Connection]]:
    """An empty database that two node processes serve, or so many; and a connection to look."""
    async with stage.database() as dsn, AsyncExitStack() as stack:
        for _ in range(nodes):
            settings = {"WINDLASS_WORKERS": str(PAIR_SLOTS)}
            node = running(dsn, stage.redis_url, roles="worker,leader", app=app, settings=settings)
            await stack.enter_async_context(node)
        yield dsn, await stack.enter_async_context(inside.connected(dsn))


async def run_all(
    dsn: str, redis_url: str, eye: asyncpg.Connection, definition: dict[str, Any], count: int
) -> float:
    """Run `count` executions; returns the seconds from their first step's start to the last end."""
    lane = FastLane(redis_url)
    announcer = Announcer(lane)
    await lane.open()
    try:
        async with inside.opened(dsn) as database:
            await _start(database, definition, count)
            await _resume(database, announcer)
            await until(lambda: have_ended(eye))
    finally:
        await lane.close()
    seconds: float = await eye.fetchval(WORKED)
    await check(eye)
    return seconds


async def run_one_by_one(
    dsn: str, redis_url: str, eye: asyncpg.Connection, definition: dict[str, Any], count: int
) -> None:
    """Each execution begins when the one before has ended."""
    lane = FastLane(redis_url)
    announcer = Announcer(lane)
    await lane.open()
    try:
        async with inside.opened(dsn) as database:
            await publish(database, trust_definition(definition), by=None)
            for _ in range(count):
                started = await start_many(database, [Start(workflow=definition["name"])])
                announcer.rows(started.effects.due)
                await until(lambda: _is_quiet(eye))
    finally:
        await lane.close()


async def _start(database: Database, definition: dict[str, Any], count: int) -> None:
    read = trust_definition(definition)
    await publish(database, read, by=None)
    await database.run("queue_ensure_many", ["default"], None)
    await database.run("queue_pause", "default", True)
    starts = [Start(workflow=read.name) for _ in range(count)]
    for first in range(0, count, BATCH):
        await start_many(database, starts[first : first + BATCH])


async def _resume(database: Database, announcer: Announcer) -> None:
    await database.run("queue_pause", "default", False)
    announcer.lines({("default", 1): 0.0})


async def have_ended(eye: asyncpg.Connection) -> bool:
    return not await eye.fetchval(
        "SELECT EXISTS (SELECT FROM windlass.execution WHERE finished_at IS NULL)"
    )


async def check(eye: asyncpg.Connection) -> None:
    assert await eye.fetchval(WRONG) == 0, "not every execution succeeded"


async def _is_quiet(eye: asyncpg.Connection) -> bool:
    return not await eye.fetchval("SELECT EXISTS (SELECT FROM windlass.job)")
