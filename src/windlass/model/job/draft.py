"""A draft: a job that somebody asked for, checked, but not yet accepted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from windlass.model.job.lock import LockAsk

OnParentFailure = Literal["skip", "fail", "run"]


@dataclass(slots=True, kw_only=True)
class Draft:
    """What the inserting statement needs."""

    kind: str
    input: str = "{}"  # JSON
    queue: str = "default"
    priority: int = 1
    run_at: datetime | None = None  # None: now, plus `delay_seconds`
    delay_seconds: float = 0.0
    deadline: datetime | None = None
    timeout_ms: int | None = None
    max_attempts: int = 5
    retry: str | None = None  # JSON; None: the default of the kind
    depends_on: tuple[UUID, ...] = ()
    depends_on_places: tuple[int, ...] = ()  # other jobs of the same batch, by their place in it
    on_parent_failure: OnParentFailure = "skip"
    key: str | None = None
    tags: tuple[str, ...] = ()
    correlation_id: str | None = None
    trace_id: str | None = None
    owner: str | None = None
    target: str | None = None  # whom an `http` job calls; None: other kinds
    parked_for: str | None = None  # what its target has no room for; None: it joins its line
    locks: tuple[LockAsk, ...] = ()  # what it holds from when it may start until it ends

    @property
    def has_parents(self) -> bool:
        return bool(self.depends_on or self.depends_on_places)

    @property
    def is_due(self) -> bool:
        """True when it may start the moment it is accepted."""
        waits = self.delay_seconds or self.has_parents or self.locks
        return self.run_at is None and not waits

    @property
    def is_plain(self) -> bool:
        """True when nothing but its queue's limits can stand in its way."""
        return self.key is None and not self.has_parents and not self.locks
