"""A schema of one's own for one run, gone afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from benchmarks.limits import CHILD_SECONDS_MAX, READY_SECONDS_MAX


@asynccontextmanager
async def fresh_schema(dsn: str, name: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that finds `name` first; what an interrupted run left there is dropped."""
    connection = await asyncpg.connect(
        dsn,
        timeout=READY_SECONDS_MAX,
        command_timeout=CHILD_SECONDS_MAX,
        server_settings={"search_path": name},
    )
    try:
        await connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
        await connection.execute(f"CREATE SCHEMA {name}")
        yield connection
        await connection.execute(f"DROP SCHEMA {name} CASCADE")
    finally:
        await connection.close()


async def settle(connection: asyncpg.Connection, table: str) -> None:
    """Leave a filled table as autovacuum would have left a backlog that stood for a while.

    Everybody's table is settled before the clock starts: else the planner guesses, and the
    vacuum that a bulk insert calls for runs in the middle of some of the measurements.
    """
    await connection.execute(f"VACUUM (ANALYZE) {table}")
