"""An attempt that runs without a task of the node's loop, until it ends or its time is up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.model.job.outcome import Outcome, TimedOut
from windlass.runtime.worker.deadlines import Deadline, Deadlines
from windlass.strategies.strategy import Work


class Begun:
    """It lets go of its work when it is over: the two know each other, and would wait for the
    collector.
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
