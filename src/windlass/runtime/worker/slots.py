"""Slots: the places in which attempts run until they end or are stopped.

An attempt whose work is done elsewhere is only waited for (`begun`); any other has a task of the
node's loop that performs it. Either way it leaves its place once, and its end is told once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal
from uuid import UUID

from windlass.clock import monotonic
from windlass.limits import CRASHES_SOLO
from windlass.model.job.attempt import Attempt, Fence
from windlass.model.job.outcome import Cancelled, Failed, Outcome, Snoozed
from windlass.runtime.worker.deadlines import Begun
from windlass.runtime.worker.kinds import Kinds

# Hears of an attempt that ended: its outcome, and when it began (monotonic).
OnEnd = Callable[[Attempt, Outcome, float], None]
Stop = Literal["cancelled", "handed_back", "abandoned"]


class Running:
    """An attempt in its slot."""

    __slots__ = ("attempt", "began_at", "begun", "has_begun", "stop", "task")

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.began_at = monotonic()
        self.begun: Begun | None = None
        self.task: asyncio.Task[None] | None = None
        self.has_begun = False  # False: its task has not had its first turn
        self.stop: Stop | None = None  # why it was stopped; None: it was not


class Slots:
    def __init__(self, kinds: Kinds, count: int, on_end: OnEnd) -> None:
        self._kinds = kinds
        self._on_end = on_end
        self._running: dict[UUID, Running] = {}
        self._left = asyncio.Event()  # a place has become free
        self.count = count

    @property
    def busy(self) -> int:
        return len(self._running)

    @property
    def free(self) -> int:
        return max(0, self.count - len(self._running))

    @property
    def job_ids(self) -> set[UUID]:
        return set(self._running)

    @property
    def fences(self) -> set[Fence]:
        return {running.attempt.fence for running in self._running.values()}

    @property
    def has_suspect(self) -> bool:
        """Is a job on its last chance running here?"""
        return any(r.attempt.crashes >= CRASHES_SOLO for r in self._running.values())

    def begin(self, attempt: Attempt) -> None:
        running = self._running[attempt.job_id] = Running(attempt)
        running.begun = self._kinds.begin(attempt, partial(self._leave, running))
        if running.begun is None:
            # The cheaper way.
            running.task = asyncio.get_running_loop().create_task(self._perform(running))

    def cancel(self, job_id: UUID) -> None:
        """Stop an attempt because somebody asked for it."""
        running = self._running.get(job_id)
        if running is not None and running.stop is None:
            self._stop(running, "cancelled")

    def resize(self, count: int) -> None:
        """From now on so many places; what runs beyond them goes on to its end."""
        self.count = count

    def hand_back(self, keep: int = 0) -> int:
        """Stop what still runs at the end of a drain; it goes on elsewhere and spends no try.

        The `keep` that have run longest are left alone. Returns how many were stopped.
        """
        stopped = [r for r in list(self._running.values())[keep:] if r.stop is None]
        for running in stopped:
            self._stop(running, "handed_back")
        return len(stopped)

    def abandon(self) -> None:
        """Stop everything at once and say nothing: this node's word counts no more."""
        for running in list(self._running.values()):
            self._stop(running, "abandoned")

    async def empty(self, seconds: float) -> int:
        """Let what runs end, for so long; returns how many still run."""
        return await self.fall_to(0, seconds)

    async def fall_to(self, count: int, seconds: float) -> int:
        """Let what runs end until no more than `count` run, for so long; returns how many run."""
        try:
            async with asyncio.timeout(seconds):
                while len(self._running) > count:
                    self._left.clear()
                    await self._left.wait()
        except TimeoutError:
            pass
        return len(self._running)

    # -- one attempt -----------------------------------------------------------------------------

    def _stop(self, running: Running, why: Stop) -> None:
        running.stop = why
        if running.begun is not None:
            is_stopped = running.begun.stop()
        else:
            assert running.task is not None
            running.task.cancel()
            # A task cancelled before its first turn never runs: nobody else would settle this.
            is_stopped = not running.has_begun
        if is_stopped:
            self._leave(running, _outcome_of(why))

    async def _perform(self, running: Running) -> None:
        running.has_begun = True
        try:
            outcome: Outcome = await self._kinds.perform_until_deadline(running.attempt)
        except asyncio.CancelledError:
            outcome = _outcome_of(running.stop)
        self._leave(running, outcome)

    def _leave(self, running: Running, outcome: Outcome) -> None:
        attempt = running.attempt
        if self._running.get(attempt.job_id) is running:
            del self._running[attempt.job_id]
        running.begun = None  # which knows us: nothing is to wait for the collector
        self._left.set()
        if running.stop != "abandoned":
            self._on_end(attempt, outcome, running.began_at)
        elif attempt.own is not None:
            attempt.own.abort()  # nobody settles it


def _outcome_of(stop: Stop | None) -> Outcome:
    """What became of an attempt that was stopped, or that stopped itself."""
    match stop:
        case "cancelled":
            return Cancelled()
        case "handed_back" | "abandoned":
            return Snoozed(0.0)
        case None:
            return Failed("CancelledError", "the work was cancelled from inside")
