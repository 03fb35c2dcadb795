"""The gate in front of a test's node: nothing runs behind the test's back.

The node claims jobs only while somebody has the gate open: `drain`, `advance`, or whoever waits for
a result. Otherwise what is enqueued stays queued, to be looked at. While it is locked nobody opens
it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from windlass.errors import WindlassError
from windlass.runtime.node import Node

_WHY: Final = "the test lets nothing run now"


class Captured(WindlassError):
    """A test asked for work to be done while it captures what is enqueued."""

    code = "captured"

    def __init__(self) -> None:
        super().__init__("nothing runs inside capture(); drain or wait before or after it")


class Gate:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._openers = 0
        self._locks = 0
        self._shut()

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Raises Captured."""
        if self._locks:
            raise Captured
        self._openers += 1
        self.look()
        try:
            yield
        finally:
            self._openers -= 1
            if not self._openers:
                self._shut()
                await self._node.worker.put_back()

    def look(self) -> None:
        """Let the node look at its lines now."""
        self._node.worker.resume_claiming(_WHY)

    def lock(self) -> None:
        self._locks += 1

    def unlock(self) -> None:
        self._locks -= 1

    def _shut(self) -> None:
        self._node.worker.pause_claiming(_WHY)
