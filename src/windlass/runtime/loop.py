"""The one background loop: tick, rest, wake, stop, and what an error means.

A tick returns how many seconds to rest. An error is logged and rested on, never fatal: a duty that
stops silently is the failure this project exists to prevent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from windlass.errors import Unavailable

log = structlog.get_logger()

ERROR_REST_SECONDS: Final = 1.0


class Loop:
    def __init__(self, name: str, tick: Callable[[], Awaitable[float]]) -> None:
        self.name = name
        self._tick = tick
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=self.name)

    def wake(self) -> None:
        """Do not rest now."""
        self._awake.set()

    async def stop(self) -> None:
        """Let the tick in progress end, then stop."""
        self._stopping = True
        self.wake()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    def abort(self) -> None:
        self._stopping = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while not self._stopping:
            self._awake.clear()
            rest = await self._guarded_tick()
            if rest <= 0:
                await asyncio.sleep(0)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._awake.wait()

    async def _guarded_tick(self) -> float:
        try:
            return await self._tick()
        except Unavailable as trouble:
            log.warning("loop_waits", loop=self.name, reason=str(trouble))
        except Exception:
            log.exception("loop_failed", loop=self.name)
        return ERROR_REST_SECONDS
