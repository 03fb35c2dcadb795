"""A plain batch, by COPY: half the cost of the statement, for both sides."""

from __future__ import annotations

from datetime import datetime

from windlass.engine.jobs.request import COPIED, Request, copied
from windlass.store.database import Connection, Record


async def copy_in(connection: Connection[Record], request: Request, now: datetime) -> None:
    """Insert its jobs, in the caller's transaction. `now` is the database's.

    Nothing is asked of their queues: the caller has, and holds them so until it commits.
    """
    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPIED, records=copied(request, now)
    )
