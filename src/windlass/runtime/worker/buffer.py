"""The prefetch buffer: what a worker has claimed and not begun, and how far it claims ahead.

It claims ahead by a bounded amount that adapts: while claimed jobs begin at once the amount
doubles, when they have to wait it halves. So short jobs flow in large batches, and long ones are
left for other nodes to take. What waits here too long is to be handed back. What was rescued from
a lost node goes before everything else and is handed back much sooner: another node may have room.

A deque, and not an object around one: each job goes in and comes out at the price of a deque.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from uuid import UUID

from windlass.clock import monotonic
from windlass.limits import (
    CRASHES_SOLO,
    PREFETCH_HOLD_SECONDS,
    PREFETCH_MAX,
    PREFETCH_WAIT_SECONDS,
    RESCUED_HOLD_SECONDS,
)
from windlass.model.job.attempt import Attempt, Fence


class Buffer(deque[tuple[float, Attempt]]):
    """Since when each waits (monotonic), and the attempt."""

    def __init__(self, ahead: int) -> None:
        super().__init__()
        self.ahead = ahead  # to claim beyond the free slots
        self._has_targets = False  # does one of them, perhaps, call a target?

    @property
    def job_ids(self) -> set[UUID]:
        return {attempt.job_id for _, attempt in self}

    @property
    def fences(self) -> set[Fence]:
        return {attempt.fence for _, attempt in self}

    @property
    def has_suspect(self) -> bool:
        """Does a job on its last chance wait here?"""
        return any(attempt.crashes >= CRASHES_SOLO for _, attempt in self)

    def take_in(self, now: float, attempt: Attempt) -> None:
        if attempt.target is not None:
            self._has_targets = True
        if attempt.crashes:
            self.appendleft((now, attempt))
        else:
            self.append((now, attempt))

    # -- how far ahead ---------------------------------------------------------------------------

    def learn(self, now: float, *, was_too_little: bool) -> None:
        """From a claim that was taken in: `was_too_little` if slots could have had more of it."""
        if self and now - self._oldest > PREFETCH_WAIT_SECONDS:
            self.ahead //= 2
        elif was_too_little:
            self.ahead = min(max(self.ahead * 2, 1), PREFETCH_MAX)

    def shrink_to(self, workers: int) -> None:
        """What it learned of the pace is too much for fewer slots."""
        self.ahead = min(self.ahead, workers)

    # -- taking out what will not begin here -----------------------------------------------------

    def take_all(self) -> list[Attempt]:
        attempts = [attempt for _, attempt in self]
        self.clear()
        return attempts

    def take_job(self, job_id: UUID) -> Attempt | None:
        for entry in self:
            if entry[1].job_id == job_id:
                self.remove(entry)
                return entry[1]
        return None

    def take_stale(self) -> list[Attempt]:
        """What no slot took in time: more than this node should have claimed."""
        now = monotonic()
        if not self or not (self._is_stale(now, *self[0]) or self._oldest < _limit(now)):
            return []
        stale = [attempt for since, attempt in self if self._is_stale(now, since, attempt)]
        self._keep([entry for entry in self if not self._is_stale(now, *entry)])
        self.ahead = 0
        return stale

    @staticmethod
    def _is_stale(now: float, since: float, attempt: Attempt) -> bool:
        return since < (now - RESCUED_HOLD_SECONDS if attempt.crashes else _limit(now))

    @property
    def _oldest(self) -> float:
        """Since when the first waits that was not put in front of the others."""
        return next((since for since, attempt in self if not attempt.crashes), self[-1][0])

    def take_refused(
        self, why_not: Callable[[Attempt], str | None]
    ) -> tuple[list[Attempt], list[str]]:
        """What calls a target that has no room, and why not: others can use the slot."""
        refused: list[Attempt] = []
        reasons: list[str] = []
        if not self._has_targets:
            return refused, reasons
        self._has_targets = False
        stay: list[tuple[float, Attempt]] = []
        for entry in self:
            attempt = entry[1]
            reason = why_not(attempt) if attempt.target is not None else None
            if reason is None:
                self._has_targets |= attempt.target is not None
                stay.append(entry)
            else:
                refused.append(attempt)
                reasons.append(reason)
        if refused:
            self._keep(stay)
        return refused, reasons

    def _keep(self, entries: list[tuple[float, Attempt]]) -> None:
        self.clear()
        self.extend(entries)


def _limit(now: float) -> float:
    return now - PREFETCH_HOLD_SECONDS
