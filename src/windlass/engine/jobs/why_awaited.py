"""What a step waits for that no node performs: a signal, a decision, a child, or its places.

A sentence, since when and until when; what it names can be asked in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass import ids
from windlass.store.database import Database, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    gate: str
    reason: str
    since: datetime
    until: datetime | None  # None: any time


async def awaited_by(database: Database, job_id: UUID) -> Awaited | None:
    """None: it is no such step, or has ended meanwhile."""
    rows = await database.read("awaited_why", job_id)
    if not rows:
        return None
    row = rows[0]
    match row["kind"]:
        case "signal":
            gate, reason = "signal", f"it waits for the signal {row['name']!r}"
        case "approval":
            gate, reason = "approval", _decision(row)
        case "workflow":
            gate, reason = "child", _child(row)
        case "map":
            gate, reason = "places", _places(row)
        case _:
            return None
    return Awaited(gate=gate, reason=reason, since=row["since"], until=row["until"])


def _decision(row: Record) -> str:
    if row["approval_id"] is None:
        return "a decision is about to be asked for"
    return f"{ids.show('approval', row['approval_id'])} is to be decided: {row['title']}"


def _child(row: Record) -> str:
    if row["child_id"] is None:
        return f"its child, an execution of {row['workflow']!r}, is about to begin"
    child = ids.show("execution", row["child_id"])
    return f"its child {child} of {row['workflow']!r} is {row['child_state']}"


def _places(row: Record) -> str:
    if row["total"] is None:
        return "its places are about to be made"
    return f"{row['ended']} of its {row['total']} places have ended, {row['expanded']} have begun"
