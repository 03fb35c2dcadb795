"""Ledger rows that stand for instants before them, when a backfill gives some rows of their own.

before    . . . . . . . .[9]        one row, for itself and eight instants before it
filled          x x x               a stretch in the middle
after     . .[3]x x x . .[3]        each of the rest has a row behind it that stands for it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from windlass.model.schedule.next import between, count_between
from windlass.model.schedule.rule import Rule

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """A firing, and for how many instants it stands, itself among them."""

    instant: datetime
    stands_for: int
    state: str
    reason: str | None


def split_rows(
    rule: Rule, filled: Sequence[datetime], rows: Sequence[LedgerRow]
) -> list[LedgerRow]:
    """How `rows` stand when `filled` have rows of their own; those are without a gap, in order.

    Only what changes; among it a row that is not there yet, for those before `filled`.
    """
    changed: list[LedgerRow] = []
    for row in sorted(rows, key=lambda known: known.instant):
        newer = _count(rule, filled[-1], row.instant - _MICROSECOND)
        if newer >= row.stands_for - 1:
            break  # all that it stands for is newer
        within = sum(instant < row.instant for instant in filled)
        older = max(0, row.stands_for - 1 - newer - within)
        changed.append(_standing(row, row.instant, 1 + newer))
        if older and (at := _last_before(rule, filled[0])) is not None:
            made = row.state in ("fired", "late")  # which those that it stood for were not
            bare = LedgerRow(
                instant=at,
                stands_for=older,
                state="coalesced" if made else row.state,
                reason=row.reason or "misfire: it was missed, and a newer one made up for it",
            )
            changed.append(bare)
    return changed


def _standing(row: LedgerRow, instant: datetime, stands_for: int) -> LedgerRow:
    return LedgerRow(instant=instant, stands_for=stands_for, state=row.state, reason=row.reason)


def _count(rule: Rule, after: datetime, until: datetime) -> int:
    return count_between(rule, after, until) if after < until else 0


def _last_before(rule: Rule, before: datetime) -> datetime | None:
    """The newest due instant before this one; None: there is none within reach."""
    until, step = before - _MICROSECOND, timedelta(seconds=1)
    for _ in range(32):
        try:
            count = count_between(rule, until - step, until)
        except ValueError:
            return None
        if count:
            # No more than a few: the stretch half as long had none.
            return list(between(rule, until - step, until, count))[-1]
        step *= 2
    return None
