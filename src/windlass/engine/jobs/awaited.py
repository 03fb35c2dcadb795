"""End steps that wait for what no node performs: a fan-out, a child, a signal, a decision.

By the same fence as every other end: the row's own attempt and claim, so that a step ends once,
whoever is first (G2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from windlass.engine.finished import Finished
from windlass.engine.jobs.end import end_in
from windlass.engine.jobs.held import attempt_of
from windlass.model.job.outcome import Failed, Outcome
from windlass.model.job.settle import settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

PROBLEMS_SHOWN_MAX: Final = 10


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


async def bury(database: Database, job_id: UUID, outcome: Outcome) -> Finished:
    """End a step that waits for what it will never get: what it asks for cannot be."""

    async def work(connection: Connection[Record]) -> Finished:
        return await end_awaited(connection, {job_id: outcome})

    return await database.settle_together(work)


async def bury_unstorable(database: Database, job_id: UUID, trouble: Exception) -> Finished:
    """The same, of one whose values PostgreSQL refuses."""
    return await bury(database, job_id, Failed("unstorable", str(trouble), is_final=True))


def invalid(problems: Sequence[tuple[str, str]]) -> Failed:
    """How a step ends whose expressions gave what its kind cannot do with."""
    shown = problems[:PROBLEMS_SHOWN_MAX]
    said = "; ".join(f"{pointer or '/'} {detail}" for pointer, detail in shown)
    detail = {"errors": [{"pointer": f"/input{at}", "detail": why} for at, why in shown]}
    return Failed(
        "invalid_input", f"its input cannot be used: {said}", detail=detail, is_final=True
    )
