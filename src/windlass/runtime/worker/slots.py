"""Slots: the concurrency limit of a node; where attempts run, each under its timeout.

    begin -+- its strategy begins it elsewhere (a thread, the users' loop): it is only waited for
           '- a task of the node's loop performs it
    -> the end of its work, a stop, or its deadline, whichever is first -> `on_end`, once

A timer of the loop costs as much as a short task, and most attempts end long before their timeout.
So a deadline gets one only if its attempt still runs after a while (`Deadlines`); until then it
stands in a list that a single timer looks through.

    set  set  set  set ..  one look after DEADLINE_LOOK_SECONDS  ..>  timers for those still there

Some slots are kept for jobs that this node itself accepts, while they are inserted
(`Reservations`). A reserved slot is free and yet not to be claimed for. It is given back when the
insert has been answered, whatever the answer is; in doubt the worker looks for what may have been
inserted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal
from uuid import UUID, uuid4

import structlog

from windlass.clock import monotonic
from windlass.engine.executions.step_rows import StepJob
from windlass.engine.upcalls import Reservation
from windlass.limits import CRASHES_SOLO, DEADLINE_LOOK_SECONDS
from windlass.model.cluster.served import ServedQueues
from windlass.model.job.attempt import Attempt, Fence
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Cancelled, Failed, Outcome, Snoozed, TimedOut
from windlass.runtime.worker.kinds import Kinds
from windlass.strategies.strategy import Begin, Instant, Work

log = structlog.get_logger()

# Hears of an attempt that ended: its outcome, and when it began (monotonic).
OnEnd = Callable[[Attempt, Outcome, float], None]
Stop = Literal["cancelled", "handed_back", "abandoned"]


class Deadline:
    """An instant by which somebody has to have ended; `Deadlines` sees to it."""

    __slots__ = ("at", "is_over", "timer")

    def __init__(self, at: float) -> None:
        self.at = at  # by the loop's clock
        self.timer: asyncio.TimerHandle | None = None  # None: it has none yet
        self.is_over = False

    def pass_by(self) -> None:
        """The instant has come."""
        raise NotImplementedError

    def cancel(self) -> None:
        self.is_over = True  # it stays in the list for a while
        if self.timer is not None:
            self.timer.cancel()


class Running(Deadline):
    """An attempt in its slot. It has either work that is done elsewhere, and with it a deadline, or
    a task.
    """

    __slots__ = ("_slots", "attempt", "began_at", "has_begun", "stop", "task", "work")

    def __init__(self, attempt: Attempt, slots: Slots) -> None:
        # Not by super: one is made for each attempt.
        self.at = 0.0
        self.timer = None
        self.is_over = False
        self._slots = slots
        self.attempt = attempt
        self.began_at = monotonic()
        self.work: Work | None = None
        self.task: asyncio.Task[None] | None = None
        self.has_begun = False  # False: its task has not had its first turn
        self.stop: Stop | None = None  # why it was stopped; None: it was not

    def end(self, outcome: Outcome) -> None:
        """Its work has ended."""
        self._slots.leave(self, outcome)

    def pass_by(self) -> None:
        self._slots.stop_late(self)


class Slots:
    def __init__(self, kinds: Kinds, count: int, on_end: OnEnd) -> None:
        self._kinds = kinds
        self._on_end = on_end
        self._running: dict[UUID, Running] = {}
        self._left = asyncio.Event()  # a slot has become free, and somebody waits for that
        self._is_awaited = False
        self._deadlines = Deadlines()
        self.count = count

    @property
    def busy(self) -> int:
        return len(self._running)

    @property
    def free(self) -> int:
        return max(0, self.count - len(self._running))

    @property
    def job_ids(self) -> set[UUID]:
        return set(self._running)

    @property
    def fences(self) -> set[Fence]:
        return {running.attempt.fence for running in self._running.values()}

    @property
    def has_suspect(self) -> bool:
        """Is a job on its last chance running here?"""
        return any(r.attempt.crashes >= CRASHES_SOLO for r in self._running.values())

    def perform_now(self, instant: Instant, attempt: Attempt) -> Outcome:
        """One of an instant kind, here and now: it takes no slot."""
        try:
            return instant.perform_now(attempt)
        except Exception as trouble:
            return _broken(attempt, trouble)

    def begin(self, attempt: Attempt) -> None:
        running = self._running[attempt.job_id] = Running(attempt, self)
        strategy = self._kinds.slotted.get(attempt.kind)
        begin: Begin | None = getattr(strategy, "begin", None)
        loop = asyncio.get_running_loop()
        if begin is not None:
            try:
                running.work = begin(attempt, running.end)
            except Exception as trouble:  # performing it will say what is wrong
                log.warning("begin_failed", kind=attempt.kind, exc_info=trouble)
        if running.work is None:
            running.task = loop.create_task(self._perform(running))
            return
        self._deadlines.watch(loop, self._timeout_seconds(attempt), running)

    def cancel(self, job_id: UUID) -> None:
        """Stop an attempt because somebody asked for it."""
        running = self._running.get(job_id)
        if running is not None and running.stop is None:
            self._stop(running, "cancelled")

    def resize(self, count: int) -> None:
        """From now on so many; what runs beyond them goes on to its end."""
        self.count = count

    def hand_back(self, keep: int = 0) -> int:
        """Stop what still runs at the end of a drain; it goes on elsewhere and spends no try.

        The `keep` that have run longest are left alone. Returns how many were stopped.
        """
        stopped = [r for r in list(self._running.values())[keep:] if r.stop is None]
        for running in stopped:
            self._stop(running, "handed_back")
        return len(stopped)

    def abandon(self) -> None:
        """Stop everything at once and say nothing: this node's word counts no more."""
        stopped = list(self._running.values())
        for running in stopped:
            running.stop = "abandoned"  # first: to stop one may bring the ends of others
        for running in stopped:
            self._stop(running, "abandoned")

    async def empty(self, seconds: float) -> int:
        """Let what runs end, for so long; returns how many still run."""
        return await self.fall_to(0, seconds)

    async def fall_to(self, count: int, seconds: float) -> int:
        """Let what runs end until no more than `count` run, for so long; returns how many run."""
        try:
            async with asyncio.timeout(seconds):
                while len(self._running) > count:
                    self._left.clear()
                    self._is_awaited = True  # there may be two: who leaves sets it for both
                    await self._left.wait()
        except TimeoutError:
            pass
        return len(self._running)

    # -- one attempt -----------------------------------------------------------------------------

    def _timeout_seconds(self, attempt: Attempt) -> float:
        if attempt.timeout_ms is not None:
            return attempt.timeout_ms / 1000
        kinds = self._kinds
        return kinds.timeout_seconds.get(attempt.kind, kinds.default_timeout_seconds)

    def _stop(self, running: Running, why: Stop) -> None:
        if running.is_over:
            return  # it ended while others were stopped
        running.stop = why
        if running.work is not None:
            is_stopped = running.work.stop()  # False: it has ended, and its outcome comes
        else:
            assert running.task is not None
            running.task.cancel()
            # A task cancelled before its first turn never runs: nobody else would settle this.
            is_stopped = not running.has_begun
        if is_stopped:
            self.leave(running, _outcome_of(why))

    def stop_late(self, running: Running) -> None:
        """Its work has lasted longer than it may."""
        assert running.work is not None, "its deadline ends with it"
        if running.work.stop():
            self.leave(running, TimedOut(self._timeout_seconds(running.attempt)))

    async def _perform(self, running: Running) -> None:
        running.has_begun = True
        try:
            outcome: Outcome = await self._perform_until_deadline(running.attempt)
        except asyncio.CancelledError:
            outcome = _outcome_of(running.stop)
        self.leave(running, outcome)

    async def _perform_until_deadline(self, attempt: Attempt) -> Outcome:
        strategy = self._kinds.slotted.get(attempt.kind)
        if strategy is None:
            return self._kinds.unknown(attempt.kind)
        seconds = self._timeout_seconds(attempt)
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None
        # As asyncio.timeout does it, at a tenth of its price: this is done for every attempt.
        is_late = False

        def stop() -> None:
            nonlocal is_late
            is_late = True
            task.cancel()

        asked_before = task.cancelling()
        deadline = self._deadlines.after(loop, seconds, stop)
        try:
            return await strategy.perform(attempt)
        except asyncio.CancelledError:
            if is_late and task.cancelling() - 1 <= asked_before:
                return TimedOut(seconds)
            raise  # somebody else stopped it as well, or alone
        except Exception as trouble:
            return _broken(attempt, trouble)
        finally:
            deadline.cancel()
            if is_late:
                task.uncancel()

    def leave(self, running: Running, outcome: Outcome) -> None:
        """It has ended, and its slot is free."""
        attempt = running.attempt
        if self._running.get(attempt.job_id) is running:
            del self._running[attempt.job_id]
        running.is_over = True
        if running.timer is not None:
            running.timer.cancel()
        running.work = None  # which knows us: nothing is to wait for the collector
        if self._is_awaited:
            self._left.set()
        if running.stop != "abandoned":
            self._on_end(attempt, outcome, running.began_at)
        elif attempt.own is not None:
            attempt.own.abort()  # nobody settles it


