"""The virtual clock: what time it is in a test's database, and in the process that tests it.

    real time     ----------+----------------------------->
                            | move_to: the shift grows
    in the test   ----------'                '------------>

It is a shift and not a standstill: time goes on, so that an order of events stays one. What decides
anything asks the database, so shifting its clock (sql/virtual_clock.sql) shifts all decisions; the
process's own `wall()`, by which inputs are checked, is put ahead by the same amount.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import asyncpg

from windlass import clock
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.local_sql import ask, local_statement


async def install(database_url: str) -> None:
    """Into an empty database, which is migrated then: column defaults bind to what they find.

    Functions with the owner's rights have a search path of their own, which comes last.
    """
    await _run(database_url, "virtual_clock")
    await migrate(database_url)
    await _run(database_url, "virtual_clock_pinned")


async def _run(database_url: str, name: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(local_statement(name))
    finally:
        await connection.close()


class VirtualClock:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def move_to(self, instant: datetime | None) -> None:
        """Show this instant from now on; None: the real time."""
        [row] = await ask(self._database, "clock_set", instant)
        by: timedelta = row["by"]
        clock.put_ahead(by)

    def leave(self) -> None:
        """The process is in real time again; its database will be when the next test begins."""
        clock.put_ahead(timedelta())
