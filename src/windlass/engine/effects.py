"""What a transaction did that others hear of after its commit: wake-ups, ends, what is due next.

    Finished      jobs were ended or tried again: who waits is told, children that are due start
      progressed  executions went on: marks, and steps to be looked after (engine.executions.upkeep)
        locks     locks went to the next in line: jobs that may start, callers that have theirs

Filled inside the transaction, handed to engine.follow once it is committed. Nothing here is needed
for the truth: who dies before it says so is made good by those who look.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

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


@dataclass(slots=True)
class Progressed:
    ready: list[Record] = field(default_factory=list)  # queue, priority, run_at
    ended: list[Record] = field(default_factory=list)  # id, state, queue: decided on the way
    marks: set[UUID] = field(default_factory=set)  # executions that may have ended
    touched: set[UUID] = field(default_factory=set)  # executions that go on
    fans: set[tuple[UUID, str]] = field(default_factory=set)  # to be tended
    unbegun: set[UUID] = field(default_factory=set)  # steps that need their child execution
    asked: set[UUID] = field(default_factory=set)  # steps that wait for a signal or a decision
    # Executions whose jobs are to be told what was asked of them (engine.executions.upkeep).
    unheard: set[UUID] = field(default_factory=set)
    # Parents that have ended and have children yet to be told (engine.jobs.notify_children).
    unnotified: set[UUID] = field(default_factory=set)
    # Parked for `lock`: at its end the transaction takes them into line (engine.locks.grant).
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


@dataclass(slots=True)
class Finished:
    """What a batch of settlements did."""

    ended: dict[UUID, str] = field(default_factory=dict)  # job -> its terminal state
    requeued: list[Record] = field(default_factory=list)  # id, run_at, queue, priority
    ready: list[Record] = field(default_factory=list)  # children now due: queue, priority, run_at
    awaited: set[UUID] = field(default_factory=set)  # left to their receivers
    refused: set[UUID] = field(default_factory=set)  # the fence had moved on; nothing was changed
    # Had taken effect before, under the same fence and outcome: said again, or said by another.
    recognised: set[UUID] = field(default_factory=set)
    stopping: dict[UUID, UUID] = field(default_factory=dict)  # running job, asked to stop -> node
    # Of the executions they are steps of.
    progressed: Progressed = field(default_factory=Progressed)

    def add(self, other: Finished) -> None:
        self.ended |= other.ended
        self.requeued += other.requeued
        self.ready += other.ready
        self.awaited |= other.awaited
        self.refused |= other.refused
        self.recognised |= other.recognised
        self.stopping |= other.stopping
        self.progressed.add(other.progressed)
