"""Async tasks on an event loop of their own, in a thread of its own.

Users' coroutines may block by mistake. Then their loop stands still, and only theirs: when a
cancelled coroutine does not answer, the loop is given up, and the tasks that have not begun on it
and those that come later get a fresh one.

Calls go over many at a time, with one wake-up, and their ends come back likewise (see completions):
what ends in one turn of the users' loop is told at the end of that turn. Told at once, the node's
thread would take the interpreter at the first occasion (a write, a query), hear of one end, and
hand over one call. A coroutine that blocks so keeps the ends before it from being told; so the node
looks for itself now and then while calls are under way, and before it stops one: an end is neither
late by a neighbour's block nor taken for a timeout.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import uvloop

from windlass.strategies.python.completions import Call, Completions, OnEnd, harmless

PATIENCE_SECONDS: Final = 1.0
# How long an end may be kept from being told by a neighbour that blocks.
UNTOLD_SECONDS: Final = 0.2


class LoopCall(Call):
    """A call and, once it has begun, its task on the users' loop."""

    __slots__ = ("_owner", "has_begun", "loop_task", "loop_thread")

    def __init__(self, owner: UserLoop, on_end: OnEnd) -> None:
        # Not by super: one is made for each attempt.
        self._on_end = on_end
        self.is_over = False
        self._owner = owner
        # None: it is not on a loop yet.
        self.loop_thread: _Running | None = None
        self.loop_task: asyncio.Task[None] | None = None
        self.has_begun = False  # its task has had a turn

    def perform(self) -> Awaitable[Any]:
        """On the users' loop: what is to be awaited there."""
        raise NotImplementedError

    def stop(self) -> bool:
        """False: it has ended, and whoever waits has just been told how."""
        self._owner.take_ends()
        if self.is_over:
            return False
        self.forget()
        self._owner.stop(self)
        return True

    def cancel(self) -> None:
        """On the users' loop. One that has not begun never will: it is over."""
        if self.loop_task is not None:
            self.loop_task.cancel()


class _FunctionCall(LoopCall):
    __slots__ = ("_args", "_function", "_kwargs")

    def __init__(
        self,
        owner: UserLoop,
        function: Callable[..., Any],
        args: list[Any],
        kwargs: dict[str, Any],
        on_end: OnEnd,
    ) -> None:
        super().__init__(owner, on_end)
        self._function, self._args, self._kwargs = function, args, kwargs

    def perform(self) -> Awaitable[Any]:
        awaited: Awaitable[Any] = self._function(*self._args, **self._kwargs)
        return awaited


