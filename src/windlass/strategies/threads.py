"""Sync tasks in threads that can be stopped.

A thread cannot be killed, but an exception can be raised inside it: it takes effect at the next
Python instruction. A thread that sits in a C call beyond that is left behind (it is a daemon and is
counted); the slot is free again, because a new thread takes its place.
"""

from __future__ import annotations

import asyncio
import ctypes
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

IDLE_SECONDS: Final = 30.0


class TaskStopped(BaseException):
    """Raised inside a task whose time is up or that was cancelled."""


class _Call:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        function: Callable[..., Any],
        args: list[Any],
        kwargs: dict[str, Any],
    ) -> None:
        self.loop = loop
        self.function, self.args, self.kwargs = function, args, kwargs
        self.future: asyncio.Future[Any] = loop.create_future()
        self.lock = threading.Lock()
        self.thread_id: int | None = None  # None: not begun, or over

    def run(self) -> None:
        with self.lock:
            if self.future.cancelled():
                return
            self.thread_id = threading.get_ident()
        try:
            value = self.function(*self.args, **self.kwargs)
        except BaseException as raised:
            self._end(None, raised)
        else:
            self._end(value, None)

    def _end(self, value: Any, raised: BaseException | None) -> None:
        with self.lock:
            self.thread_id = None
        if isinstance(raised, TaskStopped):
            return
        if raised is not None and (
            not isinstance(raised, Exception) or isinstance(raised, StopIteration)
        ):
            # SystemExit and the like end the task, not the node; a future takes no StopIteration.
            raised = RuntimeError(f"the task raised {type(raised).__name__}: {raised}")
        try:
            self.loop.call_soon_threadsafe(self._resolve, value, raised)
        except RuntimeError:
            pass  # the node's loop is closed; nobody waits any more

    def _resolve(self, value: Any, raised: BaseException | None) -> None:
        if self.future.done():
            return
        if raised is not None:
            self.future.set_exception(raised)
        else:
            self.future.set_result(value)

    def stop(self) -> None:
        """Raise TaskStopped inside the thread, if it is still in this call."""
        with self.lock:
            if self.thread_id is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self.thread_id), ctypes.py_object(TaskStopped)
                )


class Threads:
    """As many threads as there are calls; idle ones are reused and go after a while."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._idle = 0
        self._lock = threading.Lock()
        self._closed = False

    async def call(
        self, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
    ) -> Any:
        call = _Call(asyncio.get_running_loop(), function, args, kwargs)
        with self._lock:
            start_one = self._idle == 0
            if not start_one:
                self._idle -= 1
        if start_one:
            # First: when there is no thread to be had, nobody may find the call later.
            threading.Thread(target=self._work, daemon=True, name="windlass task").start()
        self._calls.put(call)
        try:
            return await call.future
        except asyncio.CancelledError:
            call.stop()
            raise

    def keep(self, count: int) -> None:
        """Let idle threads beyond so many go."""
        with self._lock:
            spare = max(0, self._idle - count)
            self._idle -= spare
        for _ in range(spare):
            self._calls.put(None)

    def close(self) -> None:
        self._closed = True
        with self._lock:
            idle = self._idle
        for _ in range(idle):
            self._calls.put(None)

    def _work(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if self._idle > 0:
                        self._idle -= 1
                        return
                continue  # a call is on its way to us
            except TaskStopped:
                continue  # raised a moment after its call had ended
            if call is None:
                return
            try:
                call.run()
            except TaskStopped:
                pass
            with self._lock:
                if self._closed:
                    return
                self._idle += 1
