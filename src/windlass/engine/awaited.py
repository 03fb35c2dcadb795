"""End steps that wait for what no node performs: a fan-out, a child, a signal, a decision.

By the same fence as every other end: the row's own attempt and claim, so that a step ends once,
whoever is first (G2).
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from windlass.engine.end import end_in
from windlass.engine.finished import Finished
from windlass.engine.held import attempt_of
from windlass.model.outcome import Outcome
from windlass.model.settle import settle
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def end_awaited(connection: Connection[Record], outcomes: Mapping[UUID, Outcome]) -> Finished:
    """End those that wait; the others have ended, or were never there. `ended` says which."""
    if not outcomes:
        return Finished()
    rows = await connection.fetch(statement("job_callback_get_many"), list(outcomes))
    waiting = [row for row in rows if row["callback_until"] is not None]
    if not waiting:
        return Finished()
    return await end_in(
        connection, [settle(attempt_of(row), outcomes[row["id"]], 0) for row in waiting]
    )
