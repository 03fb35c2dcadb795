"""A node: one registered process that executes jobs.

Life:    register -> lease -> worker and duties -> (drain) -> leave
Losing the lease ends an incarnation, not the process: everything in flight is abandoned, and the
node registers again under a fresh id, so that nothing it said before can be mistaken for its word.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

import structlog

from windlass.engine.effects import Line
from windlass.engine.executions.step_rows import StepJob
from windlass.engine.upcalls import Reservation
from windlass.errors import Unavailable
from windlass.limits import REBIRTH_SECONDS_MAX
from windlass.model.cluster.node_signal import Answer
from windlass.model.cluster.operation import Operation
from windlass.model.identity.actor import Actor, acting_as, machine
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.runtime.assemble import IncarnationContext, NodeParts, start_incarnation
from windlass.runtime.cluster.signal_handlers import SignalHandlers, node_handlers
from windlass.runtime.firing import FIRE
from windlass.runtime.incarnation import Incarnation
from windlass.runtime.worker.worker import Worker
from windlass.supervise import Restarts, supervisor

log = structlog.get_logger()

FIRST_LOOK_SECONDS_MAX: Final = 1.0
REGISTRATION: Final = "registration"  # what a node is without until it is reborn, as health says it


class Node:
    def __init__(self, parts: NodeParts) -> None:
        self._parts = parts
        self.handlers: SignalHandlers = node_handlers(
            announcer=parts.announcer,
            caches=parts.caches,
            kinds=parts.kinds,
            say_kinds=self._say_kinds,
            stop_cancelled=self._stop_cancelled,
        )
        self.handlers.on("operation", self._signalled_operation)
        self._now: Incarnation | None = None
        self._registering: asyncio.Task[None] | None = None
        self.is_draining = False
        self.leave_asked = asyncio.Event()  # by an operation, as a signal would
        # What operations have made of it; an incarnation hands it to the next.
        self._workers = parts.settings.workers
        self._is_paused = False
        # Listeners live as long as the process; who they speak to is whoever lives now.
        parts.announcer.on_line(self._note)
        parts.announcer.on_cancel(self._cancel)
        parts.announcer.on_lock_due(self._lock_due)
        parts.announcer.on_bulk(self._bulk_asked)
        parts.announcer.on_schedule(self._schedules_changed)
        parts.signals.on_poke(self._poked)

    # -- facts for the API -----------------------------------------------------------------------

    @property
    def node_id(self) -> UUID:
        assert self._now is not None, "the node has not started"
        return self._now.node_id

    @property
    def workers(self) -> int:
        return self._now.worker.workers if self._now else self._workers

    @property
    def worker(self) -> Worker:
        """Who runs jobs now: another one after a lease was lost."""
        assert self._now is not None, "the node has not started"
        return self._now.worker

    @property
    def is_trusted(self) -> bool:
        """May it begin work now, by its lease?"""
        return self._now is not None and self._now.lease.is_trusted

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

    def _lock_due(self, seconds: float) -> None:
        if self._now is not None:
            self._now.lock_keeper.due_in(seconds)

    def _bulk_asked(self) -> None:
        if self._now is not None:
            self._now.bulk.wake()

    def _schedules_changed(self, _names: list[str]) -> None:
        if self._now is not None and self._now.leading is not None:
            self._now.leading.wake(FIRE)

    def _cancel(self, job_id: UUID) -> None:
        """A hint from outside stops nothing: it makes us ask the database."""
        if self._now is not None and job_id in self._now.worker.holds():
            self._now.stop_cancelled.wake()

    async def _stop_cancelled(self, named: set[UUID] | None) -> int:
        return await self._now.worker.stop_cancelled(named) if self._now is not None else 0

    def _poked(self, targets: Sequence[str] | None, is_stored: bool) -> None:
        if self._now is not None:
            self._now.coordinator.poked(targets, is_stored)

    async def _say_kinds(self) -> None:
        """What it performs has changed. A new incarnation says it by itself."""
        with contextlib.suppress(Unavailable):
            database, kinds = self._parts.database, self._parts.kinds
            await database.run("node_set_kinds", self.node_id, kinds.names, sorted(kinds.tasks))

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
        return self._parts.targets.park(drafts)

    def parked(self) -> None:
        self._parts.targets.parked()

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        now = self._now
        is_worker = "worker" in self._parts.settings.roles
        return now.worker.reserve(drafts) if now is not None and is_worker else None

    def reserve_first(self, jobs: Sequence[StepJob]) -> Reservation | None:
        now = self._now
        is_worker = "worker" in self._parts.settings.roles
        return now.worker.reserve_first(jobs) if now is not None and is_worker else None

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        now = self._now
        # A new incarnation must not touch what an older one reserved; rescue returns those.
        if now is not None and now.node_id == reservation.node_id:
            now.worker.begin(reservation, attempts)

    def doubt(self, reservation: Reservation) -> None:
        now = self._now
        if now is not None and now.node_id == reservation.node_id:
            now.worker.doubt(reservation)

    def _as_actor(self) -> Actor:
        """By itself, whatever it is called by then."""
        return machine("node", None if self._now is None else self._now.node_id)

    # -- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        with acting_as(self._as_actor):
            await self._parts.targets.start()
        try:
            self._now = await self._start_incarnation()
        except BaseException:
            await self._parts.targets.stop()
            raise
        self._parts.refresher.start()

    async def first_look(self) -> None:
        """Until it has looked for work, or a moment at most: what no job waits for comes after."""
        if "worker" in self._parts.settings.roles:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FIRST_LOOK_SECONDS_MAX):
                    await self.worker.has_looked.wait()

    async def drain(self, seconds: float) -> int:
        """Finish what runs, hand back what has not begun, leave. Returns attempts given up."""
        self.is_draining = True
        now = self._now
        if now is None:
            return 0
        left = await now.finish(seconds)
        await self._leave(now)
        return left

    async def stop_now(self) -> None:
        """The second signal: stop everything; other nodes take over what was in flight."""
        now = self._now
        if now is None:
            return
        now.abandon()
        await self._leave(now)

    async def _leave(self, now: Incarnation) -> None:
        await now.release_lease()
        await self._parts.targets.stop()
        await self._parts.refresher.stop()
        await now.leave()
        await self._parts.kinds.close()

    async def _start_incarnation(self) -> Incarnation:
        context = IncarnationContext(
            workers=self._workers,
            is_paused=self._is_paused,
            handlers=self.handlers,
            on_lost=self._lose,
            on_done=self._changed,
            on_leave=self.leave_asked.set,
        )
        return await start_incarnation(self._parts, context)

    def _lose(self) -> None:
        now = self._now
        if now is None:
            return
        if not self.is_draining:  # else it leaves anyway
            supervisor().is_down(REGISTRATION, "its lease was lost", is_vital=True)
            self._registering = supervisor().keep("rebirth", partial(self._register_again, now))
        now.lose()
        self._parts.refresher.shards.lose()

    async def _register_again(self, before: Incarnation) -> None:
        """It tries for as long as the process lives, whatever the reason is that it cannot."""
        try:
            await before.coordinator.leave()
        except Exception:  # what it left in Redis is swept
            log.exception("coordinator_not_left")
        restarts = Restarts(most_seconds=REBIRTH_SECONDS_MAX)
        while not self.is_draining:
            try:
                incarnation = await self._start_incarnation()
            except Unavailable as trouble:
                log.warning("node_waits_for_database", reason=str(trouble))
            except Exception:
                log.exception("node_not_registered")
                supervisor().on_failure("rebirth")
            else:
                await self._live_as(incarnation)
                return
            await asyncio.sleep(restarts.next_seconds())

    async def _live_as(self, incarnation: Incarnation) -> None:
        """Unless the process was told to leave meanwhile: nothing has begun yet, nor will it."""
        if not self.is_draining:
            self._now = incarnation
            supervisor().is_up(REGISTRATION)
            return
        incarnation.abandon()
        await incarnation.release_lease()
        await incarnation.leave()
