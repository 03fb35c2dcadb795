"""The worker: claims due jobs and runs them in slots.

    lines with work -> claim -> buffer -> slots (or at once, for instant kinds) -> finisher

It claims ahead by a bounded amount that adapts: while claimed jobs begin at once the amount
doubles, when they have to wait it halves. So short jobs flow in large batches, and long ones are
left for other nodes to take. What waits in the buffer too long is handed back.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID, uuid4

import structlog

from windlass.clock import monotonic
from windlass.engine import claim as claims
from windlass.engine.announce import Announcer, Line
from windlass.engine.enqueue import Reservation
from windlass.errors import Unavailable
from windlass.limits import (
    CLAIM_BATCH_MAX,
    CRASHES_SOLO,
    PEEK_REST_FACTOR,
    POLL_BUSY_SECONDS,
    POLL_IDLE_SECONDS,
    PREFETCH_HOLD_SECONDS,
    PREFETCH_MAX,
)
from windlass.model.attempt import Attempt
from windlass.model.draft import Draft
from windlass.model.outcome import Cancelled, Failed, Outcome, TimedOut
from windlass.model.settle import settle
from windlass.runtime.finisher import Finisher
from windlass.runtime.lease import Lease
from windlass.runtime.loop import Loop
from windlass.store.database import Database
from windlass.strategies.strategy import Instant, Strategy
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()


@dataclass(slots=True)
class Running:
    """An attempt in its slot. `stop` says why its task was cancelled; None: it was not."""

    attempt: Attempt
    task: asyncio.Task[None]
    stop: Literal["cancelled", "abandoned"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """What this node can perform."""

    instant: Mapping[str, Instant]
    slotted: Mapping[str, Strategy]
    timeout_seconds: Mapping[str, float]  # of kinds with a setting of their own
    default_timeout_seconds: float


class Worker:
    def __init__(
        self,
        *,
        database: Database,
        announcer: Announcer,
        finisher: Finisher,
        lease: Lease,
        metrics: Metrics,
        kinds: Kinds,
        node_id: UUID,
        workers: int,
    ) -> None:
        self._database = database
        self._finisher = finisher
        self._lease = lease
        self._metrics = metrics
        self._kinds = kinds
        self.node_id = node_id
        # With no workers at all jobs run inline: one at a time.
        self._slots = max(workers, 1)
        self._ahead = 0 if workers == 0 else 1
        self._frontier = claims.Frontier()
        self._buffer: deque[tuple[float, Attempt]] = deque()
        self._running: dict[UUID, Running] = {}
        self._reserved = 0  # places kept for what is being inserted
        self._handing_back: asyncio.Task[None] | None = None
        self._under_way: tuple[asyncio.Task[list[Attempt]], int] | None = None
        self._peeked_at = 0.0
        self._poll_seconds = POLL_BUSY_SECONDS
        self._is_claiming = True
        self.last_execution_at: datetime | None = None
        self._loop = Loop("worker", self._tick)
        finisher.on_room = self._loop.wake
        announcer.on_line(self._note)
        announcer.on_cancel(self.cancel)

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        self._loop.start()

    @property
    def executing(self) -> int:
        return len(self._running)

    @property
    def held(self) -> int:
        """Jobs this node has claimed and not settled."""
        return len(self._running) + len(self._buffer) + self._finisher.unsettled

    def holds(self) -> set[UUID]:
        return {*self._running, *(attempt.job_id for _, attempt in self._buffer)}

    async def drain(self, seconds: float) -> int:
        """Claim nothing more, hand back what has not begun, let the rest end.

        Returns how many attempts were still running when the time was up; those are stopped and
        handed back as lost when the node leaves.
        """
        self._is_claiming = False
        await self._loop.stop()
        if self._handing_back is not None:
            await self._handing_back
        claimed = await self._take_under_way()
        await self._hand_back([*claimed, *(attempt for _, attempt in self._take_buffer())])
        tasks = [running.task for running in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)
        left = len(self._running)
        self.abandon()
        return left

    def abandon(self) -> None:
        """Stop everything at once and settle nothing."""
        self._is_claiming = False
        self._loop.abort()
        if self._under_way is not None:
            self._under_way[0].cancel()
        self._buffer.clear()
        for running in self._running.values():
            running.stop = "abandoned"
            running.task.cancel()

    def cancel(self, job_id: UUID) -> None:
        """Stop a running attempt because somebody asked for it."""
        running = self._running.get(job_id)
        if running is not None and running.stop is None:
            running.stop = "cancelled"
            running.task.cancel()

    # -- claiming --------------------------------------------------------------------------------

    def _note(self, line: Line, due_at: datetime) -> None:
        self._frontier.note(line, due_at)
        self._poll_seconds = POLL_BUSY_SECONDS
        self._loop.wake()

    async def _tick(self) -> float:
        if not self._is_claiming or not self._lease.is_trusted:
            return 0.2
        await self._hand_back_stale()
        places = self._places()
        if places <= 0 and self._under_way is None:
            return POLL_IDLE_SECONDS  # a slot or the finisher will wake us
        if self._under_way is None and not self._frontier.since and not self._frontier.has_solo:
            rest = self._rest_before_peek()
            if rest > 0:
                return rest
            await self._peek()
        attempts, places = await self._next_claim(places)
        if len(attempts) == places:
            await self._claim_meanwhile(len(attempts))
        self._take_in(attempts, places)
        if attempts or self._frontier.since:
            return 0.0
        return self._rest_before_peek()

    async def _next_claim(self, places: int) -> tuple[list[Attempt], int]:
        """The claim that is under way, or a new one; and how many places it asked for."""
        if self._under_way is None:
            return await self._claim(places), places
        task, asked = self._under_way
        self._under_way = None
        return await task, asked

    async def _claim_meanwhile(self, incoming: int) -> None:
        """There was as much as we asked for: let PostgreSQL claim more while we begin these."""
        places = self._places() - incoming
        if places > 0:
            self._under_way = asyncio.create_task(self._claim(places)), places
            await asyncio.sleep(0)  # it goes out before the work starts

    def _places(self) -> int:
        free = self._slots - len(self._running) - self._reserved
        room = PREFETCH_MAX - self._finisher.unsettled
        return min(free + self._ahead - len(self._buffer), CLAIM_BATCH_MAX, room)

    def _rest_before_peek(self) -> float:
        """Until the next poll, or until the next job is due if that is sooner."""
        rest = self._peeked_at + self._poll_seconds - monotonic()
        due_at = self._frontier.next_due_at
        if due_at is not None:
            rest = min(rest, (due_at - self._frontier.now()).total_seconds())
        return max(0.0, rest)

    async def _peek(self) -> None:
        start = monotonic()
        await claims.peek(self._database, self._frontier)
        self._peeked_at = monotonic()
        rest = POLL_BUSY_SECONDS if self._frontier.since else self._poll_seconds * 1.5
        # A peek reads lines from their start, over dead rows if somebody's transaction keeps them:
        # however long that takes, it takes a small share of the time.
        least = PEEK_REST_FACTOR * (self._peeked_at - start)
        self._poll_seconds = min(max(rest, least), POLL_IDLE_SECONDS)

    async def _claim(self, places: int) -> list[Attempt]:
        start = monotonic()
        attempts: list[Attempt] = []
        if self._frontier.has_solo and self._solo_is_free():
            self._frontier.has_solo = False
            attempts += await claims.claim_solo(self._database, self.node_id)
        if self._frontier.limited:
            attempts += await claims.claim_limited(
                self._database, self.node_id, self._frontier, places
            )
        if len(attempts) < places:
            attempts += await claims.claim(
                self._database, self.node_id, self._frontier, places - len(attempts)
            )
        self._metrics.claim.observe(monotonic() - start)
        return attempts

    def _solo_is_free(self) -> bool:
        return not any(r.attempt.crashes >= CRASHES_SOLO for r in self._running.values())

    # -- beginning what this node itself accepts --------------------------------------------------

    def reserve(self, drafts: Sequence[Draft]) -> Reservation | None:
        """Keep places for jobs about to be inserted, if nothing else is waiting for them."""
        if not self._is_idle_enough():
            return None
        free = self._slots - len(self._running) - self._reserved
        starts = []
        for draft in drafts:
            starts_now = draft.run_at is None and not draft.delay_seconds
            if draft.kind not in self._kinds.instant:
                starts_now = starts_now and free > 0
                free -= starts_now
            starts.append(starts_now)
        if not any(starts):
            return None
        self._reserved += sum(starts)
        return Reservation(node_id=self.node_id, claim_id=uuid4(), starts=starts)

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        self._reserved -= sum(reservation.starts)
        if not self._is_claiming:
            # Drained in the meantime: hand them to the others.
            self._handing_back = asyncio.create_task(self._hand_back(attempts))
            return
        self._take_in(attempts, places=0)

    def _is_idle_enough(self) -> bool:
        return (
            self._is_claiming
            and self._lease.is_trusted
            and not self._frontier.since
            and not self._buffer
            and self._under_way is None
            and self._finisher.unsettled + self._reserved < PREFETCH_MAX
        )

    # -- running ---------------------------------------------------------------------------------

    def _take_in(self, attempts: list[Attempt], places: int) -> None:
        if not attempts:
            return
        now = monotonic()
        self.last_execution_at = attempts[-1].started_at
        for attempt in attempts:
            instant = self._kinds.instant.get(attempt.kind)
            if attempt.number == 1:
                age = (attempt.started_at - attempt.created_at).total_seconds()
                self._metrics.age.observe(age)
            if instant is not None:
                self._settle(attempt, self._perform_now(instant, attempt), now)
            else:
                self._buffer.append((now, attempt))
        self._begin()
        if places and not self._buffer and len(attempts) == places:
            self._ahead = min(max(self._ahead * 2, 1), PREFETCH_MAX)
        elif len(self._buffer) > self._ahead // 2:
            self._ahead //= 2

    def _begin(self) -> None:
        while self._buffer and len(self._running) < self._slots and self._lease.is_trusted:
            _, attempt = self._buffer.popleft()
            task = asyncio.create_task(self._run(attempt))
            self._running[attempt.job_id] = Running(attempt=attempt, task=task)
        self._metrics.slots(
            busy=len(self._running),
            free=max(0, self._slots - len(self._running)),
            buffered=len(self._buffer),
        )

    async def _run(self, attempt: Attempt) -> None:
        begun = monotonic()
        try:
            outcome = await self._perform_until_deadline(attempt)
        except asyncio.CancelledError:
            running = self._running.get(attempt.job_id)
            if running is None or running.stop != "cancelled":
                return  # abandoned: this node's word counts no more
            outcome = Cancelled()
        finally:
            running = self._running.pop(attempt.job_id, None)
        if running is not None and running.stop != "abandoned":
            self._settle(attempt, outcome, begun)
            self._begin()
            self._loop.wake()

    async def _perform_until_deadline(self, attempt: Attempt) -> Outcome:
        strategy = self._kinds.slotted.get(attempt.kind)
        if strategy is None:
            return Failed("unknown_kind", f"this node cannot perform kind {attempt.kind!r}")
        seconds = self._timeout_seconds(attempt)
        try:
            async with asyncio.timeout(seconds):
                return await strategy.perform(attempt)
        except TimeoutError:
            return TimedOut(seconds)
        except Exception as trouble:
            log.exception("strategy_failed", kind=attempt.kind, job=f"job_{attempt.job_id.hex}")
            return Failed(type(trouble).__name__, str(trouble))

    def _timeout_seconds(self, attempt: Attempt) -> float:
        if attempt.timeout_ms is not None:
            return attempt.timeout_ms / 1000
        return self._kinds.timeout_seconds.get(attempt.kind, self._kinds.default_timeout_seconds)

    def _perform_now(self, instant: Instant, attempt: Attempt) -> Outcome:
        try:
            return instant.perform_now(attempt)
        except Exception as trouble:
            log.exception("strategy_failed", kind=attempt.kind, job=f"job_{attempt.job_id.hex}")
            return Failed(type(trouble).__name__, str(trouble))

    def _settle(self, attempt: Attempt, outcome: Outcome, begun: float) -> None:
        settlement = settle(attempt, outcome, random.random())
        settlement.duration_seconds = monotonic() - begun
        self._finisher.put(settlement)

    # -- handing back ----------------------------------------------------------------------------

    async def _hand_back_stale(self) -> None:
        if not self._buffer or monotonic() - self._buffer[0][0] < PREFETCH_HOLD_SECONDS:
            return
        limit = monotonic() - PREFETCH_HOLD_SECONDS
        stale = [attempt for since, attempt in self._buffer if since < limit]
        self._buffer = deque(entry for entry in self._buffer if entry[0] >= limit)
        self._ahead = 0
        await self._hand_back(stale)

    async def _take_under_way(self) -> list[Attempt]:
        if self._under_way is None:
            return []
        task, _ = self._under_way
        self._under_way = None
        try:
            return await task
        except Unavailable:
            return []  # `reconcile`, or the end of the lease, finds what it may have claimed

    def _take_buffer(self) -> list[tuple[float, Attempt]]:
        taken = list(self._buffer)
        self._buffer.clear()
        return taken

    async def _hand_back(self, attempts: list[Attempt]) -> None:
        if not attempts:
            return
        for _ in range(3):
            try:
                await claims.release(self._database, attempts)
                return
            except Unavailable:
                await asyncio.sleep(0.2)
        # The node's lease will lapse or `reconcile` will find them: they are not lost.
        log.warning("hand_back_failed", count=len(attempts))

    async def reconcile(self, older_than_seconds: float) -> int:
        """Hand back what the database thinks we run and we do not: a claim's answer was lost."""
        rows = await claims.held(self._database, self.node_id, older_than_seconds)
        mine = self.holds()
        orphans = [row for row in rows if row["id"] not in mine]
        if not orphans or self._finisher.unsettled:
            return 0
        log.warning("claims_reconciled", count=len(orphans))
        await claims.release_rows(self._database, orphans)
        return len(orphans)
