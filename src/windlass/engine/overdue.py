"""Give up on receivers that took a job over and did not complete it in time.

Idempotent; any node may do it at any time. To the job it is an attempt that timed out: it is tried
again or dead, as its policy says, and the token of that attempt is good for nothing any more.
"""

from __future__ import annotations

from windlass.chance import chance
from windlass.engine.finished import Finished
from windlass.engine.held import attempt_of, settle_in
from windlass.limits import FINISH_BATCH_MAX
from windlass.model.outcome import TimedOut
from windlass.model.settle import Settlement, settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def expire_callbacks(database: Database) -> Finished:
    """One round alone; `engine.rescue.recover` does it along with its own."""

    async def work(connection: Connection[Record]) -> Finished:
        return await give_up(connection, FINISH_BATCH_MAX)

    return await database.together(work)


async def give_up(connection: Connection[Record], most: int) -> Finished:
    rows = await connection.fetch(statement("job_callback_overdue"), most)
    return await settle_in(connection, [(row["node_id"], _settle(row)) for row in rows])


def _settle(row: Record) -> Settlement:
    waited = (row["callback_until"] - row["started_at"]).total_seconds()
    outcome = TimedOut(round(waited, 3), "the receiver's completion")
    return settle(attempt_of(row), outcome, chance())
