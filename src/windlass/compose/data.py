"""The database of `windlass up`, reached by a second command: running, or started for it.

`database_of` brings both servers along; a `Source` needs no more than the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from windlass.clock import monotonic
from windlass.compose.foreground import DATA, MissingSetting
from windlass.embedded.errors import DataInUse
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import DataLock, EmbeddedServers, refuse_unfinished

# Nobody listens where none runs, so only one that is there is waited for.
ANSWER_SECONDS_MAX: Final = 10.0
BUSY_SECONDS_MAX: Final = 30.0
BUSY_REST_SECONDS: Final = 0.2


@asynccontextmanager
async def database_of(url: str | None, data: Path | None) -> AsyncIterator[str]:
    """The given database; or that of a data folder, running or started for as long as needed."""
    if url is not None:
        yield url
        return
    folder = data or DATA
    running = _postgres_in(folder).url()
    if await _answers(running):
        yield running
        return
    async with EmbeddedServers(folder) as servers:
        yield servers.database_url


def _postgres_in(folder: Path) -> EmbeddedPostgres:
    """A database that is not there is not made: nobody would look for it in that folder."""
    postgres = EmbeddedPostgres(folder)
    if not postgres.home.is_dir():
        raise MissingSetting(
            f"say which database: --database-url, or --data (there is none in {folder})"
        )
    return postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A database to be read: a given one, or that of a data folder."""

    url: str | None  # None: that of the folder
    folder: Path

    @classmethod
    def of(cls, url: str | None, data: Path | None) -> Source:
        return cls(url=url, folder=data or DATA)

    @property
    def is_ours(self) -> bool:
        return self.url is None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[str]:
        """Its address; where it does not run PostgreSQL is started, alone, and stopped again."""
        if self.url is not None:
            yield self.url
            return
        postgres = _postgres_in(self.folder)
        refuse_unfinished(postgres.data)
        lock = await _lock_unless_running(postgres)
        if lock is None:
            yield postgres.url()
            return
        try:
            await postgres.start()
            try:
                yield postgres.url()
            finally:
                await postgres.stop()
        finally:
            lock.release()


async def _lock_unless_running(postgres: EmbeddedPostgres) -> DataLock | None:
    """None: it answers. Whoever has the folder may be starting it just now, or be very busy."""
    lock, deadline = DataLock(postgres.data), monotonic() + BUSY_SECONDS_MAX
    while not await _answers(postgres.url()):
        try:
            lock.acquire()
        except DataInUse:
            if monotonic() > deadline:
                raise
            await asyncio.sleep(BUSY_REST_SECONDS)
        else:
            return lock
    return None


async def _answers(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=ANSWER_SECONDS_MAX)
    except (OSError, TimeoutError, asyncpg.PostgresError):
        return False
    await connection.close()
    return True
