"""The store stage: a database that is migrated, with its pools open."""

from __future__ import annotations

from windlass.config import Settings
from windlass.store.database import Database
from windlass.store.migrate import migrate


async def open_store(
    settings: Settings, database_url: str, *, may_be_newer: bool = True
) -> Database:
    """Raises Unavailable or what a migration says, and then has left no connection behind."""
    await migrate(database_url, may_be_newer=may_be_newer)
    database = Database(database_url, read_url=settings.read_database_url)
    try:
        await database.open()
    except BaseException:
        await database.close()
        raise
    return database
