"""Pause executions and let them go on.

Promises: while an execution is paused none of its steps starts, however it comes to be queued; what
runs is let end. What it waits for from outside (a signal, a decision, a child) may still come.
Jobs are parked and let go a bounded number at a time, the first of them before this returns and
the rest after it (`engine.executions.heed`). Asking twice is harmless.
"""

from __future__ import annotations

from uuid import UUID

from windlass.engine.executions.heed import heed
from windlass.engine.executions.signals import hold_open
from windlass.engine.finished import Finished
from windlass.limits import UNHEARD_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def pause_execution(database: Database, execution_id: UUID) -> Finished:
    """Raises NotFound, ExecutionEnded."""
    return await _change(database, execution_id, is_paused=True)


async def resume_execution(database: Database, execution_id: UUID) -> Finished:
    """Raises NotFound, ExecutionEnded."""
    return await _change(database, execution_id, is_paused=False)


async def _change(database: Database, execution_id: UUID, *, is_paused: bool) -> Finished:
    async def work(connection: Connection[Record]) -> bool:
        await hold_open(connection, execution_id)
        changed = await connection.fetch(
            statement("execution_pause"), execution_id, is_paused, UNHEARD_SECONDS
        )
        return bool(changed)

    if not await database.ask(work):
        return Finished()
    finished = await heed(database, [execution_id])
    finished.progressed.marks.add(execution_id)
    return finished
