"""A node: one registered process that executes jobs.

Life:    register -> lease -> worker and duties -> (drain) -> leave
Losing the lease ends an incarnation, not the process: everything in flight is abandoned, and the
node registers again under a fresh id, so that nothing it said before can be mistaken for its word.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import structlog

from windlass import __version__
from windlass.clock import monotonic
from windlass.config import Settings
from windlass.engine.announce import Announcer, Line
from windlass.engine.enqueue import Reservation
from windlass.errors import Unavailable
from windlass.fastlane.coordinator import Coordinators
from windlass.fastlane.signals import Signals
from windlass.model.attempt import Attempt
from windlass.model.draft import Draft
from windlass.model.operation import Operation
from windlass.model.signal import Answer
from windlass.runtime.coordinator import Coordinator
from windlass.runtime.duties import STOP_CANCELLED, Duties
from windlass.runtime.finisher import Finisher
from windlass.runtime.kinds import Kinds
from windlass.runtime.leader_duties import LeaderDuties, table_of
from windlass.runtime.leadership import Leadership
from windlass.runtime.lease import Lease
from windlass.runtime.loop import Loop
from windlass.runtime.operations import PAUSE, Operations
from windlass.runtime.resize import Resizer
from windlass.runtime.signal_handlers import SignalHandlers, node_handlers
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
    coordinator: Coordinator
    operations: Operations
    leading: LeaderDuties | None  # None: it never leads
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
        coordinators: Coordinators,
        signals: Signals,
        sweep: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._database_url = database_url
        self._announcer = announcer
        self._metrics = metrics
        self._kinds = kinds
        self._targets = targets
        self._coordinators = coordinators
        self._signals = signals
        self._sweep = sweep
        self.handlers: SignalHandlers = node_handlers(
            announcer=announcer, kinds=kinds, stop_cancelled=self._stop_cancelled
        )
        self.handlers.on("operation", self._signalled_operation)
        self._now: Incarnation | None = None
        self._rebirth: asyncio.Task[None] | None = None
        self.is_draining = False
        self.leave_asked = asyncio.Event()  # by an operation, as a signal would
        # What operations have made of it; an incarnation hands it to the next.
        self._workers = settings.workers
        self._is_paused = False
        # Listeners live as long as the process; who they speak to is whoever lives now.
        announcer.on_line(self._note)
        announcer.on_cancel(self._cancel)
        signals.on_poke(self._poked)

    # -- facts for the API -----------------------------------------------------------------------

    @property
    def node_id(self) -> UUID:
        assert self._now is not None, "the node has not started"
        return self._now.node_id

    @property
    def workers(self) -> int:
        return self._now.worker.workers if self._now else self._workers

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

    def _stop_cancelled(self) -> int:
        """Ask now what must stop; returns how many jobs are held here."""
        if self._now is None:
            return 0
        self._now.stop_cancelled.wake()
        return self._now.worker.held

    def _poked(self, targets: Sequence[str] | None, is_stored: bool) -> None:
        if self._now is not None:
            self._now.coordinator.poked(targets, is_stored)

    async def _signalled_operation(self, _payload: dict[str, Any]) -> Answer:
        """What is asked is read from PostgreSQL; nobody's word is taken for it."""
        if self._now is not None:
            self._now.operations.look()
        return {"workers": self.workers}

    def _changed(self, operation: Operation) -> None:
        """An operation is done."""
        match operation.kind:
            case "resize":
                assert operation.to_workers is not None
                self._workers = operation.to_workers
            case "pause" | "resume":
                self._is_paused = operation.kind == "pause"
            case "drain":
                pass

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
        if now.leading is not None:
            await now.leading.stop()  # another leads while this one finishes
        await self._say(now.node_id, "draining")
        seconds = await now.operations.leave(seconds)
        for loop in now.loops:
            await loop.stop()
        left = await now.worker.drain(seconds)
        try:
            async with asyncio.timeout(max(5.0, seconds)):
                await now.finisher.quiet()
        except TimeoutError:
            log.warning("drain_unfinished", unsettled=now.finisher.unsettled)
        await now.operations.left()
        await self._leave(now)
        return left

    async def stop_now(self) -> None:
        """The second signal: stop everything; other nodes take over what was in flight."""
        now = self._now
        if now is None:
            return
        now.worker.abandon()
        now.finisher.abandon()
        now.operations.abort()
        for loop in now.loops:
            loop.abort()
        await self._leave(now)

    async def _leave(self, now: Incarnation) -> None:
        if now.leading is not None:
            await now.leading.stop()
        now.lease.stop()
        await self._targets.stop()
        await self._say(now.node_id, "left")
        await now.coordinator.leave()
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
            workers=self._workers,
        )
        operations = await self._operations(node_id, worker)
        worker.hinted_by(lambda: self._announcer.is_heard)
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
        coordinator = self._coordinator(node_id, worker)
        coordinator.start()
        # For a sender that Redis has left while it has not left us: nobody pokes then.
        lease.on_signal = self._on_loop(lambda: coordinator.look(is_stored=True))
        lease.start()
        if "worker" in self._settings.roles:
            worker.start()
        for loop in loops:
            loop.start()
        operations.start()
        leading = self._leading(node_id)
        if leading is not None:
            leading.start()
        return Incarnation(
            node_id=node_id,
            lease=lease,
            finisher=finisher,
            worker=worker,
            coordinator=coordinator,
            operations=operations,
            leading=leading,
            stop_cancelled=stop_cancelled,
            loops=loops,
        )

    def _leading(self, node_id: UUID) -> LeaderDuties | None:
        if "leader" not in self._settings.roles:
            return None
        return LeaderDuties(
            database=self._database,
            leadership=Leadership(
                self._database_url, node_id, lease_seconds=self._settings.leader_lease_seconds
            ),
            metrics=self._metrics,
            table=table_of(self._database, self._sweep),
        )

    def _coordinator(self, node_id: UUID, worker: Worker) -> Coordinator:
        coordinator = Coordinator(
            node_id=node_id,
            database=self._database,
            coordinators=self._coordinators,
            signals=self._signals,
            handlers=self.handlers,
            beat_seconds=self._settings.heartbeat_seconds,
        )
        coordinator.activity = lambda: {"in_flight": worker.held, "workers": self.workers}
        return coordinator

    async def _operations(self, node_id: UUID, worker: Worker) -> Operations:
        if self._is_paused:
            worker.pause_claiming(PAUSE)
            await self._database.run("node_set_paused", node_id)
        resizer = Resizer(worker=worker, kinds=self._kinds, targets=self._targets)
        resizer.apply(self._workers)
        operations = Operations(
            database=self._database,
            announcer=self._announcer,
            worker=worker,
            resizer=resizer,
            node_id=node_id,
        )
        operations.on_done = self._changed
        operations.on_leave = self.leave_asked.set
        return operations

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
            self._workers,
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
        now.coordinator.abort()
        now.operations.abort()
        if now.leading is not None:
            now.leading.resign()
        if self.is_draining:
            return  # it leaves anyway
        self._rebirth = asyncio.create_task(self._be_reborn(now), name="rebirth")

    async def _be_reborn(self, before: Incarnation) -> None:
        await before.coordinator.leave()
        while not self.is_draining:
            try:
                self._now = await self._be_born()
                return
            except Unavailable as trouble:
                log.warning("node_waits_for_database", reason=str(trouble))
                await asyncio.sleep(1)
