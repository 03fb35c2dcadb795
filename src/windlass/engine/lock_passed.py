"""What came of passing locks on, for those who are told after the commit."""

from __future__ import annotations

from dataclasses import dataclass, field

from windlass.store.database import Record


@dataclass(slots=True)
class Passed:
    # Jobs that may start: id, queue, priority, run_at.
    ready: list[Record] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)  # locks that callers of the API have got
    look_seconds: float | None = None  # by then somebody has to look; None: not because of this

    def add(self, other: Passed) -> None:
        self.ready += other.ready
        self.taken |= other.taken
        self.look_in(other.look_seconds)

    def look_in(self, seconds: float | None) -> None:
        """The sooner of this and what was known; None: any time."""
        if seconds is not None and (self.look_seconds is None or seconds < self.look_seconds):
            self.look_seconds = seconds
