"""Room for large bodies: how many bytes of them a node has in hand at once.

Owns: the count. A body takes room as it arrives, not as it was announced, so that one that drips
keeps nobody out; it gives it back when its request is answered.
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


class Room:
    def __init__(self, bytes_max: int) -> None:
        self._free = bytes_max
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> None:
        """Wait until there is so much, in line. Raises BodiesFull when that takes too long."""
        if not self._waiting and size <= self._free:
            self._free -= size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (size, turn)
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(LARGE_BODIES_WAIT_SECONDS):
                await turn
        except BaseException as trouble:
            if turn.done() and not turn.cancelled():
                self.give(size)  # it came as we left
            else:
                self._waiting.remove(entry)
                self._let_in()
            if isinstance(trouble, TimeoutError):
                raise BodiesFull from None
            raise

    def give(self, size: int) -> None:
        self._free += size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= size
                turn.set_result(None)
