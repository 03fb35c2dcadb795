"""The duty that sees to what time brings about at locks (engine.locks.look).

It rests until the next instant that is known here: from what this process did, and from the look
that goes along with every rescue. Where nobody holds or waits for a lock it does nothing at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from windlass.clock import monotonic
from windlass.engine.lock_passed import Passed
from windlass.engine.locks.look import look
from windlass.runtime.loop import Loop
from windlass.store.database import Database

REST_SECONDS_MAX: Final = 3600.0


class LockKeeper(Loop):
    def __init__(self, database: Database, tell: Callable[[Passed], None]) -> None:
        super().__init__("locks", self._look)
        self._database = database
        self._tell = tell
        self._due_at = math.inf  # by the monotonic clock

    def due_in(self, seconds: float) -> None:
        """Somebody has to look by then."""
        at = monotonic() + seconds
        if at < self._due_at:
            self._due_at = at
            self.wake()

    async def _look(self) -> float:
        if self._due_at <= monotonic():
            self._due_at = math.inf  # what comes to be known meanwhile counts
            try:
                passed = await look(self._database)
            except BaseException:
                self.due_in(0)
                raise
            if passed.look_seconds is not None:
                self.due_in(passed.look_seconds)
            self._tell(passed)
        return min(max(0.0, self._due_at - monotonic()), REST_SECONDS_MAX)
