"""What came of ending jobs: for wake-ups, waiting callers, and what is done after the commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from windlass.engine.progressed import Progressed
from windlass.store.database import Record


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
    progressed: Progressed = field(
        default_factory=Progressed
    )  # of the executions they are steps of

    def add(self, other: Finished) -> None:
        self.ended |= other.ended
        self.requeued += other.requeued
        self.ready += other.ready
        self.awaited |= other.awaited
        self.refused |= other.refused
        self.recognised |= other.recognised
        self.stopping |= other.stopping
        self.progressed.add(other.progressed)
