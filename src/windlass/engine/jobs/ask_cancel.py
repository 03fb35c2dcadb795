"""Ask executions to end `cancelled`, in the caller's transaction.

That they were asked is on record with the commit: their jobs hear of it afterwards, a bounded
number at a time (`engine.executions.heed`), whoever dies meanwhile. One that waits for its turn has
no jobs and ends at once; so does the step that waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass import ids
from windlass.engine.finished import Finished
from windlass.limits import UNHEARD_SECONDS
from windlass.model.job.outcome import Failed
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def ask_cancel(
    connection: Connection[Record], execution_ids: Sequence[UUID], *, cause: str, message: str
) -> Finished:
    """`progressed.unheard` are those whose jobs are to be told; the others have ended, or were
    asked before.
    """
    if not execution_ids:
        return Finished()
    rows = await connection.fetch(
        statement("execution_cancel_many"), list(execution_ids), cause, message, UNHEARD_SECONDS
    )
    finished = Finished(ended={row["id"]: "cancelled" for row in rows if row["is_ended"]})
    finished.progressed.unheard |= {row["id"] for row in rows if not row["is_ended"]}
    finished.progressed.marks |= finished.progressed.unheard
    waiting = {
        row["parent_job_id"]: not_begun(row["id"], cause)
        for row in rows
        if row["is_ended"] and row["parent_job_id"] is not None
    }
    if waiting:
        # Here, because a step's end may orphan a child, which brings it here again.
        from windlass.engine.jobs.awaited import end_awaited

        finished.add(await end_awaited(connection, waiting))
    return finished


def not_begun(execution_id: UUID, cause: str) -> Failed:
    """What the step sees that waits for an execution which never began."""
    child = ids.show("execution", execution_id)
    said = f"its execution {child} was {cause} before it began"
    return Failed("child_cancelled", said, detail={"execution_id": child}, is_final=True)
