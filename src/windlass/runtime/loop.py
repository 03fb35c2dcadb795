"""The one background loop: tick, rest, wake, stop, and what an error means.

A tick returns how many seconds to rest. An error is logged and rested on, never fatal: a duty that
stops silently is the failure this project exists to prevent, so the loop itself is kept alive as
well (see supervise).
After a failure it rests, longer with each in a row. Whoever wakes it cuts that short, but never
below a floor that grows too: a tick that fails and wakes itself would go round as fast as it can.

    fails     1st    2nd    3rd    4th …
    rest      1 s    2 s    4 s    4 s      (up to 30 s where the fault is in us)
    floor   0.1 s  0.2 s  0.4 s  0.8 s
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import structlog

from windlass.errors import Unavailable
from windlass.limits import (
    LOOP_AWAY_SECONDS_MAX,
    LOOP_FAILED_SECONDS_MAX,
    LOOP_FAILURES_NAMED,
    LOOP_FLOOR_SECONDS,
    LOOP_REST_SECONDS,
)
from windlass.supervise import describe, growing, supervisor

log = structlog.get_logger()


class Loop:
    def __init__(
        self, name: str, tick: Callable[[], Awaitable[float]], *, is_vital: bool = False
    ) -> None:
        self.name = name
        self._tick = tick
        self._is_vital = is_vital  # a node whose loop is down is not ready
        self._awake = asyncio.Event()
        self._stopped = asyncio.Event()
        self.has_ticked = asyncio.Event()  # once, well or not
        self._task: asyncio.Task[None] | None = None
        self._failures = 0  # in a row
        self._is_named = False  # health knows

    def start(self) -> None:
        self._task = supervisor().keep(self.name, self._run, is_vital=self._is_vital)

    def wake(self) -> None:
        """Do not rest now."""
        self._awake.set()

    async def stop(self) -> None:
        """Let the tick in progress end, then stop."""
        self._stopped.set()
        self.wake()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def abort(self) -> None:
        """Stop in the middle of a tick. Its last lines may take a moment: see `ended`."""
        self._stopped.set()
        self.wake()  # a tick that a library kept from being cancelled is the last, too
        if self._task is not None:
            self._task.cancel()

    async def ended(self, within_seconds: float) -> None:
        """Wait until it is over, for so long."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=within_seconds)

    @property
    def is_over(self) -> bool:
        return self._task is None or self._task.done()

    async def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._awake.clear()
                rest = await self._guarded_tick()
                self.has_ticked.set()
                if self._failures:
                    floor = growing(self._failures, LOOP_FLOOR_SECONDS, rest)
                    await _wait(self._stopped, floor)
                    rest -= floor
                if rest <= 0:
                    await asyncio.sleep(0)
                    continue
                await _wait(self._awake, rest)
        finally:
            self._well()

    async def _guarded_tick(self) -> float:
        try:
            rest = await self._tick()
        except Unavailable as trouble:
            log.warning("loop_waits", loop=self.name, reason=str(trouble))
            return self._failed(LOOP_AWAY_SECONDS_MAX)
        except Exception as trouble:
            log.exception("loop_failed", loop=self.name)
            supervisor().on_failure(self.name)
            rest = self._failed(LOOP_FAILED_SECONDS_MAX)
            if self._failures >= LOOP_FAILURES_NAMED:
                self._is_named = True
                supervisor().is_down(self.name, describe(trouble), is_vital=self._is_vital)
            return rest
        if self._failures:
            self._failures = 0
            self._well()
        return rest

    def _failed(self, most_seconds: float) -> float:
        self._failures += 1
        return growing(self._failures, LOOP_REST_SECONDS, most_seconds)

    def _well(self) -> None:
        if self._is_named:
            self._is_named = False
            supervisor().is_up(self.name)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Until `event`, or so long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
