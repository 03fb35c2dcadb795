"""An incarnation of a node: what starts and ends with one node id and its lease.

It is put together in `runtime.assemble`.

    start -> finish (or abandon) -> release_lease -> leave

Or, when the lease is gone: start -> lose. It ends at once, and what it held is for others to take.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from uuid import UUID

import structlog

from windlass.errors import Unavailable
from windlass.model.identity.actor import acting_as, machine
from windlass.runtime.cluster.coordinator import Coordinator
from windlass.runtime.cluster.leader_duties import LeaderDuties
from windlass.runtime.cluster.lease import Lease
from windlass.runtime.cluster.operations import Operations
from windlass.runtime.duties import BULK, STOP_CANCELLED, LockKeeper
from windlass.runtime.loop import Loop
from windlass.runtime.worker.finisher import Finisher
from windlass.runtime.worker.worker import Worker
from windlass.store.database import Database

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Incarnation:
    node_id: UUID
    database: Database
    lease: Lease
    finisher: Finisher
    worker: Worker
    coordinator: Coordinator
    operations: Operations
    leading: LeaderDuties | None  # None: it never leads
    loops: list[Loop]

    @property
    def stop_cancelled(self) -> Loop:
        """The duty that a hint wakes."""
        return self._duty(STOP_CANCELLED)

    @property
    def bulk(self) -> Loop:
        return self._duty(BULK)

    @property
    def lock_keeper(self) -> LockKeeper:
        return next(loop for loop in self.loops if isinstance(loop, LockKeeper))

    def _duty(self, name: str) -> Loop:
        return next(loop for loop in self.loops if loop.name == name)

    def start(self, *, is_worker: bool) -> None:
        with acting_as(machine("node", self.node_id)):  # and so does whatever begins here
            self._start(is_worker=is_worker)

    def _start(self, *, is_worker: bool) -> None:
        self.coordinator.start()
        self.lease.start()
        if is_worker:
            self.worker.start()
        for loop in self.loops:
            loop.start()
        self.operations.start()
        if self.leading is not None:
            self.leading.start()

    async def finish(self, seconds: float) -> int:
        """Finish what runs, hand back what has not begun. Returns attempts given up."""
        if self.leading is not None:
            await self.leading.stop()  # another leads while this one finishes
        await self._say("draining")
        seconds = await self.operations.leave(seconds)
        for loop in self.loops:
            await loop.stop()
        left = await self.worker.drain(seconds)
        try:
            async with asyncio.timeout(max(5.0, seconds)):
                await self.finisher.quiet()
        except TimeoutError:
            log.warning("drain_unfinished", unsettled=self.finisher.unsettled)
        await self.operations.left()
        return left

    def abandon(self) -> None:
        """Stop everything; other nodes take over what was in flight."""
        self.worker.abandon()
        self.finisher.abandon()
        self.operations.abort()
        for loop in self.loops:
            loop.abort()

    def lose(self) -> None:
        """Its lease is gone: nothing it says counts any more."""
        log.error("node_lost_its_lease", abandoned=self.worker.held)
        self.abandon()
        self.coordinator.abort()
        if self.leading is not None:
            self.leading.resign()

    async def release_lease(self) -> None:
        """Neither lead nor hold the lease any longer."""
        if self.leading is not None:
            await self.leading.stop()
        self.lease.stop()

    async def leave(self) -> None:
        await self._say("left")
        await self.coordinator.leave()

    async def _say(self, state: str) -> None:
        try:
            await self.database.run("node_set_state", self.node_id, state)
        except Unavailable as trouble:
            log.warning("node_state_not_said", state=state, reason=str(trouble))
