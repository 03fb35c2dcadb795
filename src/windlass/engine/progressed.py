"""What came of going on with executions, for those who are told after the commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from windlass.engine.lock_passed import Passed
from windlass.store.database import Record


@dataclass(slots=True)
class Progressed:
    ready: list[Record] = field(default_factory=list)  # queue, priority, run_at
    ended: list[Record] = field(default_factory=list)  # id, state, queue: decided on the way
    marks: set[UUID] = field(default_factory=set)  # executions that may have ended
    touched: set[UUID] = field(default_factory=set)  # executions that go on
    fans: set[tuple[UUID, str]] = field(default_factory=set)  # to be tended
    unbegun: set[UUID] = field(default_factory=set)  # steps that need their child execution
    asked: set[UUID] = field(default_factory=set)  # steps that wait for a signal or a decision
    unheard: set[UUID] = field(default_factory=set)  # executions whose jobs are to be told (heed)
    # Parents that have ended and have children yet to be told (engine.jobs.notify_children).
    unnotified: set[UUID] = field(default_factory=set)
    # Parked for `lock`: at its end the transaction takes them into line (engine.locks.release).
    locked: list[UUID] = field(default_factory=list)
    locks: Passed = field(default_factory=Passed)  # what came of it

    def add(self, other: Progressed) -> None:
        self.ready += other.ready
        self.ended += other.ended
        self.marks |= other.marks
        self.touched |= other.touched
        self.fans |= other.fans
        self.unbegun |= other.unbegun
        self.asked |= other.asked
        self.unheard |= other.unheard
        self.unnotified |= other.unnotified
        self.locked += other.locked
        self.locks.add(other.locks)
