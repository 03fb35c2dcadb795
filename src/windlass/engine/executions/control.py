"""Cancel, pause and resume executions, their children included.

Promises: asking twice is harmless. Jobs are told a bounded number at a time, the first of them
before this returns and the rest after it (`engine.executions.upkeep`).
- Cancel: once this has answered, the execution gets no further steps and never ends `succeeded`
  (G7); one that waits for its turn has ended. A step that waits for a child execution takes it
  along (`engine.jobs.end`).
- Pause: while an execution is paused none of its steps starts, however it comes to be queued; what
  runs is let end. What it waits for from outside (a signal, a decision, a child) may still come.
"""

from __future__ import annotations

from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.executions.signals import ExecutionEnded, hold_open
from windlass.engine.executions.upkeep import tell_jobs
from windlass.engine.jobs.end import request_execution_cancel
from windlass.errors import NotFound
from windlass.limits import UNHEARD_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def cancel_execution(database: Database, execution_id: UUID) -> Effects:
    """Raises NotFound, ExecutionEnded; one that has ended `cancelled` is left as it is."""

    async def work(connection: Connection[Record]) -> Effects:
        rows = await connection.fetch(statement("execution_hold_many"), [execution_id])
        if not rows:
            raise NotFound("execution", ids.show("execution", execution_id))
        if rows[0]["finished_at"] is not None:
            if rows[0]["state"] == "cancelled":
                return Effects()
            raise ExecutionEnded(execution_id, rows[0]["state"])
        effects = await request_execution_cancel(
            connection, [execution_id], cause="cancelled", message="it was cancelled"
        )
        if effects != Effects():  # else somebody has asked before
            await record(connection, _entry("execution.cancel", rows[0]))
        return effects

    effects = await database.ask(work)
    if unheard := effects.upkeep.unheard:
        effects.upkeep.unheard = set()
        effects.add(await tell_jobs(database, unheard))
    return effects


async def pause_execution(database: Database, execution_id: UUID) -> Effects:
    """Raises NotFound, ExecutionEnded."""
    return await _change(database, execution_id, is_paused=True)


async def resume_execution(database: Database, execution_id: UUID) -> Effects:
    """Raises NotFound, ExecutionEnded."""
    return await _change(database, execution_id, is_paused=False)


def _entry(action: str, row: Record) -> Entry:
    return Entry(action=action, id=ids.show("execution", row["id"]), name=row["workflow"])


async def _change(database: Database, execution_id: UUID, *, is_paused: bool) -> Effects:
    async def work(connection: Connection[Record]) -> bool:
        held = await hold_open(connection, execution_id)
        changed = await connection.fetch(
            statement("execution_pause"), execution_id, is_paused, UNHEARD_SECONDS
        )
        if changed:
            action = "execution.pause" if is_paused else "execution.resume"
            await record(connection, _entry(action, held))
        return bool(changed)

    if not await database.ask(work):
        return Effects()
    effects = await tell_jobs(database, [execution_id])
    effects.urgent_marks.add(execution_id)
    return effects
