"""A node: one registered process that executes jobs.

Life:    register -> lease -> worker and duties -> (drain) -> leave
Losing the lease ends an incarnation, not the process: everything in flight is abandoned, and the
node registers again under a fresh id, so that nothing it said before can be mistaken for its word.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

import structlog

from windlass import __version__
from windlass.clock import monotonic
from windlass.config import Settings
from windlass.engine.announce import Announcer, Line
from windlass.engine.enqueue import Reservation
from windlass.errors import Unavailable
from windlass.model.attempt import Attempt
from windlass.model.draft import Draft
from windlass.runtime.duties import STOP_CANCELLED, Duties
from windlass.runtime.finisher import Finisher
from windlass.runtime.kinds import Kinds
from windlass.runtime.lease import Lease
from windlass.runtime.loop import Loop
from windlass.runtime.targets import Targets
from windlass.runtime.worker import Worker
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()


@dataclass(slots=True)
class Incarnation:
    """What lives and dies with one node id."""

    node_id: UUID
    lease: Lease
    finisher: Finisher
    worker: Worker
    stop_cancelled: Loop  # the duty that a hint wakes
    loops: list[Loop]


class Node:
    def __init__(
        self,
        *,
        settings: Settings,
        database: Database,
        database_url: str,
        announcer: Announcer,
        metrics: Metrics,
        kinds: Kinds,
        targets: Targets,
    ) -> None:
        self._settings = settings
        self._database = database
        self._database_url = database_url
        self._announcer = announcer
        self._metrics = metrics
        self._kinds = kinds
        self._targets = targets
        self._now: Incarnation | None = None
        self._rebirth: asyncio.Task[None] | None = None
        self.is_draining = False
        # Listeners live as long as the process; who they speak to is whoever lives now.
        announcer.on_line(self._note)
        announcer.on_cancel(self._cancel)

    # -- facts for the API -----------------------------------------------------------------------

    @property
    def node_id(self) -> UUID:
        assert self._now is not None, "the node has not started"
        return self._now.node_id

    @property
    def workers(self) -> int:
        return self._settings.workers

    @property
    def executing(self) -> int:
        return self._now.worker.executing if self._now else 0

    @property
    def last_execution_at(self) -> datetime | None:
        return self._now.worker.last_execution_at if self._now else None

    # -- what it is told -------------------------------------------------------------------------

    def _note(self, line: Line, due_at: datetime) -> None:
        if self._now is not None:
            self._now.worker.note(line, due_at)

    def _cancel(self, job_id: UUID) -> None:
        """A hint from outside stops nothing: it makes us ask the database."""
        if self._now is not None and job_id in self._now.worker.holds():
            self._now.stop_cancelled.wake()

    # -- beginning what this process accepts -----------------------------------------------------

    def park(self, drafts: Sequence[Draft]) -> list[str]:
        return self._targets.park(drafts)

    def parked(self) -> None:
        self._targets.parked()

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        now = self._now
        is_worker = "worker" in self._settings.roles
        return now.worker.reserve(drafts) if now is not None and is_worker else None

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        now = self._now
        # A new incarnation must not touch what an older one reserved; rescue returns those.
        if now is not None and now.node_id == reservation.node_id:
            now.worker.begin(reservation, attempts)

    def doubt(self, reservation: Reservation) -> None:
        now = self._now
        if now is not None and now.node_id == reservation.node_id:
            now.worker.doubt(reservation)

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        await self._targets.start()
        self._now = await self._be_born()

    async def drain(self, seconds: float) -> int:
        """Finish what runs, hand back what has not begun, leave. Returns attempts given up."""
        self.is_draining = True
        now = self._now
        if now is None:
            return 0
        await self._say(now.node_id, "draining")
        for loop in now.loops:
            await loop.stop()
        left = await now.worker.drain(seconds)
        try:
            async with asyncio.timeout(max(5.0, seconds)):
                await now.finisher.quiet()
        except TimeoutError:
            log.warning("drain_unfinished", unsettled=now.finisher.unsettled)
        await self._leave(now)
        return left

    async def stop_now(self) -> None:
        """The second signal: stop everything; other nodes take over what was in flight."""
        now = self._now
        if now is None:
            return
        now.worker.abandon()
        now.finisher.abandon()
        for loop in now.loops:
            loop.abort()
        await self._leave(now)

    async def _leave(self, now: Incarnation) -> None:
        now.lease.stop()
        await self._targets.stop()
        await self._say(now.node_id, "left")
        await self._kinds.close()

    async def _say(self, node_id: UUID, state: str) -> None:
        try:
            await self._database.run("node_set_state", node_id, state)
        except Unavailable as trouble:
            log.warning("node_state_not_said", state=state, reason=str(trouble))

    async def _be_born(self) -> Incarnation:
        node_id = uuid4()
        started_at = monotonic()
        await self._register(node_id)
        lease = Lease(
            self._database_url,
            node_id,
            lease_seconds=self._settings.lease_seconds,
            heartbeat_seconds=self._settings.heartbeat_seconds,
        )
        lease.granted(started_at)
        finisher = Finisher(self._database, self._announcer, self._metrics, node_id)
        worker = Worker(
            database=self._database,
            finisher=finisher,
            lease=lease,
            metrics=self._metrics,
            kinds=self._kinds,
            targets=self._targets,
            node_id=node_id,
            workers=self._settings.workers,
        )
        lease.in_flight = lambda: worker.held
        lease.on_lost = self._on_loop(self._lose)
        duties = Duties(
            database=self._database,
            announcer=self._announcer,
            worker=worker,
            retention_days=self._settings.retention_days,
        )
        loops = duties.loops()
        stop_cancelled = next(loop for loop in loops if loop.name == STOP_CANCELLED)
        lease.start()
        if "worker" in self._settings.roles:
            worker.start()
        for loop in loops:
            loop.start()
        return Incarnation(
            node_id=node_id,
            lease=lease,
            finisher=finisher,
            worker=worker,
            stop_cancelled=stop_cancelled,
            loops=loops,
        )

    async def _register(self, node_id: UUID) -> None:
        host = socket.gethostname()
        await self._database.run(
            "node_register",
            node_id,
            self._settings.node_name or host,
            host,
            os.getpid(),
            __version__,
            list(self._settings.roles),
            self._settings.workers,
            float(self._settings.lease_seconds),
        )

    def _on_loop(self, call: Callable[[], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def from_any_thread() -> None:
            loop.call_soon_threadsafe(call)

        return from_any_thread

    def _lose(self) -> None:
        now = self._now
        if now is None:
            return
        log.error("node_lost_its_lease", abandoned=now.worker.held)
        now.worker.abandon()
        now.finisher.abandon()
        for loop in now.loops:
            loop.abort()
        if self.is_draining:
            return  # it leaves anyway
        self._rebirth = asyncio.create_task(self._be_reborn(), name="rebirth")

    async def _be_reborn(self) -> None:
        while not self.is_draining:
            try:
                self._now = await self._be_born()
                return
            except Unavailable as trouble:
                log.warning("node_waits_for_database", reason=str(trouble))
                await asyncio.sleep(1)
