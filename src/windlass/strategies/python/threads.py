"""A thread pool for sync tasks, whose threads can be stopped.

A thread cannot be killed, but an exception can be raised inside it: it takes effect at the next
Python instruction. A thread that sits in a C call beyond that is left behind (it is a daemon and is
counted); the slot is free again, because a new thread takes its place.

There are as many threads as calls that take their time. Waking one costs more than a short call, so
while calls are short (by what the last ones took) a call is left for a thread that is awake and
will be back at once, and one thread makes many calls in a row. Should that thread not come back so
soon, because this one call is not short, those that wait get threads of their own after a moment:

    calls are long    each call wakes a thread
    calls are short   1 2 3 4 wake one; it makes them all
    .. but 2 blocks   3 4 wait for WATCH_SECONDS, then each wakes a thread

A Threads belongs to the loop that first calls it.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context
from time import perf_counter
from typing import Any, Final

from windlass.strategies.python.completions import Call, Completions, OnEnd, harmless

IDLE_SECONDS: Final = 30.0
# Calls that take less are short. The average forgets by eighths, and one long call counts no more
# than LONG_SECONDS: a pause of the interpreter must not look like a task that blocks.
SHORT_SECONDS, LONG_SECONDS, PACE_SHARE = 0.000_25, 0.001, 8
# Who waits for a thread that is awake waits no longer than this.
WATCH_SECONDS: Final = 0.001
assert SHORT_SECONDS < LONG_SECONDS <= WATCH_SECONDS


class TaskStopped(BaseException):
    """Raised inside a task whose time is up or that was cancelled."""


class _Call(Call):
    __slots__ = ("_args", "_completions", "_function", "_kwargs", "_lock", "_thread_id")

    def __init__(
        self,
        completions: Completions,
        function: Callable[..., Any],
        args: list[Any],
        kwargs: dict[str, Any],
        on_end: OnEnd,
    ) -> None:
        super().__init__(on_end)
        self._completions = completions
        self._function, self._args, self._kwargs = function, args, kwargs
        self._lock = threading.Lock()
        self._thread_id: int | None = None  # None: not begun, or over

    def run(self) -> None:
        with self._lock:
            if self.is_over:
                return
            self._thread_id = threading.get_ident()
        value: Any = None
        failure: BaseException | None = None
        try:
            # In a context of its own: what a task binds there (a field of its log lines) is not the
            # next one's, though the thread is the same.
            value = Context().run(self._function, *self._args, **self._kwargs)
        except BaseException as raised:
            failure = raised
        # A stop that comes now waits for the lock, or we for it. Then it is raised on leaving this
        # block, and so never in the call after this one.
        with self._lock:
            self._thread_id = None
        if failure is None:
            self._completions.put(self, value, None)
        elif not isinstance(failure, TaskStopped):
            self._completions.put(self, None, harmless(failure))

    def stop(self) -> bool:
        """Raise TaskStopped inside the thread, if it is still in this call."""
        self.forget()
        with self._lock:
            if self._thread_id is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread_id), ctypes.py_object(TaskStopped)
                )
        return True


class _Thread:
    """What the pool knows of one of its threads."""

    __slots__ = ("began_at", "is_coming", "wake_up")

    def __init__(self) -> None:
        self.began_at = perf_counter()  # its last call, or to wake up
        self.is_coming = True  # it will soon look for the next call
        self.wake_up = threading.Lock()  # it rests on it; whoever releases it wakes it
        self.wake_up.acquire()


class Threads:
    """As many threads as there are calls at once; resting ones are reused and go after a while."""

    def __init__(self) -> None:
        self._completions: Completions | None = None  # None: not called yet
        self._waiting: deque[_Call] = deque()
        self._lock = threading.Lock()  # for what follows
        self._threads: set[_Thread] = set()
        self._resting: list[_Thread] = []  # the last to rest is the first to wake: it is warm
        self._coming = 0  # how many will soon look for the next call
        self._is_closed = False
        # Estimates, written by any thread and by two at once: one may get lost.
        self._call_seconds = LONG_SECONDS
        self._begun = 0
        self._begun_when_watched = 0
        self._watch: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> int:
        return len(self._resting)

    def start(
        self,
        function: Callable[..., Any],
        args: list[Any],
        kwargs: dict[str, Any],
        on_end: OnEnd,
    ) -> _Call:
        """`on_end` hears its end in a later turn of the loop, unless the call is stopped before."""
        loop = asyncio.get_running_loop()
        if self._completions is None:
            self._completions = Completions(loop)
        call = _Call(self._completions, function, args, kwargs, on_end)
        self._waiting.append(call)
        with self._lock:
            is_awaited = self._coming > 0 and self._call_seconds < SHORT_SECONDS
        if is_awaited:
            self._watch_over(loop)
        else:
            self._wake_one_for(call)
        return call

    def keep(self, count: int) -> None:
        """Let idle threads beyond so many go."""
        with self._lock:
            spare = self._resting[: max(0, len(self._resting) - count)]
            del self._resting[: len(spare)]
            self._threads.difference_update(spare)
        for thread in spare:
            thread.wake_up.release()

    def close(self) -> None:
        self._is_closed = True
        self.keep(0)
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None

    # -- the node's loop -------------------------------------------------------------------------

    def _wake_one_for(self, call: _Call) -> None:
        try:
            self._wake_one()
        except RuntimeError:  # no thread is to be had
            if call in self._waiting:
                self._waiting.remove(call)  # nobody may find it later
                raise

    def _wake_one(self) -> None:
        with self._lock:
            thread = self._resting.pop() if self._resting else None
            is_new = thread is None
            if thread is None:
                thread = _Thread()
                self._threads.add(thread)
            thread.is_coming, thread.began_at = True, perf_counter()
            self._coming += 1
        if not is_new:
            thread.wake_up.release()
            return
        try:
            threading.Thread(
                target=self._work, args=(thread,), daemon=True, name="windlass task"
            ).start()
        except RuntimeError:
            with self._lock:
                self._threads.discard(thread)
                self._coming -= 1
            raise

    def _watch_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._watch is None and not self._is_closed:
            self._begun_when_watched = self._begun
            self._watch = loop.call_later(WATCH_SECONDS, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give threads to those who wait, unless at the pace since the last look all are served."""
        self._watch = None
        waiting = len(self._waiting)
        if not waiting:
            return
        self._give_up_the_late()
        for _ in range(waiting - (self._begun - self._begun_when_watched)):
            try:
                self._wake_one()
            except RuntimeError:
                break  # no thread is to be had; those there are will come, some time
        self._watch_over(loop)

    def _give_up_the_late(self) -> None:
        limit = perf_counter() - WATCH_SECONDS
        with self._lock:
            for thread in self._threads:
                if thread.is_coming and thread.began_at < limit:
                    thread.is_coming = False
                    self._coming -= 1

    # -- a thread --------------------------------------------------------------------------------

    def _work(self, me: _Thread) -> None:
        while not self._is_closed:
            try:
                call = self._waiting.popleft()
            except IndexError:
                if not self._rest(me):
                    return
                continue
            self._begun += 1
            me.began_at = began_at = perf_counter()
            try:
                call.run()
            except TaskStopped:
                pass  # raised a moment after its call had ended
            del call  # what it holds goes now, not when there is another
            if not me.is_coming:
                with self._lock:
                    me.is_coming = True
                    self._coming += 1
            seconds = min(perf_counter() - began_at, LONG_SECONDS)
            self._call_seconds += (seconds - self._call_seconds) / PACE_SHARE
        self._leave(me)

    def _rest(self, me: _Thread) -> bool:
        """Until there is something to do; False: there is not, and this thread is to end."""
        with self._lock:
            if self._waiting:
                return True
            if me.is_coming:
                me.is_coming = False
                self._coming -= 1
            self._resting.append(me)
        if not me.wake_up.acquire(timeout=IDLE_SECONDS):
            with self._lock:
                if me in self._resting:
                    self._resting.remove(me)
                    self._threads.discard(me)
                    return False
            me.wake_up.acquire()  # somebody is just waking us
        return me in self._threads

    def _leave(self, me: _Thread) -> None:
        with self._lock:
            self._threads.discard(me)
            if me.is_coming:
                me.is_coming = False
                self._coming -= 1
