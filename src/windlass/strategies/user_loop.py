"""Async tasks on an event loop of their own, in a thread of its own.

Users' coroutines may block by mistake. Then their loop stands still, and only theirs: when a
cancelled coroutine does not answer, the loop is given up and the next task gets a fresh one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final

PATIENCE_SECONDS: Final = 1.0


class UserLoop:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(
        self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        loop = self._loop or self._start()
        future = asyncio.run_coroutine_threadsafe(_guarded(function, args, kwargs), loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and not task.cancelling():
                # Nobody stopped us: the user's own code was cancelled from inside.
                raise RuntimeError("the task cancelled itself") from None
            future.cancel()
            self._give_up_if_stuck(loop)
            raise

    def close(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _start(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(
            target=_run_loop, args=(loop,), daemon=True, name="windlass async tasks"
        ).start()
        self._loop = loop
        return loop

    def _give_up_if_stuck(self, loop: asyncio.AbstractEventLoop) -> None:
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)

        def look() -> None:
            if not answered.is_set() and self._loop is loop:
                self._loop = None

        asyncio.get_running_loop().call_later(PATIENCE_SECONDS, look)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _guarded(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return await function(*args, **kwargs)
    except (SystemExit, KeyboardInterrupt) as raised:
        # They would end the loop and every other task on it.
        raise RuntimeError(f"the task raised {type(raised).__name__}: {raised}") from None
