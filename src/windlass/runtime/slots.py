"""Slots: the places in which attempts run, each in a task that can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from windlass.clock import monotonic
from windlass.limits import CRASHES_SOLO
from windlass.model.attempt import Attempt
from windlass.model.outcome import Cancelled, Failed, Outcome, Snoozed
from windlass.runtime.kinds import Kinds

# Hears of an attempt that ended: its outcome, and when it began (monotonic).
OnEnd = Callable[[Attempt, Outcome, float], None]


@dataclass(slots=True)
class Running:
    """An attempt in its slot. `stop` says why its task was cancelled; None: it was not."""

    attempt: Attempt
    task: asyncio.Task[None]
    stop: Literal["cancelled", "handed_back", "abandoned"] | None = None
    has_begun: bool = False  # False: its task has not had its first turn


class Slots:
    def __init__(self, kinds: Kinds, count: int, on_end: OnEnd) -> None:
        self._kinds = kinds
        self._on_end = on_end
        self._running: dict[UUID, Running] = {}
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
    def has_suspect(self) -> bool:
        """Is a job on its last chance running here?"""
        return any(r.attempt.crashes >= CRASHES_SOLO for r in self._running.values())

    def begin(self, attempt: Attempt) -> None:
        task = asyncio.get_running_loop().create_task(self._run(attempt))  # the cheaper way
        self._running[attempt.job_id] = Running(attempt=attempt, task=task)

    def cancel(self, job_id: UUID) -> None:
        """Stop an attempt because somebody asked for it."""
        running = self._running.get(job_id)
        if running is None or running.stop is not None:
            return
        running.stop = "cancelled"
        running.task.cancel()
        if not running.has_begun:
            # A task cancelled before its first turn never runs: nobody else would settle this.
            del self._running[job_id]
            self._on_end(running.attempt, Cancelled(), monotonic())

    def resize(self, count: int) -> None:
        """From now on so many places; what runs beyond them goes on to its end."""
        self.count = count

    def hand_back(self, keep: int = 0) -> int:
        """Stop what still runs at the end of a drain; it goes on elsewhere and spends no try.

        The `keep` that have run longest are left alone. Returns how many were stopped.
        """
        stopped = [r for r in list(self._running.values())[keep:] if r.stop is None]
        for running in stopped:
            running.stop = "handed_back"
            running.task.cancel()
            if not running.has_begun:  # as in `cancel`
                del self._running[running.attempt.job_id]
                self._on_end(running.attempt, Snoozed(0.0), monotonic())
        return len(stopped)

    def abandon(self) -> None:
        """Stop everything at once and say nothing: this node's word counts no more."""
        for running in self._running.values():
            running.stop = "abandoned"
            running.task.cancel()

    async def empty(self, seconds: float) -> int:
        """Let what runs end, for so long; returns how many still run."""
        tasks = [running.task for running in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        return len(self._running)

    async def fall_to(self, count: int, seconds: float) -> int:
        """Let what runs end until no more than `count` run, for so long; returns how many run."""
        until = monotonic() + seconds
        while len(self._running) > count and (left := until - monotonic()) > 0:
            tasks = [running.task for running in self._running.values()]
            await asyncio.wait(tasks, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        return len(self._running)

    async def _run(self, attempt: Attempt) -> None:
        begun = monotonic()
        running = self._running[attempt.job_id]
        running.has_begun = True
        try:
            outcome: Outcome = await self._kinds.perform_until_deadline(attempt)
        except asyncio.CancelledError:
            if running.stop == "cancelled":
                outcome = Cancelled()
            elif running.stop == "handed_back":
                outcome = Snoozed(0.0)
            elif running.stop == "abandoned":
                return
            else:
                outcome = Failed("CancelledError", "the work was cancelled from inside")
        finally:
            self._running.pop(attempt.job_id, None)
            if running.stop == "abandoned" and attempt.own is not None:
                attempt.own.abort()  # nobody settles it
        if running.stop != "abandoned":
            self._on_end(attempt, outcome, begun)
