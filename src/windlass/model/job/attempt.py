"""An attempt: one numbered try of one job, as the claim hands it to a slot, with its fence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.model.job.running import OwnSession

# By what a node tells one claim of one job from any other.
Fence = tuple[UUID, UUID]


@dataclass(slots=True, kw_only=True)
class Attempt:
    """Everything a strategy and the settlement need; `number` and `claim_id` are the fence."""

    job_id: UUID
    claim_id: UUID
    number: int
    queue: str
    kind: str
    priority: int
    max_attempts: int
    snoozes: int
    crashes: int
    created_at: datetime
    started_at: datetime
    timeout_ms: int | None  # None: the node's setting
    retry: str | None  # JSON; None: the default of the kind
    correlation_id: str | None
    trace_id: str | None
    input: str  # JSON, decoded only by a strategy that needs it
    target: str | None = None  # whom an `http` job calls; None: other kinds
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
