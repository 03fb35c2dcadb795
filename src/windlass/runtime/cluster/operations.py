"""Operations as this node carries them out: resize, pause, resume, drain; one at a time.

The signal `operation` wakes it. Without one it learns from the worker's look at the lines, which
says in passing whether an operation is open anywhere; only while the worker does not look (all
slots busy, or paused) does it ask by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final, assert_never
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.cluster.operation_steps import next_operation
from windlass.limits import OPERATION_POLL_SECONDS
from windlass.model.cluster.operation import Operation
from windlass.runtime.cluster.operation_progress import OperationInterrupted, OperationProgress
from windlass.runtime.cluster.resize import Resizer
from windlass.runtime.loop import Loop
from windlass.runtime.worker.worker import Worker
from windlass.store.database import Database

log = structlog.get_logger()

PAUSE: Final = "pause"
LAST_WORD_SECONDS: Final = 2.0
# The worker has looked so lately that it would have seen an operation.
LOOKED_SECONDS_MAX: Final = 2 * OPERATION_POLL_SECONDS


class Operations:
    def __init__(
        self,
        *,
        database: Database,
        announcer: Announcer,
        worker: Worker,
        resizer: Resizer,
        node_id: UUID,
        on_done: Callable[[Operation], None],
        on_leave: Callable[[], None],  # a drain is asked for
    ) -> None:
        self._database = database
        self._announcer = announcer
        self._worker = worker
        self._resizer = resizer
        self._node_id = node_id
        self._is_told = True  # it may have been asked before it could hear
        self._under_way: OperationProgress | None = None
        self._loop = Loop("operations", self._tick)
        self._asked_at = 0.0
        worker.on_operation(self._noticed)
        self._on_done, self._on_leave = on_done, on_leave

    def start(self) -> None:
        self._loop.start()

    def look(self) -> None:
        """Somebody says that something is asked of this node."""
        self._is_told = True
        self._loop.wake()

    def _noticed(self) -> None:
        """Some node is asked for something; a busy worker looks often, and it is rarely us."""
        if monotonic() - self._asked_at >= OPERATION_POLL_SECONDS:
            self.look()

    def abort(self) -> None:
        """The node lost its lease: others end what was under way."""
        self._loop.abort()

    async def leave(self, seconds: float) -> float:
        """The node leaves now. Returns how long it may take: an operation may have said so."""
        self._loop.abort()
        await self._loop.stop()
        progress = self._under_way
        if progress is None:
            return seconds
        if progress.operation.kind == "drain":
            await _within_reason(progress.enter("draining"))
            return progress.operation.drain_seconds
        self._under_way = None
        await _within_reason(progress.rolled_back("the node was told to leave"))
        return seconds

    async def left(self) -> None:
        """Everything is finished or handed back."""
        if self._under_way is not None:
            await _within_reason(self._under_way.done())

    # -- the loop --------------------------------------------------------------------------------

    async def _tick(self) -> float:
        if self._under_way is not None:
            return OPERATION_POLL_SECONDS  # it leaves
        if not self._is_told and self._worker.looked_seconds_ago < LOOKED_SECONDS_MAX:
            return OPERATION_POLL_SECONDS
        self._is_told, self._asked_at = False, monotonic()
        operation = await next_operation(self._database, self._node_id)
        if operation is not None:
            await self._carry_out(operation)
            self._announcer.happened()
        return OPERATION_POLL_SECONDS

    async def _carry_out(self, operation: Operation) -> None:
        progress = self._under_way = OperationProgress(self._database, operation)
        try:
            await self._go(progress)
            if operation.kind == "drain":
                return  # it is done when the node has left
            await progress.done()
            self._on_done(operation)
        except OperationInterrupted as interrupted:
            if operation.kind == "resize":
                self._resizer.apply(operation.from_workers)
            if interrupted.why == "abort":
                await progress.rolled_back("aborted")
        except Exception as trouble:  # or the node could never be changed again
            log.exception("operation_failed")
            await progress.rolled_back(f"it failed: {trouble}")
        self._under_way = None

    async def _go(self, progress: OperationProgress) -> None:
        match progress.operation.kind:
            case "resize":
                await self._resizer.resize(progress)
            case "pause":
                await progress.enter("pausing")
                self._worker.pause_claiming(PAUSE)
                await self._worker.put_back()
            case "resume":
                await progress.enter("resuming")
                self._worker.resume_claiming(PAUSE)
            case "drain":
                await progress.enter("pausing")
                self._on_leave()
            case _ as never:
                assert_never(never)


async def _within_reason(word: Awaitable[None]) -> None:
    """Who leaves does not wait for PostgreSQL for ever; what it could not say, others will."""
    with contextlib.suppress(TimeoutError, OperationInterrupted):
        async with asyncio.timeout(LAST_WORD_SECONDS):
            await word
