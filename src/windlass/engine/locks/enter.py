"""Put jobs that are parked for their locks into the lines of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.limits import LOCK_LEAD_SECONDS
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(slots=True)
class Entered:
    due: set[str] = field(default_factory=set)  # locks in whose line somebody may go at once
    look_seconds: float | None = None  # until the first of the others is due; None: all are


async def enter(connection: Connection[Record], job_ids: Sequence[UUID]) -> Entered:
    """Their turn comes when the locks are passed on, which the caller sees to."""
    entered = Entered()
    if not job_ids:
        return entered
    rows = await connection.fetch(statement("lock_enter_many"), list(job_ids), LOCK_LEAD_SECONDS)
    entered.due = {row["lock"] for row in rows if row["due_seconds"] is None}
    later = [row["due_seconds"] for row in rows if row["due_seconds"] is not None]
    entered.look_seconds = min(later, default=None)
    return entered
