"""Blocking callers' way to what is asynchronous: one event loop on one thread for the process.

    any thread -- run(coroutine) --> the portal's loop -- result or exception --> that thread

It works from inside a running loop too, which then stands still as it does for any blocking call.
A forked child has the memory of the portal but not its thread: it gets a portal of its own, and
leaves the old loop alone, whose epoll descriptor it shares with its parent.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from windlass.sdk.limits import CLOSE_SECONDS

T = TypeVar("T")


class Portal:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.last_words: set[asyncio.Task[None]] = set()  # get a moment when the process ends
        self.thread = threading.Thread(target=self._serve, name="windlass portal", daemon=True)
        self.thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self.thread:
            coroutine.close()
            raise RuntimeError("a blocking call on the loop that is to answer it; await instead")
        # The caller's context variables go with it: a trace, for example.
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def post(self, call: Callable[[], None]) -> None:
        """Have it called on the loop, soon. Nobody waits for it, or hears what it raises."""
        self.loop.call_soon_threadsafe(call)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(CLOSE_SECONDS)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(_said(self.last_words))
            # Transports hang their connections on the loop's generators.
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(_tidied())
        finally:
            self.loop.close()


async def _said(words: set[asyncio.Task[None]]) -> None:
    """A program that commits and ends has a moment for the hint; see sdk.tasks.commit_hints."""
    if words:
        await asyncio.wait(set(words), timeout=CLOSE_SECONDS / 4)


async def _tidied() -> None:
    """What is still under way ends, or is told to: a client that nobody holds any more closes its
    connections by itself, which may have begun a moment ago.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if not others:
        return
    _, left = await asyncio.wait(others, timeout=CLOSE_SECONDS / 2)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=CLOSE_SECONDS / 8)


class _Holder:
    """Where the process keeps its portal."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.portal: Portal | None = None
        self.lost: list[Portal | None] = []  # of the parents; kept, so that nothing closes them

    def get(self) -> Portal:
        with self.lock:
            if self.portal is None:
                self.portal = Portal()
            return self.portal

    def forget(self) -> None:
        # The lock may have been held by a thread that this process does not have.
        self.lock = threading.Lock()
        self.lost.append(self.portal)
        self.portal = None

    def close(self) -> None:
        with self.lock:
            portal, self.portal = self.portal, None
        if portal is not None:
            portal.close()


_holder = _Holder()
os.register_at_fork(after_in_child=_holder.forget)
atexit.register(_holder.close)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns or raises; the calling thread waits for it."""
    return _holder.get().run(coroutine)


def get() -> Portal:
    """That of this process, made if need be."""
    return _holder.get()
