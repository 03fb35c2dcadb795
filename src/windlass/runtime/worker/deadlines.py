"""Timeouts of attempts, most of which end long before; and attempts whose work runs off the loop.

A timer of the loop costs as much as a short task. So a deadline gets one only if its attempt still
runs after a while; until then it stands in a list that a single timer looks through.

    set  set  set  set ..  one look after DEADLINE_LOOK_SECONDS  ..>  timers for those still there

An `OffloadedAttempt` needs no task of the node's loop: a thread or the users' loop does its work,
and it ends when that says so or when its time is up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.limits import DEADLINE_LOOK_SECONDS
from windlass.model.job.outcome import Outcome, TimedOut
from windlass.strategies.strategy import Work


class Deadlines:
    """Belongs to the loop that it is first used on."""

    def __init__(self) -> None:
        self._fresh: list[Deadline] = []  # none of them has a timer

    def after(
        self, loop: asyncio.AbstractEventLoop, seconds: float, stop: Callable[[], object]
    ) -> Deadline:
        """Call `stop` after so long, unless it is cancelled before."""
        deadline = Deadline(loop.time() + seconds, stop)
        if seconds <= DEADLINE_LOOK_SECONDS:
            deadline.timer = loop.call_at(deadline.at, stop)
            return deadline
        if not self._fresh:
            loop.call_later(DEADLINE_LOOK_SECONDS, self._look, loop)
        self._fresh.append(deadline)
        return deadline

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        fresh, self._fresh = self._fresh, []
        for deadline in fresh:
            if not deadline.is_over:
                deadline.timer = loop.call_at(deadline.at, deadline.stop)


class Deadline:
    __slots__ = ("at", "is_over", "stop", "timer")

    def __init__(self, at: float, stop: Callable[[], object]) -> None:
        self.at = at  # by the loop's clock
        self.stop = stop
        self.timer: asyncio.TimerHandle | None = None  # None: it has none yet
        self.is_over = False

    def cancel(self) -> None:
        self.is_over = True
        self.stop = _nothing  # it stays in the list for a while, and holds nobody there
        if self.timer is not None:
            self.timer.cancel()


class OffloadedAttempt:
    """An attempt whose work is done elsewhere, under a deadline.

    It drops its work when it is over: the two know each other, and would wait for the collector.
    """

    __slots__ = ("_deadline", "_on_end", "_seconds", "_work")
    _work: Work
    _seconds: float
    _deadline: Deadline

    def __init__(self, on_end: Callable[[Outcome], None]) -> None:
        self._on_end = on_end

    def go_on(self, work: Work, seconds: float, deadlines: Deadlines) -> None:
        self._work, self._seconds = work, seconds
        self._deadline = deadlines.after(asyncio.get_running_loop(), seconds, self._stop_late)

    def end(self, outcome: Outcome) -> None:
        self._deadline.cancel()
        del self._work
        self._on_end(outcome)

    def stop(self) -> bool:
        """Its end is not told any more. False: it has ended, and its outcome comes."""
        is_stopped = self._work.stop()
        if is_stopped:
            self._deadline.cancel()
            del self._work
        return is_stopped

    def _stop_late(self) -> None:
        if self.stop():
            self._on_end(TimedOut(self._seconds))


def _nothing() -> None:
    pass
