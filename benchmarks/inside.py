"""Windlass inside a measuring process: its door, a node of its own, and when jobs have ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from uuid import UUID

import asyncpg

from benchmarks.limits import (
    CHILD_SECONDS_MAX,
    INSERT_BATCH,
    LAST_END_WITHIN_SECONDS,
    READY_SECONDS_MAX,
)
from benchmarks.rows import PAYLOAD_TEXT
from benchmarks.schema import settle
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.model.job.draft import Draft
from windlass.store.database import Database
from windlass.store.migrate import migrate

DEFAULTS = Settings()


def drafts(count: int, *, run_at: datetime | None = None) -> list[Draft]:
    """Jobs that do nothing, with the input everybody carries."""
    return [Draft(kind="noop", input=PAYLOAD_TEXT, run_at=run_at) for _ in range(count)]


@asynccontextmanager
async def opened(dsn: str) -> AsyncIterator[Database]:
    """A database with Windlass's tables."""
    await migrate(dsn)
    database = Database(dsn)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


@asynccontextmanager
async def node(
    dsn: str, redis_url: str, settings: Settings = DEFAULTS
) -> AsyncIterator[compose.Windlass]:
    """A node without an API on this loop. Its worker has not had a turn yet when this yields,
    unless an app of the settings has something to publish first.
    """
    running = await compose.start(settings, database_url=dsn, redis_url=redis_url, serving=None)
    compose.tune_collector()  # as `windlass node` does
    try:
        yield running
    finally:
        await running.drain()


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to look with, apart from those of a node."""
    connection = await asyncpg.connect(
        dsn, timeout=READY_SECONDS_MAX, command_timeout=CHILD_SECONDS_MAX
    )
    try:
        yield connection
    finally:
        await connection.close()


def door(database: Database, follow: Callable[[Effects], None] = lambda _: None) -> Enqueuer:
    return Enqueuer(database, follow=follow)


async def fill(dsn: str, waiting: Sequence[Draft]) -> None:
    """Submit jobs that are due now, and leave the table as if it had stood for a while."""
    async with opened(dsn) as database:
        enqueuer = door(database)
        for start in range(0, len(waiting), INSERT_BATCH):
            await enqueuer.submit_batch(waiting[start : start + INSERT_BATCH])
    async with connected(dsn) as connection:
        await settle(connection, "windlass.job")


class Ends:
    """Counts jobs whose end was committed, each once.

    It runs on the loop that is being measured: adding to a set and looking now and then costs it
    less than a function of ours for every job would.
    """

    def __init__(self, announcer: Announcer, wanted: int) -> None:
        self._seen: set[UUID] = set()
        self._wanted = wanted
        announcer.on_end(self._seen.add)

    async def all(self) -> None:
        while True:
            if len(self._seen) == self._wanted:
                return
            await asyncio.sleep(LAST_END_WITHIN_SECONDS)


async def check_all_succeeded(dsn: str, jobs: int) -> None:
    """A fast drain that lost something is no drain."""
    async with connected(dsn) as connection:
        left = await connection.fetchval("SELECT count(*) FROM windlass.job")
        done = await connection.fetchval(
            "SELECT count(*) FROM windlass.job_history WHERE state = 'succeeded'"
        )
    assert (left, done) == (0, jobs), f"of {jobs} jobs {done} succeeded and {left} are left"
