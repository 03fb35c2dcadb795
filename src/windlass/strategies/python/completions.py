"""The completion queue: how calls that were made elsewhere end on the node's loop, many at a time.

A thread that says of each end that it has come wakes the loop each time, and the two then take the
interpreter from each other for every call. Here it says so once; whatever else ends until the loop
has its turn is there by then.

    a thread, or the users' loop                       the node's loop
    put(call 1) put(call 2) put(call 3) ..  one wake-up  ..>  1, 2 and 3 have ended
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Protocol

# Hears, on the node's loop, what a call returned or raised.
OnEnd = Callable[[Any, BaseException | None], None]


def _unheard(_value: Any, _raised: BaseException | None) -> None:
    pass


class Call:
    """What somebody waits for on the node's loop, and somebody else does."""

    __slots__ = ("_on_end", "is_over")

    def __init__(self, on_end: OnEnd) -> None:
        self._on_end = on_end
        self.is_over = False  # it has been told, or nobody wants to know any more

    def tell(self, value: Any, raised: BaseException | None) -> None:
        on_end = self._on_end
        self.forget()
        on_end(value, raised)

    def forget(self) -> None:
        """From now on nobody hears of its end."""
        self.is_over = True
        self._on_end = _unheard  # whoever it was knows us: nothing is to wait for the collector


class Stoppable(Protocol):
    def stop(self) -> bool:
        """Nobody is told of its end any more. False: somebody was."""


class Completions:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # What is told runs in the node's context, not in that of the task that happened to end.
        self._context = copy_context()
        self._ended: deque[tuple[Call, Any, BaseException | None]] = deque()
        self._is_told = False  # the loop knows that there is something

    def put(self, call: Call, value: Any, raised: BaseException | None) -> None:
        """From any thread: this call gave a value, or raised."""
        self._ended.append((call, value, raised))
        self.tell()

    def put_untold(self, call: Call, value: Any, raised: BaseException | None) -> None:
        """The same, by who puts more of them and calls `tell` after the last."""
        self._ended.append((call, value, raised))

    def tell(self) -> None:
        """From any thread: let the loop look."""
        # In this order: whoever finds that the loop was told has left its end before the loop
        # takes that back, and so before it looks. That two tell it does no harm.
        if not self._is_told:
            self._is_told = True
            try:
                self._loop.call_soon_threadsafe(self._take, context=self._context)
            except RuntimeError:
                pass  # the node's loop is closed; nobody waits any more

    def take(self) -> None:
        """On the loop: hear of what has ended up to now, told or not."""
        if self._ended:
            self._take()

    def _take(self) -> None:
        self._is_told = False
        try:
            # No more than there are now: who hears of an end may begin what ends while we are here.
            for _ in range(len(self._ended)):
                if not self._ended:
                    break  # who heard of an end has taken the others
                call, value, raised = self._ended.popleft()
                call.tell(value, raised)
        finally:
            if self._ended and not self._is_told:
                self._is_told = True
                self._loop.call_soon(self._take, context=self._context)


def harmless(raised: BaseException) -> Exception:
    """SystemExit and the like end the task, not the node; a future takes no StopIteration."""
    if isinstance(raised, Exception) and not isinstance(raised, StopIteration):
        return raised
    return RuntimeError(f"the task raised {type(raised).__name__}: {raised}")
