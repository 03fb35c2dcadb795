"""Refreshes executions: a node keeps those of its shards up to date that are marked.

    a job ends -> marker -> marks in Redis -> poke -> claim -> one statement -> acknowledge
                     \\-- without Redis: they wait here ------^
    every so often -> the net (runtime.refresh.net) ----------^

Promises: a mark is acknowledged only after its execution was refreshed and, if there is more to its
end than a state, concluded or set aside for it (runtime.refresh.conclusions); what is not comes
back by itself. Whoever dies, freezes or is followed by another node in the middle: every write has
a fence, so nothing but time is lost (G8).
Idle: nothing is asked of Redis unless somebody pokes; the net asks PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from uuid import UUID

import structlog

from windlass.clock import monotonic
from windlass.engine.announce import Announcer
from windlass.engine.effects import Effects
from windlass.engine.executions.refresh import ORDER, Conclude, Refreshed, Tally, refresh
from windlass.errors import Unavailable
from windlass.fastlane.lane import LaneDown
from windlass.fastlane.marks import Claim, Marks
from windlass.limits import (
    REFRESH_BATCH_MAX,
    REFRESH_CLAIM_MAX,
    REFRESH_GAP_SECONDS,
    REFRESH_HOLD_SHARE,
    REFRESH_ROUND_MAX,
    REFRESH_ROUND_SHARE,
)
from windlass.model.workflow.refresh import RefreshThrottle
from windlass.runtime.loop import Loop
from windlass.runtime.refresh.backlog import RefreshBacklog
from windlass.runtime.refresh.conclusions import Conclusions
from windlass.runtime.refresh.mark_claims import MarkClaims
from windlass.runtime.refresh.marker import Marker, batched
from windlass.runtime.refresh.net import RefreshNet
from windlass.runtime.refresh.shards import Shards
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

log = structlog.get_logger()


class Refresher:
    """Lives as long as the process; which shards are its own it learns with every heartbeat."""

    def __init__(
        self,
        *,
        database: Database,
        announcer: Announcer,
        marks: Marks,
        metrics: Metrics,
        interval_seconds: float,
        lease_seconds: float,
        conclude: Conclude,
        follow: Callable[[Effects], None],  # hears what came of concluding
    ) -> None:
        self._database, self._announcer, self._metrics = database, announcer, metrics
        self._marks = marks
        self.tally = Tally()
        self.shards = Shards(self._shards_changed)
        self._rests = RefreshThrottle()
        self._waiting = RefreshBacklog(self._rests, self._overflowed)
        self._conclusions = Conclusions(
            database,
            metrics,
            conclude=conclude,
            follow=follow,
            on_held=self._put_off,
            on_overflow=self._overflowed,
        )
        self._claims = MarkClaims(
            marks, self.shards, hold_seconds=REFRESH_HOLD_SHARE * lease_seconds
        )
        self._marker = Marker(
            marks, on_left=self._left, on_kept=self._keep, on_overflow=self._overflowed
        )
        self._net = RefreshNet(
            database,
            self.shards,
            self.tally,
            interval_seconds=interval_seconds,
            on_stale=lambda stale: self._keep(stale, False),
            on_missed=lambda missed: self._marker.mark(missed, False),
        )
        self._not_before = 0.0
        self._hold_seconds = REFRESH_HOLD_SHARE * lease_seconds
        self._round_max = REFRESH_CLAIM_MAX  # it grows while that is not too slow
        self._loop = Loop("refresh executions", self._tick)
        announcer.on_marks(self._marker.mark)
        marks.on_poke(self._poked)

    def start(self) -> None:
        for loop in (self._marker.loop, self._loop, self._conclusions.loop, self._net.loop):
            loop.start()

    async def stop(self) -> None:
        """Others go on with what is in Redis; what is only here is done now."""
        await self._net.loop.stop()
        await self._marker.loop.stop()
        await self._marker.flush()
        await self._loop.stop()
        await self._conclusions.loop.stop()
        try:
            while await self._refresh_waiting():
                pass
            await self._conclusions.sift()
        except Unavailable as trouble:
            count = len(self._waiting) + len(self._conclusions)
            log.warning("refresh_left_to_the_net", count=count, reason=str(trouble))

    # -- what it is told -------------------------------------------------------------------------

    def _shards_changed(self, shards: frozenset[int], taken_over: int) -> None:
        self.tally.shards_taken_over += taken_over
        self._claims.look_back(shards)
        self._loop.wake()

    def _left(self, counts: Mapping[int, int]) -> None:
        """Marks of this process are in Redis: of shards of our own, or of others who are told."""
        foreign = {shard: n for shard, n in counts.items() if shard not in self.shards.own}
        if foreign:
            self._marks.poke(foreign)
        if len(foreign) < len(counts):
            self._poked(counts)

    def _poked(self, counts: Mapping[int, int] | None) -> None:
        if counts is None:
            self._claims.look_back(self.shards.own)
        else:
            self._claims.expect(counts)
        self._loop.wake()

    def _keep(self, execution_ids: Collection[UUID], is_urgent: bool) -> None:
        self._waiting.add(execution_ids, is_urgent=is_urgent)
        self._loop.wake()

    def _put_off(self, execution_ids: Collection[UUID]) -> None:
        self._waiting.put_off(execution_ids)
        self._loop.wake()  # it rests for longer than they do

    def _overflowed(self, count: int) -> None:
        self.tally.overflowed += count

    # -- refreshing ------------------------------------------------------------------------------

    async def _tick(self) -> float:
        now = monotonic()
        if now >= self._not_before:
            done = await self._refresh_claimed() + await self._refresh_waiting()
            if done < REFRESH_BATCH_MAX:
                # Few at a time gather for a moment: a round costs a statement, and a call a shard.
                self._not_before = now + REFRESH_GAP_SECONDS
        due_at = max(self._not_before, min(self._claims.due_at, self._waiting.due_at))
        return max(0.0, min(due_at - monotonic(), 3600.0))

    async def _refresh_claimed(self) -> int:
        """What is marked in Redis, a round's worth."""
        claims: list[Claim] = []
        try:
            await self._gather_claims(claims)
            wanted = self._wanted(claims)
            lost = await self._refresh(wanted)
        except BaseException:
            self._claims.failed(claims)
            raise
        await self._claims.done(claims, lost)
        return len(wanted)

    async def _gather_claims(self, claims: list[Claim]) -> None:
        count = 0
        try:
            while count < self._round_max and self._claims.are_due:
                more = await self._claims.take()
                claims += more
                count += sum(len(claim.marks) for claim in more)
        except LaneDown as trouble:
            log.debug("marks_not_taken", reason=str(trouble))

    def _wanted(self, claims: Sequence[Claim]) -> list[UUID]:
        """All but large ones that rest; those wait here, and if we die the net finds them."""
        wanted: set[UUID] = set()
        now = monotonic()
        for claim in claims:
            self.tally.malformed += claim.malformed
            self.tally.marks_taken_back += claim.overdue
            wanted |= claim.urgent
            named = {one for one in claim.marks.values() if one is not None}
            for execution_id in named - claim.urgent:
                if self._rests.seconds_left(execution_id, now):
                    self._waiting.add([execution_id], is_urgent=False)
                else:
                    wanted.add(execution_id)
        return list(wanted)

    async def _refresh_waiting(self) -> int:
        wanted = self._waiting.take(self._round_max)
        try:
            lost = await self._refresh(wanted)
        except BaseException:
            self._waiting.add(wanted, is_urgent=True)
            raise
        self._waiting.add(lost, is_urgent=True)
        return len(wanted)

    async def _refresh(self, wanted: Sequence[UUID]) -> set[UUID]:
        """Returns those that have to be refreshed again."""
        lost: set[UUID] = set()
        held: set[UUID] = set()
        unconcluded: set[UUID] = set()
        ended: list[UUID] = []
        start = monotonic()
        try:
            # In order: neighbours lie on the same pages. Measured at a million, half of the cost.
            for part in batched(sorted(wanted, key=ORDER), REFRESH_BATCH_MAX):
                done = await self._refresh_part(part)
                lost |= done.lost
                ended += done.ended
                if len(ended) >= REFRESH_CLAIM_MAX:
                    self._announcer.ends(ended, is_event=False)
                    ended = []
                held |= done.held
                unconcluded |= await self._conclusions.conclude(done.unconcluded)
        finally:
            self._announcer.ends(ended, is_event=False)
            self._waiting.went_well(set(wanted) - held - unconcluded)
            self._waiting.put_off(held)
        self._learn(len(wanted), monotonic() - start)
        return lost

    def _learn(self, count: int, seconds: float) -> None:
        """The next round may have as many as are refreshed well before they come back."""
        if count >= REFRESH_BATCH_MAX:
            can = int(count / seconds * REFRESH_ROUND_SHARE * self._hold_seconds)
            self._round_max = max(REFRESH_CLAIM_MAX, min(can, REFRESH_ROUND_MAX))

    async def _refresh_part(self, part: Sequence[UUID]) -> Refreshed:
        start = monotonic()
        done = await refresh(self._database, part)
        now = monotonic()
        self._metrics.refreshed(len(part), now - start)
        self.tally.refreshed(len(part), done, now - start)
        for execution_id, jobs in done.jobs.items():
            self._rests.refreshed(execution_id, jobs, now)
        return done
