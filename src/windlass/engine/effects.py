"""What follows a commit: the one record of a transaction's effects on those outside of it.

    in the transaction   every part of it adds to one `Effects`
    after its commit     `engine.follow` does it all: wake-ups, ends, stops, marks, upkeep

Each try of a transaction fills its own, which goes with it if it is rolled back. Who opens the
transaction returns it; what is done within another's takes it and adds to it. Nothing here is
needed for the truth: who dies before it says so is made good by those who look.

What a caller asked to know (was its settlement refused, how many instants were fired) is an answer
and no effect: it stands beside the effects, in the result of whoever was asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from windlass.store.database import Record

Line = tuple[str, int]  # a queue and a priority


@dataclass(slots=True)
class Upkeep:
    """Work that no node claims as a job; engine.executions.upkeep does it."""

    fan_outs: set[tuple[UUID, str]] = field(default_factory=set)  # execution and step: go on there
    children: set[UUID] = field(default_factory=set)  # steps whose child execution is to begin
    waiting_steps: set[UUID] = field(default_factory=set)  # they wait for a signal or a decision
    # Executions whose jobs are to be told what was asked of them.
    unheard: set[UUID] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.fan_outs or self.children or self.waiting_steps or self.unheard)

    def add(self, other: Upkeep) -> None:
        self.fan_outs |= other.fan_outs
        self.children |= other.children
        self.waiting_steps |= other.waiting_steps
        self.unheard |= other.unheard


@dataclass(slots=True)
class Effects:
    # Jobs that may start: children, steps, who got its locks. Rows with queue, priority and run_at.
    due: list[Record] = field(default_factory=list)
    requeued: list[Record] = field(default_factory=list)  # the same, and id: to be tried again
    # Lines with new jobs, due at an instant or after so many seconds.
    lines: dict[Line, datetime | float] = field(default_factory=dict)
    ended: dict[UUID, str] = field(default_factory=dict)  # job or execution -> its terminal state
    stopping: dict[UUID, UUID] = field(default_factory=dict)  # running job, asked to stop -> node
    urgent_marks: set[UUID] = field(default_factory=set)  # executions that may have ended
    lazy_marks: set[UUID] = field(default_factory=set)  # executions that go on
    # They have ended and have children yet to be told (engine.jobs.notify_children).
    unnotified_parents: set[UUID] = field(default_factory=set)
    upkeep: Upkeep = field(default_factory=Upkeep)
    locks_granted: set[str] = field(default_factory=set)  # those that callers of the API have got
    look_seconds: float | None = None  # by then somebody looks at the locks; None: needs nobody to
    # Jobs parked for `lock`. No effect yet: at its end the transaction takes them into the
    # wait lists (engine.locks.grant), and what comes of that is one.
    parked_for_lock: list[UUID] = field(default_factory=list)

    def add(self, other: Effects) -> None:
        self.due += other.due
        self.requeued += other.requeued
        for line, due in other.lines.items():
            self.add_line(line, due)
        self.ended |= other.ended
        self.stopping |= other.stopping
        self.urgent_marks |= other.urgent_marks
        self.lazy_marks |= other.lazy_marks
        self.unnotified_parents |= other.unnotified_parents
        self.upkeep.add(other.upkeep)
        self.locks_granted |= other.locks_granted
        self.look_in(other.look_seconds)
        self.parked_for_lock += other.parked_for_lock

    def requeue(self, rows: list[Record]) -> None:
        """Rows of job_requeue_many, or of job_promote_many."""
        self.requeued += rows
        if any(row.get("parked_for") == "lock" or row.get("locks") for row in rows):
            self.look_in(0.0)

    def add_line(self, line: Line, due: datetime | float) -> None:
        if due == 0.0 or line not in self.lines:
            self.lines[line] = due

    def look_in(self, seconds: float | None) -> None:
        """The sooner of this and what was known; None: any time."""
        if seconds is not None and (self.look_seconds is None or seconds < self.look_seconds):
            self.look_seconds = seconds
