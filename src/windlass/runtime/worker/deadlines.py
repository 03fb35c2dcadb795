"""Deadlines of attempts, most of which end long before.

A timer of the loop costs as much as a short task. So a deadline gets one only if its attempt still
runs after a while; until then it stands in a list that a single timer looks through.

    set  set  set  set ..  one look after DEADLINE_LOOK_SECONDS  ..>  timers for those still there
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from windlass.limits import DEADLINE_LOOK_SECONDS


def _nothing() -> None:
    pass


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
