"""An attempt: one numbered try of one job, as the claim hands it to a slot, with its fence.

Most of it are columns of the job's row (CLAIMED in model.job.draft): `attempt_of` takes them from a
row, `first_attempt` from the draft of a job that was begun as it was inserted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, Final
from uuid import UUID

from windlass.model.job.draft import GIVEN, ColumnUse, Draft, names
from windlass.model.job.running import OwnSession
from windlass.model.row import Row

# By what a node tells one claim of one job from any other.
Fence = tuple[UUID, UUID]


# Not keyword-only, for the two below: by position it is made in half the time (ADR 0040).
@dataclass(slots=True)
class Attempt:
    """Everything a strategy and the settlement need; `number` and `claim_id` are the fence."""

    claim_id: UUID
    job_id: UUID
    number: int
    snoozes: int
    crashes: int
    created_at: datetime
    started_at: datetime
    # What the draft says.
    queue: str
    kind: str
    priority: int
    max_attempts: int
    timeout_ms: int | None  # None: the node's setting
    retry: str | None  # JSON; None: the default of the kind
    correlation_id: str | None
    trace_id: str | None
    input: str  # JSON, decoded only by a strategy that needs it
    target: str | None = None  # whom an `http` job calls; None: other kinds
    task: str | None = None  # which function a `python` job runs; None: other kinds
    has_pass: bool = False  # its target's limits were asked already
    execution_id: UUID | None = None  # None: it is no step
    # What its strategy keeps of it for people to look at, filled as it goes, so that it is there
    # however the attempt ends; None: nothing.
    detail: dict[str, Any] | None = None
    # The transaction in which its task wrote, which is committed with its end; None: it wrote none.
    own: OwnSession | None = None

    @property
    def fence(self) -> Fence:
        return self.job_id, self.claim_id

    @property
    def tries(self) -> int:
        """How many tries are spent, this one included. A crash spends none: it is counted apart."""
        return self.number - self.snoozes - self.crashes


# Columns that are called otherwise here.
_RENAMED: Final = {"job_id": "id", "number": "attempt"}
_FIRST, *_ATTRIBUTES = (field.name for field in fields(Attempt))
_IN_ROW: Final = [
    column
    for column in (_RENAMED.get(name, name) for name in _ATTRIBUTES)
    if column in names(ColumnUse.CLAIMED)
]
_IN_DRAFT: Final = [column.name for column in GIVEN if column.name in _ATTRIBUTES]
_IN_DRAFT.sort(key=_ATTRIBUTES.index)
_row_values: Final = itemgetter(*_IN_ROW)
_draft_values: Final = attrgetter(*_IN_DRAFT)
_BEFORE: Final = 6  # attributes between the claim and what the draft says
assert _FIRST == "claim_id", "it is the claim's, and in no row yet"
assert [_RENAMED.get(name, name) for name in _ATTRIBUTES[: len(_IN_ROW)]] == _IN_ROW
assert _ATTRIBUTES[_BEFORE : _BEFORE + len(_IN_DRAFT)] == _IN_DRAFT
# When it was due is for the frontier of the claims.
assert {*_IN_ROW, "run_at"} == {*names(ColumnUse.CLAIMED)}, (
    "what is CLAIMED is an attribute of Attempt"
)


def attempt_of(row: Row, claim_id: UUID) -> Attempt:
    """From a row of a claiming statement."""
    return Attempt(claim_id, *_row_values(row))


def first_attempt(job_id: UUID, claim_id: UUID, draft: Draft, started_at: datetime) -> Attempt:
    """Of a job that was begun as it was inserted."""
    return Attempt(claim_id, job_id, 1, 0, 0, started_at, started_at, *_draft_values(draft))
