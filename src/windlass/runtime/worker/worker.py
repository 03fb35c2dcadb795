"""The worker: claims jobs, runs them in slots, hands back what it cannot begin.

    claimer -> buffer -> slots (or at once, for instant kinds) -> finisher

What this node itself accepts may begin without a claim: slots are reserved while it is inserted.
How far ahead is claimed, and what waited too long, the buffer knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from uuid import UUID

import structlog

from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.effects import Effects, Line
from windlass.engine.executions.step_rows import StepJob
from windlass.engine.jobs import claim as claims
from windlass.engine.jobs.cancel import find_cancel_requested
from windlass.engine.upcalls import Reservation
from windlass.limits import (
    CLAIM_BATCH_MAX,
    HAND_BACK_SECONDS,
    POLL_IDLE_SECONDS,
    PREFETCH_MAX,
    SPARED_BATCH_MAX,
    SPARED_SECONDS,
    STEPS_FIRST_SECONDS,
)
from windlass.model.cluster.served import ALL_QUEUES, ServedQueues
from windlass.model.job.attempt import Attempt, Fence
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Cancelled, Failed, Outcome, Succeeded
from windlass.model.job.running import OwnSession
from windlass.model.job.settle import Settlement, settle, settle_or_bury
from windlass.runtime.cluster.lease import Lease
from windlass.runtime.loop import Loop
from windlass.runtime.worker.buffer import Buffer
from windlass.runtime.worker.claimer import Claimer
from windlass.runtime.worker.finisher import Finisher
from windlass.runtime.worker.hand_back import HandBack
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.own_transaction import commit_and_finish
from windlass.runtime.worker.slots import Reservations, Slots
from windlass.runtime.worker.target_gate import TargetGate
from windlass.store.database import Database, Record
from windlass.telemetry.job_lines import say_started, says_all
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()


class Worker:
    def __init__(
        self,
        *,
        database: Database,
        finisher: Finisher,
        lease: Lease,
        metrics: Metrics,
        kinds: Kinds,
        targets: TargetGate,
        node_id: UUID,
        workers: int,
        queues: ServedQueues = ALL_QUEUES,
        # Do others tell of new work? Then there is less need to look for it.
        is_hinted: Callable[[], bool],
        # Hears what was handed back: somebody else may have room for it.
        on_returned: Callable[[list[Record]], None],
        # Hears executions of which a step begins that takes its time.
        on_steps: Callable[[set[UUID]], None],
    ) -> None:
        self._database = database
        self._finisher = finisher
        self._lease = lease
        self._metrics = metrics
        self._kinds = kinds
        self._targets = targets
        self.node_id = node_id
        self.workers = workers
        self._slots = Slots(kinds, _slots_of(workers), self._ended)
        self._claimer = Claimer(
            database,
            metrics,
            node_id,
            served=partial(kinds.served, queues),
            is_hinted=is_hinted,
            on_operation=lambda: self._on_operation(),
        )
        self._on_operation: Callable[[], None] = lambda: None
        self._buffer = Buffer(ahead=min(workers, 1))
        self._reserved = Reservations(kinds, node_id, queues)
        self._hand_back = HandBack(database, finisher, on_returned)
        self._ending: set[Fence] = set()  # of what ends in transactions of their own
        self._is_leaving = False
        self._pauses: set[str] = set()  # why nothing is claimed
        self._is_spared, self._spared_until = False, 0.0  # when it claims again
        self._claimed_at = monotonic()  # the last time
        self._claiming = asyncio.Lock()  # held while a claim may bring something
        self._is_asked_to_go_on = False
        self.last_execution_at: datetime | None = None
        self._on_steps = on_steps
        self._is_each_said = says_all()  # as its log was configured before it
        self._loop = Loop("worker", self._tick, is_vital=True)
        self.has_looked = self._loop.has_ticked  # for work, for the first time
        finisher.serve(self)
        metrics.slots = self._slots_now

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        self._loop.start()

    @property
    def executing(self) -> int:
        return self._slots.busy

    @property
    def held(self) -> int:
        """Jobs this node has claimed and not settled."""
        return self._slots.busy + len(self._buffer) + self._finisher.unsettled

    @property
    def is_idle(self) -> bool:
        """Nothing is held here, being claimed, or known to be due."""
        return not (self.held or self._claimer.knows_work or self._claiming.locked())

    async def drain(self, seconds: float) -> int:
        """Claim nothing more, hand back what has not begun, let the rest end.

        Returns how many attempts were still running when the time was up; those are stopped and
        go back to the queue, with the fence raised and no try spent: the job did nothing wrong.
        """
        self._is_leaving = True
        await self._loop.stop()
        await self._hand_back.quiet()
        await self.put_back()
        left = await self._slots.empty(seconds)
        if left:
            self._slots.hand_back()
            await self._slots.empty(HAND_BACK_SECONDS)
        self.abandon()
        return left

    def abandon(self) -> None:
        """Stop everything at once and settle nothing."""
        self._is_leaving = True
        self._loop.abort()
        self._claimer.abort()
        self._buffer.clear()
        self._slots.abandon()
        self._targets.forget_running()

    # -- pausing and resizing --------------------------------------------------------------------

    @property
    def _is_claiming(self) -> bool:
        return not self._is_leaving and not self._pauses

    def pause_claiming(self, why: str) -> None:
        """Claim and begin nothing more; what runs goes on. `put_back` completes it."""
        self._pauses.add(why)

    def resume_claiming(self, why: str) -> None:
        """Go on, unless it is paused for another reason."""
        self._pauses.discard(why)
        self._claimer.look_again()  # what was handed back lies behind where it would go on
        self._loop.wake()

    def spare(self, is_spared: bool) -> None:
        """While this is true take little: the node has work that nobody else can do."""
        self._is_spared = is_spared
        self._loop.wake()

    async def put_back(self) -> None:
        """Hand back what was claimed and has not begun."""
        async with self._claiming:  # a claim under way brings its jobs first
            claimed = await self._claimer.stop()
            waiting = self._buffer.take_all()  # first: none of it may begin meanwhile
            await self._hand_back.release([*claimed, *waiting])

    def resize(self, workers: int) -> None:
        if workers < self.workers:
            self._buffer.shrink_to(workers)
        self.workers = workers
        self._slots.resize(_slots_of(workers))
        self._loop.wake()

    async def fall_to(self, count: int, seconds: float) -> int:
        """Let attempts end until no more than `count` run, for so long; returns how many run."""
        return await self._slots.fall_to(count, seconds)

    def hand_back_beyond(self, count: int) -> int:
        """Stop what runs beyond `count`; it goes on elsewhere. Returns how many."""
        return self._slots.hand_back(keep=count)

    def on_operation(self, listener: Callable[[], None]) -> None:
        """Hears that a look at the lines saw an operation of some node."""
        self._on_operation = listener

    @property
    def looked_seconds_ago(self) -> float:
        return self._claimer.peeked_seconds_ago

    # -- what it is told -------------------------------------------------------------------------

    def note(self, line: Line, due_at: datetime) -> None:
        """There is work in `line`."""
        self._claimer.note(line, due_at)
        self._loop.wake()

    async def stop_cancelled(self, named: set[UUID] | None = None) -> int:
        """Stop what PostgreSQL says is to stop, if one of `named` is here (None: any).

        Returns how many have been told so, now or before.
        """
        held = self.holds()
        if not held or (named is not None and held.isdisjoint(named)):
            return 0
        job_ids = held.intersection(await find_cancel_requested(self._database, self.node_id))
        for job_id in job_ids:
            self._cancel(job_id)
        return len(job_ids)

    def _cancel(self, job_id: UUID) -> None:
        self._slots.cancel(job_id)
        if (waiting := self._buffer.take_job(job_id)) is not None:
            self._settle(waiting, Cancelled(), monotonic())

    def holds(self) -> set[UUID]:
        """The jobs that run here or wait for a slot."""
        return self._slots.job_ids | self._buffer.job_ids

    @property
    def is_flooded(self) -> bool:
        """Does more work wait for slots?"""
        return bool(self._buffer)

    def settled(self, batch: list[Settlement]) -> None:
        """Places have become free, here and in queues with a limit."""
        self._claimer.ended_in({settlement.queue for settlement in batch})
        if self._targets.waiting:
            self._targets.settled(batch)
        self._loop.wake()

    def _ended(self, attempt: Attempt, outcome: Outcome, began_at: float) -> None:
        self._settle(attempt, outcome, began_at)  # first of all: whatever fails, it is not lost
        if attempt.target is not None:
            self._targets.ended(attempt, outcome)
        if not self._is_asked_to_go_on:  # once for all that end in this turn of the loop
            self._is_asked_to_go_on = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_asked_to_go_on = False
        self._begin()
        if self._room() > 0:
            self._loop.wake()

    # -- claiming --------------------------------------------------------------------------------

    async def _tick(self) -> float:
        if not self._lease.is_trusted:
            return 0.2
        if self._claimer.should_look:
            await self._hand_back.release_rows(await self._claimer.orphans())
        if not self._is_claiming:
            return POLL_IDLE_SECONDS  # whoever resumes wakes us
        if self._is_spared:
            rest = self._spared_until - monotonic()
            if rest > 0:
                return rest
            self._spared_until = monotonic() + SPARED_SECONDS
        async with self._claiming:
            return await self._claim()

    async def _claim(self) -> float:
        self._begin()  # what came while the lease was not trusted
        await self._hand_back.release(self._buffer.take_stale())
        most = self._room()
        if most <= 0 and not self._claimer.is_under_way:
            if self._claimer.should_peek:  # steps that follow may fill the buffer for long
                await self._claimer.peek()
            return POLL_IDLE_SECONDS  # a slot or the finisher will wake us
        solo = self._claimer.knows_suspect and not self._holds_suspect()
        if not self._claimer.knows_work and not solo:
            rest = self._claimer.rest_seconds()
            if rest > 0:
                return rest
            await self._claimer.peek()
        elif self._claimer.should_peek and not self._claimer.is_under_way:
            await self._claimer.peek()
        solo = self._claimer.knows_suspect and not self._holds_suspect()
        attempts, asked = await self._claimer.take(most, solo=solo)
        self._claimed_at = monotonic()
        more = self._room() - len(attempts)
        if len(attempts) == asked and more > 0 and not self._claimer.should_peek:
            # As much as we asked for: there is more.
            await self._claimer.go_on(more)
        self._take_in(attempts, asked)
        return 0.0 if attempts or self._claimer.knows_work else self._claimer.rest_seconds()

    def _room(self) -> int:
        waiting, ahead = len(self._buffer), self._buffer.ahead
        free = self._slots.free - self._reserved.slots
        if free <= 0 and waiting > ahead // 2:
            return 0  # enough for a while: the next claim is a larger one
        room = PREFETCH_MAX - self._finisher.unsettled
        most = SPARED_BATCH_MAX if self._is_spared else CLAIM_BATCH_MAX
        return min(free + ahead - waiting, most, room)

    def _holds_suspect(self) -> bool:
        return self._buffer.has_suspect or self._slots.has_suspect

    # -- beginning what this node itself accepts --------------------------------------------------

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        """Keep slots for jobs about to be inserted, if nothing else is waiting for them."""
        if not self._is_idle_enough():
            return None
        return self._reserved.keep(drafts, self._slots.free)

    def reserve_first(self, jobs: Sequence[StepJob]) -> Reservation | None:
        """The same for the first steps of executions."""
        if not self._is_idle_enough():
            return None
        return self._reserved.keep_steps(jobs, self._slots.free)

    def reserve_steps(self, jobs: Sequence[StepJob]) -> Reservation | None:
        """The same for steps that follow those which ended here: their slots have become free.

        They go before what waits in a line of no higher priority: work that was begun is ended
        first. But a chain may be long: what is known to wait has its claim once in a while.
        """
        if not self._is_claiming or not self._lease.is_trusted:
            return None
        if self._finisher.unsettled >= 2 * PREFETCH_MAX:
            return None
        if self._claimer.knows_above(min(job.priority for job in jobs)):
            return None
        others_wait = self._claimer.knows_work or self._claimer.knows_suspect
        if others_wait and monotonic() - self._claimed_at >= STEPS_FIRST_SECONDS:
            return None
        # Claims fill the buffer as far as it is learned to be of use; steps may, as far again.
        room = self._slots.free + 2 * self._buffer.ahead - len(self._buffer)
        return self._reserved.keep_steps(jobs, room)

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        self._reserved.release(reservation)
        if self._is_claiming:
            self._take_in(attempts, asked=0)
        elif attempts:
            # Drained in the meantime: hand them to the others.
            self._hand_back.soon(attempts, self._hand_back.release(attempts))

    def doubt(self, reservation: Reservation) -> None:
        """Nobody knows whether its jobs were inserted; those that were are handed back."""
        self._claimer.doubt(reservation.claim_id)

    def _is_idle_enough(self) -> bool:
        return (
            self._is_claiming
            and self._lease.is_trusted
            and not self._claimer.knows_work
            and not self._buffer
            and self._finisher.unsettled < PREFETCH_MAX
        )

    # -- running ---------------------------------------------------------------------------------

    def _take_in(self, attempts: list[Attempt], asked: int) -> None:
        if not attempts:
            return
        now = monotonic()
        is_starved = not self._buffer
        self.last_execution_at = attempts[-1].started_at
        steps: set[UUID] = set()
        self._metrics.age.observe_many(
            [
                (attempt.started_at - attempt.created_at).total_seconds()
                for attempt in attempts
                if attempt.number == 1
            ]
        )
        for attempt in attempts:
            instant = self._kinds.instant.get(attempt.kind)
            if instant is not None:
                self._settle(attempt, self._slots.perform_now(instant, attempt), now)
            else:
                self._buffer.take_in(now, attempt)
                if attempt.execution_id is not None:
                    steps.add(attempt.execution_id)
        if steps:
            self._on_steps(steps)
        self._park(*self._buffer.take_refused(self._targets.why_not))
        self._begin()
        is_too_little = bool(asked) and is_starved and len(attempts) == asked
        self._buffer.learn(now, was_too_little=is_too_little)

    def _begin(self) -> None:
        free = self._slots.free
        if not free or not self._is_claiming or not self._lease.is_trusted:
            return
        while self._buffer and free > 0:
            attempt = self._buffer.popleft()[1]
            if attempt.target is not None:
                if reason := self._targets.why_not(attempt):
                    self._park([attempt], [reason])
                    continue
                self._targets.began(attempt)
            if self._is_each_said:
                say_started(attempt)
            self._slots.begin(attempt)
            free -= 1

    def _slots_now(self) -> dict[str, int]:
        return {
            "busy": self._slots.busy,
            "free": self._slots.free,
            "buffered": len(self._buffer),
        }

    def _settle(self, attempt: Attempt, outcome: Outcome, began_at: float) -> None:
        if (own := attempt.own) is not None:
            work = self._settle_own(attempt, own, outcome, began_at)
            ending = self._finisher.apart(work)
            # Given up, perhaps before its first turn, it still holds a connection.
            ending.add_done_callback(lambda _: own.abort())
            self._ending.add(attempt.fence)
            ending.add_done_callback(lambda _: self._ending.discard(attempt.fence))
            return
        settlement = settle_or_bury(attempt, outcome, chance())
        settlement.duration_seconds = monotonic() - began_at
        if self._is_each_said:
            settlement.subject = attempt
        self._finisher.put(settlement)

    async def _settle_own(
        self, attempt: Attempt, own: OwnSession, outcome: Outcome, began_at: float
    ) -> None:
        """It wrote in a transaction that is to be committed with its end, or not at all."""
        try:
            if isinstance(outcome, Succeeded):
                settlement = settle(attempt, outcome, chance())
                settlement.duration_seconds = monotonic() - began_at
                ended = await commit_and_finish(own, self._database, settlement)
                if isinstance(ended, Effects):
                    self._finisher.was_apart(settlement, ended)
                    return
                outcome = ended
            else:
                await own.roll_back()
        except Exception as trouble:  # under the same fence: if it was committed this says nothing
            log.warning("own_end_failed", job=f"job_{attempt.job_id.hex}", reason=repr(trouble))
            outcome = Failed(type(trouble).__name__, f"its transaction was not ended: {trouble}")
        attempt.own = None
        self._settle(attempt, outcome, began_at)

    # -- handing back ----------------------------------------------------------------------------

    def _park(self, attempts: list[Attempt], reasons: list[str]) -> None:
        if attempts:
            parking = self._hand_back.park(attempts, reasons, self._targets.parked)
            self._hand_back.soon(attempts, parking)

    async def reconcile(self, older_than_seconds: float) -> int:
        """Hand back what the database thinks we run and we do not: a claim's answer was lost."""
        before = self._fences()
        rows = await claims.find_claimed(self._database, self.node_id, older_than_seconds)
        if all((row["id"], row["claim_id"]) in before for row in rows):
            return 0
        async with self._claiming:  # nothing is between a claim and the buffer
            mine, coming = before | self._fences(), self._claimer.claim_ids
            coming |= self._reserved.claim_ids
            orphans = [
                row
                for row in rows
                if (row["id"], row["claim_id"]) not in mine and row["claim_id"] not in coming
            ]
            await self._hand_back.release_rows(orphans)
        return len(orphans)

    def _fences(self) -> set[Fence]:
        """Every claim that this node knows of and has not settled in the database."""
        brought = {attempt.fence for attempt in self._claimer.brought()}
        parts = (self._slots, self._buffer, self._finisher, self._hand_back)
        return brought.union(self._ending, *(part.fences for part in parts))


def _slots_of(workers: int) -> int:
    """With no workers at all jobs run inline: one at a time."""
    return max(workers, 1)
