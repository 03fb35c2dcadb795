"""The PostgreSQL to measure on: the one that was named, or a durable one of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from windlass.testing.servers import PrivateServers


@asynccontextmanager
async def database(dsn: str | None) -> AsyncIterator[str]:
    """The DSN of a database to measure on; a private one is gone afterwards."""
    if dsn is not None:
        yield dsn
        return
    async with PrivateServers(durable=True) as servers:
        yield await servers.create_database()
