"""What a round of firing needs to know of its installation, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from windlass.engine.announce import Line
from windlass.engine.finished import Finished
from windlass.engine.jobs.admission import Limits
from windlass.store.database import Held


@dataclass(frozen=True, slots=True, kw_only=True)
class FireRules:
    limits: Limits = field(default_factory=Limits)
    max_attempts: int = 5  # of a job that does not say
    # Whether queues that other transactions hold are waited for, as long as lock_timeout says.
    # False: SchedulesHeld names at once whom that concerns.
    is_waiting: bool = True


class SchedulesHeld(Held):
    """Other transactions hold queues that these schedules need; nothing was changed."""

    def __init__(self, schedule_ids: Sequence[UUID], reason: str) -> None:
        self.schedule_ids = schedule_ids
        super().__init__(reason)


@dataclass(slots=True, kw_only=True)
class Fired:
    schedules: int = 0
    states: Counter[str] = field(default_factory=Counter)
    late_seconds: list[float] = field(default_factory=list)  # of each that was made by its rule
    lines: dict[Line, datetime | float] = field(default_factory=dict)  # that have new work
    finished: Finished = field(default_factory=Finished)  # what executions began, what was stopped
    is_full: bool = False  # there may be more

    def add(self, other: Fired) -> None:
        """What came of others, in the same transaction."""
        self.schedules += other.schedules
        self.states += other.states
        self.late_seconds += other.late_seconds
        for line, due in other.lines.items():
            self.add_line(line, due)
        self.finished.add(other.finished)
        self.is_full = self.is_full or other.is_full

    def add_line(self, line: Line, due: datetime | float) -> None:
        if due == 0.0 or line not in self.lines:
            self.lines[line] = due
