"""How calls that were made elsewhere end on the node's loop: many at a time.

A thread that says of each end that it has come wakes the loop each time, and the two then take the
interpreter from each other for every call. Here it says so once; whatever else ends until the loop
has its turn is there by then.

    a thread, or the users' loop                       the node's loop
    put(call 1) put(call 2) put(call 3) ..  one wake-up  ..>  1, 2 and 3 have ended
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any


class Call:
    """What somebody waits for on the node's loop, and somebody else does."""

    __slots__ = ("future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: asyncio.Future[Any] = loop.create_future()


class Ends:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ended: deque[tuple[Call, Any, BaseException | None]] = deque()
        self._is_told = False  # the loop knows that there is something

    def put(self, call: Call, value: Any, raised: BaseException | None) -> None:
        """From any thread: this call gave a value, or raised."""
        self._ended.append((call, value, raised))
        # In this order: whoever finds that the loop was told has left its end before the loop
        # takes that back, and so before it looks. That two tell it does no harm.
        if not self._is_told:
            self._is_told = True
            try:
                self._loop.call_soon_threadsafe(self._take)
            except RuntimeError:
                pass  # the node's loop is closed; nobody waits any more

    def _take(self) -> None:
        self._is_told = False
        while self._ended:
            call, value, raised = self._ended.popleft()
            if call.future.done():
                continue  # stopped meanwhile
            if raised is None:
                call.future.set_result(value)
            else:
                call.future.set_exception(raised)


def harmless(raised: BaseException) -> Exception:
    """SystemExit and the like end the task, not the node; a future takes no StopIteration."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return RuntimeError(f"the task raised {type(raised).__name__}: {raised}")
