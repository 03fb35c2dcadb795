"""Bulk operations: one verb on all jobs that match a filter, a batch at a time, and how far it is.

pending -> working -> done
             '------> aborted       what was done until then stays done
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from windlass.model.job.states import TERMINAL, UNFINISHED, State
from windlass.model.row import Row

BulkVerb = Literal["cancel", "promote", "retry", "delete", "replay", "discard"]
BulkPhase = Literal["pending", "working", "done", "aborted"]
# In the order in which they are gone through.
BULK_PHASES: Final[tuple[BulkPhase, ...]] = ("pending", "working", "done", "aborted")
BULK_ENDED: Final = frozenset[BulkPhase]({"done", "aborted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbRule:
    """Which jobs a verb is for."""

    states: tuple[State, ...]
    done: str  # what became of each of them
    asks_state: bool = False  # True: what has ended well is meant only if somebody says so

    @property
    def is_of_ended(self) -> bool:
        return self.states[0] in TERMINAL


VERBS: Final[dict[BulkVerb, VerbRule]] = {
    "cancel": VerbRule(states=UNFINISHED, done="cancelled"),
    "promote": VerbRule(states=("queued",), done="promoted"),
    "retry": VerbRule(states=TERMINAL, done="retried", asks_state=True),
    "delete": VerbRule(states=TERMINAL, done="deleted", asks_state=True),
    # The words of dead letters.
    "replay": VerbRule(states=("dead",), done="replayed"),
    "discard": VerbRule(states=("dead",), done="discarded"),
}
assert all(
    set(rule.states) <= set(TERMINAL if rule.is_of_ended else UNFINISHED) for rule in VERBS.values()
), "a verb is of one table"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOperation:
    id: UUID
    verb: BulkVerb
    filter: dict[str, Any]  # as it was asked, values as in JSON
    named: int | None  # asked for by so many ids instead of a filter; None: by the filter
    matching: int  # when it was asked
    is_exact: bool  # False: there were at least so many
    most: int | None  # None: as many as there are
    rate: float | None  # jobs a second; None: as fast as it goes
    phase: BulkPhase
    round: int  # 0: it goes through what matches; else through its list of names, so many times
    cursor: UUID | None  # where it is in that; None: at the beginning
    looked: int  # jobs that were looked at
    done: int
    refused: int
    gone: int  # they matched, and somebody else was first
    held: int  # somebody else holds them just now: tried again at the end
    left_jobs: list[dict[str, str]]  # the first that were refused, and why
    reason: str | None  # why it ended before it had come to all
    asked_by: str | None
    asked_at: datetime  # what came to match later is left alone
    changed_at: datetime
    ended_at: datetime | None  # None: it is under way

    @property
    def rule(self) -> VerbRule:
        return VERBS[self.verb]


def bulk_from(row: Row) -> BulkOperation:
    return BulkOperation(
        id=row["id"],
        verb=row["verb"],
        filter=json.loads(row["filter"]),
        named=row["named"],
        matching=row["matching"],
        is_exact=row["is_exact"],
        most=row["most"],
        rate=row["rate"],
        phase=row["phase"],
        round=row["round"],
        cursor=row["cursor"],
        looked=row["looked"],
        done=row["done"],
        refused=row["refused"],
        gone=row["gone"],
        held=row["held"],
        left_jobs=json.loads(row["left_jobs"]),
        reason=row["reason"],
        asked_by=row["asked_by"],
        asked_at=row["asked_at"],
        changed_at=row["changed_at"],
        ended_at=row["ended_at"],
    )
