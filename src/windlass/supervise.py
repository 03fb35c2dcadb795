"""One supervisor for all that a node does in the background: nothing there ends unseen.

    keep     a task that goes on for ever: when it fails it is logged, counted and begun again after
             a rest that grows, and until it lasts, `down` names it
    thread   the same for a thread
    spawn    an errand that nobody waits for: when it fails it is logged and counted; whoever needs
             it next begins another

A cancellation that nobody asked for, which comes out of some library, is a failure like any other:
it ends a task more silently than all the rest. Health asks `down` (see api.cluster.health).
A node's supervisor is the one of the event loop on which it lives: `supervisor()` finds it there.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import structlog

from windlass.clock import monotonic
from windlass.limits import (
    RESTART_SECONDS_MAX,
    RESTART_SECONDS_MIN,
    RESTART_STEADY_SECONDS,
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Down:
    """Something that should go on and does not."""

    reason: str
    is_vital: bool  # without it the node does nothing of what it is there for


class Supervisor:
    def __init__(self) -> None:
        self._down: dict[str, Down] = {}
        self.on_failure: Callable[[str], None] = lambda _name: None  # from any thread

    # -- what health asks ------------------------------------------------------------------------

    @property
    def down(self) -> list[str]:
        return sorted(self._down)

    @property
    def vital_down(self) -> list[str]:
        return sorted(name for name, down in list(self._down.items()) if down.is_vital)

    def is_down(self, name: str, reason: str, *, is_vital: bool = False) -> None:
        """`name` is down until `is_up` says otherwise. From any thread."""
        self._down[name] = Down(reason=reason, is_vital=is_vital)

    def is_up(self, name: str) -> None:
        self._down.pop(name, None)

    # -- keeping ---------------------------------------------------------------------------------

    def keep(
        self, name: str, work: Callable[[], Awaitable[None]], *, is_vital: bool = False
    ) -> asyncio.Task[None]:
        """A task that does `work` until that returns by itself or the task is cancelled."""
        return asyncio.create_task(self._keep(name, work, is_vital), name=name)

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]], is_vital: bool) -> None:
        task, restarts = asyncio.current_task(), Restarts()
        assert task is not None
        try:
            while True:
                recovered = self._is_up_soon(name, restarts)
                try:
                    return await work()
                except asyncio.CancelledError as stray:
                    if task.cancelling():
                        raise
                    rest = self._failed(name, stray, restarts, is_vital)
                except Exception as trouble:
                    rest = self._failed(name, trouble, restarts, is_vital)
                finally:
                    if recovered is not None:
                        recovered.cancel()
                await asyncio.sleep(rest)
        finally:
            if restarts.count:
                self.is_up(name)  # it is over, and nobody waits for it to come back

    def thread(self, name: str, work: Callable[[], None]) -> threading.Thread:
        """A thread, begun, that does `work` until that returns by itself."""
        thread = threading.Thread(target=self._keep_here, args=(name, work), name=name, daemon=True)
        thread.start()
        return thread

    def _keep_here(self, name: str, work: Callable[[], None]) -> None:
        restarts = Restarts()
        while True:
            try:
                work()
                break
            except BaseException as trouble:  # a thread is not ended by anybody else
                rest = self._failed(name, trouble, restarts, is_vital=False)
            time.sleep(rest)
        if restarts.count:
            self.is_up(name)

    def spawn(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._is_over)
        return task

    def _is_over(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (trouble := task.exception()) is not None:
            log.error("background_failed", task=task.get_name(), exc_info=trouble)
            self.on_failure(task.get_name())

    # -- what becomes of a failure ---------------------------------------------------------------

    def _failed(
        self, name: str, trouble: BaseException, restarts: Restarts, is_vital: bool
    ) -> float:
        """Returns how long to rest before it is begun again."""
        rest = restarts.next_seconds()
        again = {"restarts": restarts.count, "rest_seconds": rest}
        log.error("background_ended", task=name, **again, exc_info=trouble)
        self.on_failure(name)
        self.is_down(name, describe(trouble), is_vital=is_vital)
        return rest

    def _is_up_soon(self, name: str, restarts: Restarts) -> asyncio.TimerHandle | None:
        if not restarts.count:
            return None
        loop = asyncio.get_running_loop()
        return loop.call_later(RESTART_STEADY_SECONDS, self.is_up, name)


class Restarts:
    """How often in a row something had to be begun again, and the rest before the next time."""

    def __init__(self, *, most_seconds: float = RESTART_SECONDS_MAX) -> None:
        self.count = 0
        self._most_seconds = most_seconds
        self._began_at = monotonic()

    def next_seconds(self) -> float:
        if monotonic() - self._began_at > RESTART_STEADY_SECONDS:
            self.count = 0
        self.count += 1
        rest = growing(self.count, RESTART_SECONDS_MIN, self._most_seconds)
        self._began_at = monotonic() + rest
        return rest


def growing(failures: int, first: float, most: float) -> float:
    """The rest after so many failures in a row: doubled with each."""
    return float(min(first * 2.0 ** min(failures - 1, 30), most))


def describe(trouble: BaseException) -> str:
    text = str(trouble)
    return f"{type(trouble).__name__}: {text}" if text else type(trouble).__name__


_BY_LOOP: WeakKeyDictionary[asyncio.AbstractEventLoop, Supervisor] = WeakKeyDictionary()


def supervisor() -> Supervisor:
    """The one of the running event loop."""
    loop = asyncio.get_running_loop()
    found = _BY_LOOP.get(loop)
    if found is None:
        found = _BY_LOOP[loop] = Supervisor()
    return found


def is_node_loop(loop: asyncio.AbstractEventLoop) -> bool:
    """Does a node live there? Its tasks do not: they have threads and loops of their own."""
    return loop in _BY_LOOP
