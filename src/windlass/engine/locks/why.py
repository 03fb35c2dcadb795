"""Why a job waits for its locks, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.model.job.limit import PREFIX
from windlass.store.database import Database, Record

_SHOWN, _COUNTED = 5, 1_000
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LockReason:
    gate: str  # lock, or limit
    reason: str
    since: datetime
    until: datetime | None  # when a hold runs out, if the lock is not renewed; None: nobody can say


async def lock_reasons(database: Database, job_id: UUID) -> list[LockReason]:
    """The locks that it cannot have yet, those first that are taken."""
    rows = await database.read("lock_why", job_id, _SHOWN, _COUNTED)
    shut = [row for row in rows if _is_shut(row)]
    return [_reason(row) for row in sorted(shut, key=_is_taken, reverse=True)]


def _is_shut(row: Record) -> bool:
    return bool(_is_taken(row) or row["ahead"] or row["rate_due_at"] or row["is_crowded"])


def _is_taken(row: Record) -> bool:
    return bool(row["held"] >= row["capacity"])


def _reason(row: Record) -> LockReason:
    if row["is_limit"]:
        said, until = _limit_said(row)
    else:
        said, until = f"it waits for lock {row['lock']!r}", None
        if _is_taken(row):
            said, until = f"{said}, which {_holders(row)}", row["expires_at"]
    number = row["ahead"] + 1
    more = "or later " if row["ahead"] >= _COUNTED else ""
    return LockReason(
        gate="limit" if row["is_limit"] else "lock",
        reason=f"{said}; it is {_nth(number)} {more}to wait",
        since=row["since"],
        until=until,
    )


def _limit_said(row: Record) -> tuple[str, datetime | None]:
    """What stands in its way, and until when, if the clock alone decides."""
    name, _, value = row["lock"].removeprefix(PREFIX).partition("/")
    said = f"limit {name!r}" + (f" of {value!r}" if value else "")
    if _is_taken(row):
        named = [ids.show("job", job_id) for job_id in row["job_ids"] or ()]
        more = row["held"] - len(named)
        who = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        return f"{said} lets {row['capacity']} run at once: {who}", None
    if row["rate"] is not None:
        is_idle = row["is_crowded"] and row["rate_due_at"] is None
        waits_for = ", and those that it let go have not started" if is_idle else ""
        return f"{said} lets {_rate(row['rate'])} start{waits_for}", row["rate_due_at"]
    return f"it waits for {said}", None


def _rate(rate: float) -> str:
    for unit, seconds in (("a second", 1), ("a minute", 60), ("an hour", 3_600), ("a day", 86_400)):
        if rate * seconds >= 1:
            return f"{rate * seconds:.4g} {unit}"
    return f"one in {1 / rate / 86_400:.4g} days"


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
