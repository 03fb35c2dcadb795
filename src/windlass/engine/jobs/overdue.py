"""Give up on receivers that took a job over and did not complete it in time.

Idempotent; any node may do it at any time. To the job it is an attempt that timed out: it is tried
again or dead, as its policy says, and the token of that attempt is good for nothing any more.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.chance import chance
from windlass.engine.apart import Troubled
from windlass.engine.finished import Finished
from windlass.engine.jobs.held import attempt_of, round_of, settle_in
from windlass.model.job.outcome import TimedOut
from windlass.model.job.settle import Settlement, settle
from windlass.store.database import Connection, Database, Record


async def expire_callbacks(database: Database, troubled: Troubled | None = None) -> Finished:
    """One round; `engine.jobs.rescue.recover` does it along with its own."""
    return await round_of(database, "give up", "job_callback_overdue", _give_up, troubled)


async def _give_up(connection: Connection[Record], rows: Sequence[Record]) -> Finished:
    return await settle_in(connection, [(row["node_id"], _settle(row)) for row in rows])


def _settle(row: Record) -> Settlement:
    waited = (row["callback_until"] - row["started_at"]).total_seconds()
    outcome = TimedOut(round(waited, 3), "the receiver's completion")
    return settle(attempt_of(row), outcome, chance())
