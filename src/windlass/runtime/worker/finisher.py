"""Finishes attempts: gathers settlements and commits them in batches (group commit).

While one batch is being committed the next one gathers; two are under way while steps of executions
end by hundreds. When PostgreSQL is away settlements wait
here; nothing is dropped until the node itself has lost its lease, after which its answers are
powerless anyway. A batch that fails for one of its members, or would have to wait for a row that
somebody holds, is set aside and taken apart there (runtime.worker.stuck_settlements): the next one
goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, Protocol
from uuid import UUID

import structlog

from windlass import ids
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.executions.facts import ExecutionFacts
from windlass.engine.follow import Follower
from windlass.engine.jobs.finish import Settled, finish, rehearse
from windlass.engine.upcalls import StepStarter
from windlass.errors import Unavailable
from windlass.limits import (
    CHILDREN_TOLD_MAX,
    FINISH_BATCH_MAX,
    FINISH_GATHER,
    FINISH_LOOK_SECONDS,
    FINISH_LOOKS,
    FINISH_STEPS_IN_FLIGHT_MAX,
)
from windlass.model.job.attempt import Fence
from windlass.model.job.settle import Settlement
from windlass.runtime.worker.stuck_settlements import StuckSettlements, reason_of
from windlass.store.database import Database, RowLocked, TooSlow
from windlass.supervise import supervisor
from windlass.telemetry.job_lines import say_settled
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()

REFUSED_SHOWN_MAX: Final = 10


class Served(StepStarter, Protocol):
    """A worker whose attempts are finished here."""

    @property
    def is_flooded(self) -> bool:
        """Does more work wait for slots?"""

    def settled(self, batch: list[Settlement]) -> None:
        """These are committed."""


class Finisher:
    def __init__(
        self,
        database: Database,
        follower: Follower,
        facts: ExecutionFacts,
        metrics: Metrics,
        node_id: UUID,
    ) -> None:
        self._database = database
        self._follower = follower
        self._facts = facts
        self._metrics = metrics
        self._node_id = node_id
        self._waiting: list[Settlement] = []
        self._committing: dict[object, list[Settlement]] = {}  # by who commits them
        self._runners: set[asyncio.Task[None]] = set()
        self._apart: set[asyncio.Task[None]] = set()
        self._stuck = StuckSettlements(
            self._commit,
            partial(rehearse, database),
            self._held,
            on_buried=metrics.buried.inc,
            on_empty=self._is_quiet_perhaps,
        )
        metrics.aside = self._stuck.__len__
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._is_abandoned = False
        self._served: Served | None = None  # whose attempts these are; None: nobody hears of them

    def serve(self, worker: Served) -> None:
        """From now on this worker hears what is settled, and begins the steps that follow."""
        self._served = worker

    @property
    def unsettled(self) -> int:
        """Settlements that are not in the database yet."""
        batches = len(self._waiting) + sum(map(len, self._committing.values()))
        return batches + len(self._stuck) + len(self._apart)

    @property
    def fences(self) -> set[Fence]:
        """Of those: what the batches speak of, and not what is finished apart."""
        committing = chain.from_iterable(self._committing.values())
        put = [*self._waiting, *committing, *self._stuck.settlements]
        return {settlement.fence for settlement in put}

    def put(self, settlement: Settlement) -> None:
        self._quiet.clear()
        if self._stuck.concern(settlement):
            self._stuck.add([settlement])
            return
        self._waiting.append(settlement)
        if not self._runners or self._wants_another(settlement):
            runner = supervisor().spawn(self._run(), name="finisher")
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)  # of one that was never begun, too

    def _wants_another(self, settlement: Settlement) -> bool:
        """Steps take several statements, and what follows them is decided in between: while
        PostgreSQL works for one batch, this node works on another.
        """
        return (
            settlement.execution_id is not None
            and len(self._runners) < FINISH_STEPS_IN_FLIGHT_MAX
            and len(self._waiting) >= FINISH_GATHER
        )

    def apart(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Finish one attempt outside of the batches; until that is over it counts as unsettled."""
        self._quiet.clear()
        task = supervisor().spawn(work, name="finish apart")
        self._apart.add(task)
        task.add_done_callback(self._is_over)
        return task

    def _is_over(self, task: asyncio.Task[None]) -> None:
        self._apart.discard(task)
        self._is_quiet_perhaps()

    def _is_quiet_perhaps(self) -> None:
        if not self._runners and not self._apart and not self._stuck:
            self._quiet.set()

    def was_apart(self, settlement: Settlement, effects: Effects) -> None:
        """One that was committed outside of the batches: tell everybody who waits for it."""
        self._tell([settlement], Settled(effects))

    async def quiet(self) -> None:
        """Wait until everything that was put is committed."""
        await self._quiet.wait()

    def abandon(self) -> None:
        """Forget what was not committed: this node's answers count no more."""
        self._is_abandoned = True
        for task in [*self._apart, *self._runners]:
            task.cancel()
        self._waiting.clear()
        self._stuck.abandon()

    async def _run(self) -> None:
        runner = asyncio.current_task()
        assert runner is not None, "it is a task"
        try:
            # Let everything that ends in this turn of the loop gather before the first commit.
            await asyncio.sleep(0)
            while self._waiting:
                await self._gather()
                batch = self._waiting[:FINISH_BATCH_MAX]
                del self._waiting[: len(batch)]
                self._committing[runner] = batch
                await self._commit_or_set_aside(batch)
                del self._committing[runner]
        finally:
            self._runners.discard(runner)
            left = self._committing.pop(runner, [])
            if left and not self._is_abandoned:
                # Whoever cancelled this, it was none of us: they are committed by the next.
                self._waiting[:0] = left
            if self._waiting:
                self.put(self._waiting.pop())
            else:
                self._is_quiet_perhaps()

    @property
    def _is_flooded(self) -> bool:
        return self._served is not None and self._served.is_flooded

    async def _gather(self) -> None:
        for _ in range(FINISH_LOOKS):
            if len(self._waiting) >= FINISH_GATHER or not self._is_flooded:
                return
            await asyncio.sleep(FINISH_LOOK_SECONDS)

    async def _commit_or_set_aside(self, batch: list[Settlement]) -> None:
        rest = 0.05
        while True:
            try:
                return await self._commit(batch)
            except (RowLocked, TooSlow) as trouble:
                log.debug("finish_row_held", count=len(batch), reason=str(trouble))
                return self._stuck.add(batch)
            except Unavailable as trouble:
                log.warning("finish_waits", count=len(batch), reason=str(trouble))
                await asyncio.sleep(rest)
                rest = min(rest * 2, 2.0)
            except Exception as trouble:
                log.warning("finish_set_aside", count=len(batch), reason=reason_of(trouble))
                return self._stuck.add(batch)

    async def _commit(self, batch: list[Settlement]) -> None:
        """Apply them, and tell everybody who waits for that. Raises what `finish` does."""
        steps = {s.execution_id for s in batch if s.execution_id is not None}
        if steps:
            await self._prepare(steps)
        start = monotonic()
        settled = await finish(self._database, self._node_id, batch, self._served)
        self._metrics.finish.observe(monotonic() - start)
        try:
            self._tell(batch, settled)
        except Exception as trouble:  # it is committed: whoever was not told finds out by looking
            log.warning("finish_not_told", count=len(batch), reason=reason_of(trouble))

    async def _held(self, job_ids: Sequence[UUID]) -> set[UUID]:
        rows = await self._database.settle("job_end_held_many", job_ids, CHILDREN_TOLD_MAX)
        return {row["id"] for row in rows}

    async def _prepare(self, execution_ids: set[UUID]) -> None:
        """It is to save time, so trouble with it is not ours."""
        with contextlib.suppress(Exception):
            await self._facts.prepare(execution_ids)

    def _tell(self, batch: list[Settlement], settled: Settled) -> None:
        if settled.refused:
            self._metrics.refused.inc(len(settled.refused))
            jobs = [
                ids.show("job", job_id) for job_id in sorted(settled.refused)[:REFUSED_SHOWN_MAX]
            ]
            log.warning("finish_refused", count=len(settled.refused), jobs=jobs)
        self._metrics.settled(s for s in batch if s.job_id not in settled.refused)
        if unwell := [s for s in batch if s.subject is not None]:
            known = (s for s in unwell if s.job_id not in settled.refused)
            say_settled(known, settled.effects.ended)
        self._follower.follow(settled.effects)
        if self._served is not None:
            self._served.settled(batch)
