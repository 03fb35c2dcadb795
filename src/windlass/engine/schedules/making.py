"""One decision of a schedule on its way to the job or execution that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from windlass.model.schedule.decision import Decision, FiringState
from windlass.store.database import Record


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was made after all."""

    state: FiringState
    reason: str


@dataclass(slots=True, kw_only=True)
class Making:
    row: Record  # the schedule's
    decision: Decision
    beside: Sequence[Record] = ()  # what the schedule made before and what has not ended
    behind: UUID | None = None  # what it waits for; None: nothing
    made_id: UUID | None = None  # of its job or execution; None: nothing is made
    jitter_seconds: float = 0.0  # by which it was to go later than its instant
    is_entered: bool = False  # in the ledger, by us
    refusal: Refusal | None = None  # None: it is as decided

    @property
    def job_id(self) -> UUID | None:
        return self.made_id if self.row["workflow"] is None else None

    @property
    def execution_id(self) -> UUID | None:
        return self.made_id if self.row["workflow"] is not None else None

    @property
    def state(self) -> FiringState:
        return self.decision.state if self.refusal is None else self.refusal.state

    @property
    def is_made(self) -> bool:
        return self.decision.is_made and self.refusal is None
