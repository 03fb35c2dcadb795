"""Backpressure for large bodies: a budget of bytes that a node has in hand at once.

Owns: the count. A body takes its share as it arrives, not as it was announced, so that one that
drips keeps nobody out; it gives it back when its request is answered.
Promises: one of them always goes on. The first that came has as much as it needs; the others share
a smaller budget, and the one of them that has waited longest follows it. (If all shared one budget,
two that fill it together would both wait for the other.)
"""

from __future__ import annotations

import asyncio
from collections import deque

from windlass.errors import WindlassError
from windlass.limits import LARGE_BODIES_WAIT_SECONDS


class BodiesFull(WindlassError):
    """Enough large bodies are in hand."""

    code = "bodies_full"
    status = 503
    retry_after_seconds = 2

    def __init__(self) -> None:
        super().__init__(
            "this node is busy with other large bodies; send it again, or less at a time"
        )


class BodyBudget:
    def __init__(self, bytes_max: int) -> None:
        """`bytes_max` is for all but the first."""
        self._free = bytes_max
        self._first: BodyShare | None = None
        self._waiting: deque[tuple[BodyShare, int, asyncio.Future[None]]] = deque()

    def holding(self) -> BodyShare:
        return BodyShare(self)

    async def take(self, its: BodyShare, size: int) -> None:
        if self._first is None:
            self._first = its
        if its is self._first or (not self._waiting and size <= self._free):
            self._grant(its, size)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (its, size, turn)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(LARGE_BODIES_WAIT_SECONDS):
                await turn
        except TimeoutError:
            raise BodiesFull from None
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._let_in()

    def give(self, its: BodyShare) -> None:
        if its is self._first:
            self._first = None
            if self._waiting:
                self._first = self._waiting[0][0]
                self._free += self._first.size
        else:
            self._free += its.size
        its.size = 0
        self._let_in()

    def _grant(self, its: BodyShare, size: int) -> None:
        its.size += size
        if its is not self._first:
            self._free -= size

    def _let_in(self) -> None:
        while self._waiting:
            its, size, turn = self._waiting[0]
            if its is not self._first and size > self._free:
                return
            self._waiting.popleft()
            if not turn.done():
                self._grant(its, size)
                turn.set_result(None)


class BodyShare:
    """What one body has."""

    __slots__ = ("_room", "size")

    def __init__(self, room: BodyBudget) -> None:
        self._room = room
        self.size = 0

    async def grow(self, size: int) -> None:
        """Until it has `size`, in order of arrival. Raises BodiesFull when that takes too long."""
        await self._room.take(self, size - self.size)

    def end(self) -> None:
        self._room.give(self)
