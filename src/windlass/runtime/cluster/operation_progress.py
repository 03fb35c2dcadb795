"""The progress of one operation through its phases, written before each is entered.

No write is given up while the node lives: when PostgreSQL is away the operation stands where it is.
Whoever carries it out hears at each step whether to go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeVar

import structlog

from windlass import ids
from windlass.engine.cluster import operation_steps
from windlass.errors import Unavailable
from windlass.model.cluster.operation import Operation, Phase
from windlass.store.database import Database

log = structlog.get_logger()
T = TypeVar("T")

RETRY_SECONDS: Final = 0.2


class OperationInterrupted(Exception):
    """It does not go on: somebody aborts it, or has ended it."""

    def __init__(self, why: Literal["abort", "ended"]) -> None:
        self.why = why


class OperationProgress:
    def __init__(self, database: Database, operation: Operation) -> None:
        self._database = database
        self.operation = operation
        self._phase: Phase = operation.phase
        self._progress: dict[str, Any] = dict(operation.progress)

    async def enter(self, phase: Phase) -> None:
        """Write that the phase begins. Raises OperationInterrupted."""
        shown, kind = ids.show("operation", self.operation.id), self.operation.kind
        log.info("operation", id=shown, kind=kind, phase=phase)
        await self._step(phase)

    async def say(self, **progress: Any) -> None:
        """Write how far it is. Raises OperationInterrupted."""
        self._progress |= progress
        await self._step(self._phase)

    async def done(self) -> None:
        """Raises OperationInterrupted when others have ended it before."""
        if not await self._end("done", None):
            raise OperationInterrupted("ended")

    async def rolled_back(self, reason: str) -> None:
        shown = ids.show("operation", self.operation.id)
        kind = self.operation.kind
        log.warning("operation_rolled_back", id=shown, kind=kind, reason=reason)
        await self._end("rolled_back", reason)

    async def _step(self, phase: Phase) -> None:
        here, progress = self._phase, self._progress
        answer = await _somehow(
            lambda: operation_steps.step(self._database, self.operation, here, phase, progress)
        )
        self._phase = phase
        if answer != "go_on":
            raise OperationInterrupted(answer)

    async def _end(self, phase: Literal["done", "rolled_back"], reason: str | None) -> bool:
        progress = self._progress
        return await _somehow(
            lambda: operation_steps.end(self._database, self.operation, phase, progress, reason)
        )


async def _somehow(write: Callable[[], Awaitable[T]]) -> T:
    """Each of these statements may be repeated: its answer may have been lost."""
    while True:
        try:
            return await write()
        except Unavailable as trouble:
            log.warning("operation_waits", reason=str(trouble))
            await asyncio.sleep(RETRY_SECONDS)
