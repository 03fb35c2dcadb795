"""Why a job waits for its locks, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.store.database import Database, Record

_SHOWN, _COUNTED = 5, 1_000
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LockReason:
    reason: str
    since: datetime
    until: datetime | None  # when a hold runs out, if the lock is not renewed; None: nobody can say


async def lock_reasons(database: Database, job_id: UUID) -> list[LockReason]:
    """The locks that it cannot have yet, those first that are taken."""
    rows = await database.read("lock_why", job_id, _SHOWN, _COUNTED)
    shut = [row for row in rows if _is_taken(row) or row["ahead"]]
    return [_reason(row) for row in sorted(shut, key=_is_taken, reverse=True)]


def _is_taken(row: Record) -> bool:
    return bool(row["held"] >= row["capacity"])


def _reason(row: Record) -> LockReason:
    said = f"it waits for lock {row['lock']!r}"
    if _is_taken(row):
        said += f", which {_holders(row)}"
    number = row["ahead"] + 1
    more = "or later " if row["ahead"] >= _COUNTED else ""
    return LockReason(
        reason=f"{said}; it is {_nth(number)} {more}to wait",
        since=row["since"],
        until=row["expires_at"] if _is_taken(row) else None,
    )


def _holders(row: Record) -> str:
    named = [ids.show("job", job_id) for job_id in row["job_ids"] or ()]
    named += row["owners"] or ()
    more = row["held"] - len(named[:_SHOWN])
    who = ", ".join(named[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    all_of_it = f" ({row['held']} of {row['capacity']} at once)" if row["capacity"] > 1 else ""
    return f"{who} {'hold' if row['held'] > 1 else 'holds'}{all_of_it}"


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"
