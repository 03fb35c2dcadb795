"""Polling for work and claiming it, with a backoff while there is none.

Lines are learned from wake-ups and from peeks (see engine.jobs.claim). Without news a peek is
repeated after a rest that grows from busy to idle; a job that waits for its time ends the rest on
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from uuid import UUID, uuid4

from windlass.clock import monotonic
from windlass.engine.effects import Line
from windlass.engine.jobs import claim as claims
from windlass.errors import Unavailable
from windlass.limits import (
    DOUBT_LOOK_SECONDS,
    DOUBT_SECONDS,
    PEEK_REST_FACTOR,
    POLL_BUSY_SECONDS,
    POLL_HINTED_SECONDS,
    POLL_IDLE_SECONDS,
)
from windlass.model.cluster.served import ServedWork
from windlass.model.job.attempt import Attempt
from windlass.store.database import Database, Record
from windlass.telemetry.metrics import Metrics


class Claimer:
    def __init__(
        self,
        database: Database,
        metrics: Metrics,
        node_id: UUID,
        *,
        served: Callable[[], ServedWork] = ServedWork,  # what the node takes; it may change
        is_hinted: Callable[[], bool] = lambda: False,  # do others tell of new work?
        on_operation: Callable[[], None] = lambda: None,  # the peek saw one, of some node
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._node_id = node_id
        self._served = served
        self._frontier = claims.Frontier(served())
        self._under_way: tuple[asyncio.Task[list[Attempt]], int] | None = None
        self._asked: set[UUID] = set()  # claims whose answer has not come
        self._peeked_at = 0.0
        self._doubted: dict[UUID, float] = {}  # claims without an answer, and since when
        self._looked_at = 0.0
        self._poll_seconds = POLL_BUSY_SECONDS
        self._peek_rest_seconds = POLL_BUSY_SECONDS
        self._peek_took = 0.0
        self._is_hinted, self._on_operation = is_hinted, on_operation

    @property
    def is_under_way(self) -> bool:
        return self._under_way is not None

    @property
    def knows_work(self) -> bool:
        """Is something due, as far as we know?"""
        return bool(self._frontier.since or self._under_way)

    def knows_above(self, priority: int) -> bool:
        """Is something due in a line of a higher priority, as far as we know?"""
        return any(line[1] > priority for line in self._frontier.since)

    @property
    def knows_suspect(self) -> bool:
        """Is a job on its last chance due, to be claimed alone?"""
        return self._frontier.has_solo

    def look_again(self) -> None:
        """The next rest is over: what is known of the lines is out of date."""
        self._peeked_at = 0.0

    @property
    def peeked_seconds_ago(self) -> float:
        return monotonic() - self._peeked_at

    @property
    def should_peek(self) -> bool:
        """Even with plenty to do: a job may have become due elsewhere, or its hint got lost."""
        since_peek = monotonic() - self._peeked_at
        if since_peek < self._peek_rest_seconds:
            return False
        due_at = self._frontier.next_due_at
        is_due = due_at is not None and due_at <= self._frontier.now()
        return is_due or since_peek >= POLL_IDLE_SECONDS

    def note(self, line: Line, due_at: datetime) -> None:
        """Somebody said that `line` has work."""
        self._frontier.note(line, due_at)
        self._poll_seconds = POLL_BUSY_SECONDS

    def ended_in(self, queues: set[str]) -> None:
        """Jobs of these queues ended here: a queue's own limit may have room again."""
        if self._frontier.full:
            self._frontier.ended_in(queues)

    def rest_seconds(self) -> float:
        """Until the next peek, or until the next job is due if that is sooner."""
        rest = self._peeked_at + self._poll_seconds - monotonic()
        due_at = self._frontier.next_due_at
        if due_at is not None:
            rest = min(rest, (due_at - self._frontier.now()).total_seconds())
        return max(0.0, rest)

    async def peek(self) -> None:
        start = monotonic()
        self._frontier.served = self._served()
        await claims.peek(self._database, self._frontier)
        self._peeked_at = monotonic()
        # A peek reads lines from their start, over dead rows if somebody's transaction keeps them:
        # however long that takes, it takes a small share of the time.
        # Of two in a row the quicker one says how long: a pause of the machine is nobody's cost.
        before, self._peek_took = self._peek_took, self._peeked_at - start
        cost = PEEK_REST_FACTOR * min(before, self._peek_took)
        self._peek_rest_seconds = max(cost, POLL_BUSY_SECONDS)
        rest = POLL_BUSY_SECONDS if self._frontier.since else self._poll_seconds * 1.5
        idle = POLL_HINTED_SECONDS if self._is_hinted() else POLL_IDLE_SECONDS
        self._poll_seconds = min(max(rest, cost), idle)
        if self._frontier.has_operation:
            self._on_operation()

    async def take(self, most: int, *, solo: bool) -> tuple[list[Attempt], int]:
        """The claim that is under way, or a new one; and how many it asked for.

        `solo`: a job on its last chance may be among them.
        """
        if self._under_way is None:
            return await self._claim(most, solo=solo), most
        task, asked = self._under_way
        self._under_way = None
        return await task, asked

    async def go_on(self, most: int) -> None:
        """Let PostgreSQL claim more while the node is busy with what it has."""
        self._under_way = asyncio.create_task(self._claim(most, solo=False)), most
        await asyncio.sleep(0)  # it goes out before the work starts

    async def stop(self) -> list[Attempt]:
        """What a claim under way still brings."""
        if self._under_way is None:
            return []
        task, _ = self._under_way
        self._under_way = None
        try:
            return await task
        except Unavailable:
            return []  # `reconcile`, or the end of the lease, finds what it may have claimed

    def abort(self) -> None:
        if self._under_way is not None:
            self._under_way[0].cancel()

    # -- claims whose answer was lost --------------------------------------------------------------

    def doubt(self, claim_id: UUID) -> None:
        """Nobody knows what this claim took."""
        self._doubted[claim_id] = monotonic()

    @property
    def claim_ids(self) -> set[UUID]:
        """Claims that may have taken what nobody here knows of yet."""
        return self._asked | self._doubted.keys()

    def brought(self) -> list[Attempt]:
        """What a claim under way has taken already."""
        task = self._under_way[0] if self._under_way is not None else None
        if task is None or not task.done() or task.cancelled() or task.exception() is not None:
            return []
        return task.result()

    @property
    def should_look(self) -> bool:
        return bool(self._doubted) and monotonic() - self._looked_at >= DOUBT_LOOK_SECONDS

    async def orphans(self) -> list[Record]:
        """What doubted claims have taken, as far as they are committed by now."""
        now = self._looked_at = monotonic()
        rows = await claims.find_claimed_under(self._database, self._node_id, list(self._doubted))
        found = {row["claim_id"] for row in rows}
        self._doubted = {
            claim_id: since
            for claim_id, since in self._doubted.items()
            if claim_id not in found and now - since < DOUBT_SECONDS
        }
        return rows

    async def _claim(self, most: int, *, solo: bool) -> list[Attempt]:
        claim_id = uuid4()
        self._asked.add(claim_id)
        try:
            return await self._claim_under(claim_id, most, solo=solo)
        except Unavailable:
            self.doubt(claim_id)
            raise
        finally:
            self._asked.discard(claim_id)

    async def _claim_under(self, claim_id: UUID, most: int, *, solo: bool) -> list[Attempt]:
        start = monotonic()
        attempts: list[Attempt] = []
        self._frontier.served = served = self._served()
        if self._frontier.has_solo and solo:
            self._frontier.has_solo = False
            attempts += await claims.claim_solo(self._database, self._node_id, claim_id, served)
        if len(attempts) < most:
            attempts += await claims.claim(
                self._database, self._node_id, self._frontier, most - len(attempts), claim_id
            )
        self._metrics.claim.observe(monotonic() - start)
        return attempts