def _outcome_of(stop: Stop | None) -> Outcome:
    """What became of an attempt that was stopped, or that stopped itself."""
    match stop:
        case "cancelled":
            return Cancelled()
        case "handed_back" | "abandoned":
            return Snoozed(0.0)
        case None:
            return Failed("CancelledError", "the work was cancelled from inside")


def _broken(attempt: Attempt, trouble: Exception) -> Failed:
    """A strategy turns what happens outside into outcomes; that it raised is a bug of ours."""
    log.error(
        "strategy_failed", kind=attempt.kind, job=f"job_{attempt.job_id.hex}", exc_info=trouble
    )
    return Failed(type(trouble).__name__, str(trouble))


class Deadlines:
    """Belongs to the loop that it is first used on."""

    def __init__(self) -> None:
        self._fresh: list[Deadline] = []  # none of them has a timer

    def after(
        self, loop: asyncio.AbstractEventLoop, seconds: float, stop: Callable[[], object]
    ) -> Deadline:
        """Call `stop` after so long, unless it is cancelled before."""
        deadline = _CalledDeadline(stop)
        self.watch(loop, seconds, deadline)
        return deadline

    def watch(self, loop: asyncio.AbstractEventLoop, seconds: float, deadline: Deadline) -> None:
        """It passes after so long, unless it is over before."""
        deadline.at = loop.time() + seconds
        if seconds <= DEADLINE_LOOK_SECONDS:
            deadline.timer = loop.call_at(deadline.at, deadline.pass_by)
            return
        if not self._fresh:
            loop.call_later(DEADLINE_LOOK_SECONDS, self._look, loop)
        self._fresh.append(deadline)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        fresh, self._fresh = self._fresh, []
        for deadline in fresh:
            if not deadline.is_over:
                deadline.timer = loop.call_at(deadline.at, deadline.pass_by)


