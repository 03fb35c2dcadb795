"""Finish one attempt in the transaction in which its task wrote.

Promises: the job's end and the task's effects are committed together, and only while the attempt's
fence is the newest (G4); what a job wrote that somebody asked to cancel goes with its success (G7).
"""

from __future__ import annotations

from windlass.engine.finished import Finished
from windlass.engine.jobs.end import end_in
from windlass.engine.jobs.finish import settled
from windlass.model.job.settle import Settlement
from windlass.store.database import Connection, Database, Record


async def finish_own(connection: Connection[Record], settlement: Settlement) -> Finished | None:
    """End a job that succeeded, in the caller's transaction. None: the caller must roll back."""
    finished = await end_in(connection, [settlement])
    return finished if finished.ended.get(settlement.job_id) == settlement.state else None


async def has_finished(database: Database, settlement: Settlement) -> Finished | None:
    """Did it take effect, although its commit's answer was lost? None: not up to now."""
    rows = await settled(database, [settlement])
    return Finished(ended={row["id"]: row["state"] for row in rows}) if rows else None