class _Running:
    """One loop in its thread, and what is handed over to it."""

    def __init__(self, node_loop: asyncio.AbstractEventLoop, completions: Completions) -> None:
        self._node_loop = node_loop
        self._completions = completions
        self._waiting: deque[LoopCall] = deque()
        self._is_told = False  # the loop knows that something waits
        self._under_way = 0
        self._is_turn_told = False  # the node hears of the ends of this turn after it
        self._is_given_up = False
        self.loop = uvloop.new_event_loop()
        threading.Thread(target=self._run, daemon=True, name="windlass async tasks").start()

    def hand_over(self, call: LoopCall) -> None:
        self._waiting.append(call)
        if not self._is_told:  # in this order, as in Completions
            self._is_told = True
            # When the node's loop has done its turn, and lets go of the interpreter: woken before
            # that, the other thread would only wait for it, and have to be woken again.
            self._node_loop.call_soon(self._tell)

    def _tell(self) -> None:
        with suppress(RuntimeError):  # it has been closed
            self.loop.call_soon_threadsafe(self._begin)

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way or self._waiting or self._is_told)

    def give_up(self) -> list[LoopCall]:
        """What has begun goes on, should the loop ever move again; returns what has not."""
        left = []
        while (call := self._next()) is not None:
            left.append(call)
        self._is_given_up = True
        self.loop.call_soon_threadsafe(self._stop_if_done)
        return left

    def _next(self) -> LoopCall | None:
        """From either thread: a loop that moves again while it is given up takes some, too."""
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    # -- on its thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    def _begin(self) -> None:
        self._is_told = False
        begun = []
        while (call := self._next()) is not None:
            if not call.is_over:
                call.loop_thread = self
                call.loop_task = self.loop.create_task(self._perform(call))
                begun.append(call)
        self._under_way += len(begun)
        # Its turn comes after the first turn of each of them.
        self.loop.call_soon(self._see_who_never_began, begun)

    async def _perform(self, call: LoopCall) -> None:
        """What it returns or raises is told from here, and not when its task is done: that would be
        a turn of the loop later, for which this thread must have the interpreter again.
        """
        call.has_begun = True
        try:
            value = await call.perform()
        except asyncio.CancelledError:
            # If by us, nobody waits any more; else the user's own code was cancelled from inside.
            self._ended(call, None, RuntimeError("the task cancelled itself"))
            raise
        except BaseException as raised:  # SystemExit would end the loop and every other task on it
            self._ended(call, None, harmless(raised))
        else:
            self._ended(call, value, None)

    def _see_who_never_began(self, calls: list[LoopCall]) -> None:
        """A task that is cancelled before its first turn runs nothing that could tell of it."""
        for call in calls:
            if not call.has_begun:
                self._ended(call, None, RuntimeError("the task cancelled itself"))

    def _ended(self, call: LoopCall, value: Any, raised: BaseException | None) -> None:
        self._completions.put_untold(call, value, raised)
        self._under_way -= 1
        if not self._under_way:
            self._completions.tell()
        elif not self._is_turn_told:
            self._is_turn_told = True
            self.loop.call_soon(self._tell_ends)
        if self._is_given_up:
            self._stop_if_done()

    def _tell_ends(self) -> None:
        """After the turn of each that was to have one."""
        self._is_turn_told = False
        self._completions.tell()

    def _stop_if_done(self) -> None:
        if not self._under_way:
            self.loop.stop()


class UserLoop:
    """Belongs to the loop that first calls it, as Threads does."""

    def __init__(self) -> None:
        self._completions: Completions | None = None  # None: not called yet
        self._running: _Running | None = None
        self._given_up: list[_Running] = []  # of which something may yet end
        self._is_looking = False  # for ends that were not told

    def start(
        self,
        function: Callable[..., Any],
        args: list[Any],
        kwargs: dict[str, Any],
        on_end: OnEnd,
    ) -> LoopCall:
        """`on_end` hears its end in a later turn of the loop, unless the call is stopped before."""
        call = _FunctionCall(self, function, args, kwargs, on_end)
        self.begin(call)
        return call

    def begin(self, call: LoopCall) -> None:
        running = self._running or self._start(asyncio.get_running_loop())
        running.hand_over(call)
        if not self._is_looking:
            self._is_looking = True
            asyncio.get_running_loop().call_later(UNTOLD_SECONDS, self._look)

    def _look(self) -> None:
        self._given_up = [running for running in self._given_up if running.is_busy]
        self._is_looking = bool(self._given_up) or bool(self._running and self._running.is_busy)
        if self._is_looking:  # before the ends are heard, of which one may raise
            asyncio.get_running_loop().call_later(UNTOLD_SECONDS, self._look)
        self.take_ends()

    def take_ends(self) -> None:
        """Hear of what has ended up to now."""
        if self._completions is not None:
            self._completions.take()

    def close(self) -> None:
        if self._running is not None:
            self._running.loop.call_soon_threadsafe(self._running.loop.stop)
            self._running = None

    def _start(self, loop: asyncio.AbstractEventLoop) -> _Running:
        if self._completions is None:
            self._completions = Completions(loop)
        self._running = _Running(loop, self._completions)
        return self._running

    def stop(self, call: LoopCall) -> None:
        """Cancel it, and look after a while whether its loop has heard that."""
        running = call.loop_thread or self._running
        if running is None:
            return  # closed: there is nothing left to cancel
        loop = asyncio.get_running_loop()
        answered = threading.Event()

        def cancel() -> None:
            answered.set()
            call.cancel()

        def look() -> None:
            if not answered.is_set() and self._running is running:
                fresh = self._start(loop)
                self._given_up.append(running)
                for waiting in running.give_up():
                    fresh.hand_over(waiting)

        with suppress(RuntimeError):  # it has been closed
            running.loop.call_soon_threadsafe(cancel)
            loop.call_later(PATIENCE_SECONDS, look)