class _CalledDeadline(Deadline):
    __slots__ = ("_stop",)

    def __init__(self, stop: Callable[[], object]) -> None:
        super().__init__(0.0)
        self._stop = stop

    def pass_by(self) -> None:
        self._stop()

    def cancel(self) -> None:
        super().cancel()
        self._stop = _nothing  # who stays in the list holds nobody there


def _nothing() -> None:
    pass


class Reservations:
    def __init__(self, kinds: Kinds, node_id: UUID, queues: ServedQueues) -> None:
        self._kinds, self._queues = kinds, queues
        self._node_id = node_id
        self.slots = 0  # how many are kept now
        self.claim_ids: set[UUID] = set()  # of inserts that are on their way

    def keep(self, drafts: Sequence[Draft], slots_free: int) -> Reservation | None:
        """Places for those of `drafts` that may begin at once; None if none may."""
        return self._keep(
            [
                (
                    draft.kind,
                    draft.is_due
                    and draft.parked_for is None
                    and self._queues.include(draft.queue)
                    and self._kinds.perform(draft.kind, draft.task),
                )
                for draft in drafts
            ],
            slots_free,
        )

    def keep_steps(self, jobs: Sequence[StepJob], slots_free: int) -> Reservation | None:
        """The same for steps, which are due when they are inserted."""
        return self._keep(
            [
                (
                    job.work.kind,
                    self._queues.include(job.work.queue)
                    and self._kinds.perform(job.work.kind, job.decision.task),
                )
                for job in jobs
            ],
            slots_free,
        )

    def _keep(self, asked: Sequence[tuple[str, bool]], slots_free: int) -> Reservation | None:
        free = slots_free - self.slots
        starts, slots = [], 0
        for kind, is_due in asked:
            needs_slot = kind not in self._kinds.instant
            starts.append(is_due and not (needs_slot and slots >= free))
            slots += starts[-1] and needs_slot
        if not any(starts):
            return None
        self.slots += slots
        claim_id = uuid4()
        self.claim_ids.add(claim_id)
        return Reservation(node_id=self._node_id, claim_id=claim_id, starts=starts, slots=slots)

    def release(self, reservation: Reservation) -> None:
        self.slots -= reservation.slots
        self.claim_ids.discard(reservation.claim_id)
