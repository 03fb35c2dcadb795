"""The database of `windlass up`, reached by a second command: running, or started for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from windlass.compose.foreground import DATA, MissingSetting
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers


@asynccontextmanager
async def database_of(url: str | None, data: Path | None) -> AsyncIterator[str]:
    """The given database; or that of a data folder, running or started for as long as needed."""
    if url is not None:
        yield url
        return
    folder = data or DATA
    # A database that is not there is not made: nobody would look for it in that folder.
    postgres = EmbeddedPostgres(folder)
    if not postgres.home.is_dir():
        raise MissingSetting(
            f"say which database: --database-url, or --data (there is none in {folder})"
        )
    running = postgres.url()
    if await _answers(running):
        yield running
        return
    async with EmbeddedServers(folder) as servers:
        yield servers.database_url


async def _answers(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=2)
    except (OSError, TimeoutError, asyncpg.PostgresError):
        return False
    await connection.close()
    return True
