"""Cancel executions, their children included.

Promises: once this has answered, the execution gets no further steps and never ends `succeeded`
(G7); one that waits for its turn has ended. Asking twice is harmless. Its jobs are told a bounded
number at a time, the first of them before this returns and the rest after it
(`engine.executions.heed`); a step that waits for a child execution takes it along
(`engine.jobs.abandon`).
"""

from __future__ import annotations

from uuid import UUID

from windlass import ids
from windlass.engine.executions.heed import heed
from windlass.engine.executions.signals import ExecutionEnded
from windlass.engine.finished import Finished
from windlass.engine.jobs.ask_cancel import ask_cancel
from windlass.errors import NotFound
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def cancel_execution(database: Database, execution_id: UUID) -> Finished:
    """Raises NotFound, ExecutionEnded; one that has ended `cancelled` is left as it is."""

    async def work(connection: Connection[Record]) -> Finished:
        rows = await connection.fetch(statement("execution_hold_many"), [execution_id])
        if not rows:
            raise NotFound("execution", ids.show("execution", execution_id))
        if rows[0]["finished_at"] is not None:
            if rows[0]["state"] == "cancelled":
                return Finished()
            raise ExecutionEnded(execution_id, rows[0]["state"])
        return await ask_cancel(
            connection, [execution_id], cause="cancelled", message="it was cancelled"
        )

    finished = await database.ask(work)
    if unheard := finished.progressed.unheard:
        finished.progressed.unheard = set()
        finished.add(await heed(database, unheard))
    return finished
