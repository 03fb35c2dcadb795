"""One numbered try of one job, as the claim hands it to a slot."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


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

    @property
    def tries(self) -> int:
        """How many attempts are spent, this one included."""
        return self.number - self.snoozes
