"""The periodic duties of every node, as a table: rescue, retention, reconcile and the like.

Each is idempotent; any node may do it at any time. What one node does for all is in
runtime.cluster.leader_duties.

The duty for locks (`LockKeeper`) grants what time brings about (engine.locks.grant). It rests until
the next instant that is known here: from what this process did, and from the round that goes along
with every rescue. Where nobody holds or waits for a lock it does nothing at all.

Bulk operations are worked on by whichever node looks first (engine.jobs.bulk_batch): the one that
was asked at once, and another one, should that die, at its next look.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.follow import Follower
from windlass.engine.jobs.bulk_batch import BulkBatches
from windlass.engine.jobs.end import ROUND_MAX
from windlass.engine.jobs.rescue import next_lapse_seconds, recover
from windlass.engine.jobs.retain import fold_counters, retain
from windlass.engine.locks.grant import grant_due
from windlass.limits import (
    BULK_IDLE_SECONDS,
    BULK_TAKEN_SECONDS,
    COUNTER_FOLD_SECONDS,
    RESCUE_INTERVAL_SECONDS,
    RESCUE_SPREAD_SECONDS,
    RETAIN_AGAIN_SECONDS,
    RETAIN_SECONDS,
)
from windlass.runtime.loop import Loop
from windlass.runtime.worker.worker import Worker
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

CANCEL_POLL_SECONDS = 1.0
STOP_CANCELLED = "stop cancelled"
BULK: Final = "bulk operations"
RECONCILE_SECONDS = 15.0
# Younger claims are on their way from one hand to another all the time.
RECONCILE_AGE_SECONDS = 10.0
LOCKS_REST_SECONDS_MAX: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Duties:
    database: Database
    follower: Follower
    worker: Worker
    metrics: Metrics
    retention_days: int

    def loops(self) -> list[Loop]:
        table: list[tuple[str, Callable[[], Awaitable[float]]]] = [
            ("recover", self.recover),
            ("fold counters", self.fold),
            ("retain", self.retain),
            (STOP_CANCELLED, self.stop_cancelled),
            ("reconcile", self.reconcile),
        ]
        table.append((BULK, partial(go_on, BulkBatches(self.database, self.follower.follow))))
        keeper = LockKeeper(self.database, self.follower.follow)
        return [*(Loop(name, tick) for name, tick in table), keeper]

    async def recover(self) -> float:
        effects = await recover(self.database, self.follower.backoff)
        self.follower.follow(effects)
        self.follower.notify()  # children whose node died before it had told them all
        # A full batch means there is more.
        if len(effects.ended) + len(effects.requeued) >= ROUND_MAX:
            return 0.0
        rest = RESCUE_INTERVAL_SECONDS * (0.9 + chance() / 5)
        # The lease of a living node lasts longer than this rest; one that does not is looked at
        # when it lapses.
        lapse = await next_lapse_seconds(self.database)
        if lapse is not None:
            rest = min(rest, max(lapse, 0.0) + RESCUE_SPREAD_SECONDS * (0.2 + 0.8 * chance()))
        return rest

    async def fold(self) -> float:
        folded = await fold_counters(self.database)
        # Nothing to fold: nothing happens; look more rarely.
        return COUNTER_FOLD_SECONDS if folded else 5 * COUNTER_FOLD_SECONDS

    async def retain(self) -> float:
        retained = await retain(self.database, self.retention_days)
        self.metrics.retained(retained.days_ahead, len(retained.overdue))
        # What somebody's open transaction stood in the way of has days of time.
        return RETAIN_SECONDS if retained.is_whole else RETAIN_AGAIN_SECONDS

    async def stop_cancelled(self) -> float:
        """Who cancels tells us at once; this is for when that does not reach us."""
        await self.worker.stop_cancelled()
        return CANCEL_POLL_SECONDS

    async def reconcile(self) -> float:
        await self.worker.reconcile(RECONCILE_AGE_SECONDS)
        return RECONCILE_SECONDS


async def go_on(batches: BulkBatches) -> float:
    """Do the batch that is due, if there is one."""
    seconds = await batches.due_seconds()
    if seconds is None:
        return BULK_IDLE_SECONDS * (0.9 + chance() / 5)
    if seconds > 0:
        return min(seconds, BULK_IDLE_SECONDS)
    # Whoever works on it, does so: it need not be us.
    return 0.0 if await batches.work() else BULK_TAKEN_SECONDS


class LockKeeper(Loop):
    """Grants what is due at locks, when it is due."""

    def __init__(self, database: Database, tell: Callable[[Effects], None]) -> None:
        super().__init__("locks", self._look)
        self._database = database
        self._tell = tell
        self._due_at = math.inf  # by the monotonic clock

    def due_in(self, seconds: float) -> None:
        """Somebody has to look by then."""
        at = monotonic() + seconds
        if at < self._due_at:
            self._due_at = at
            self.wake()

    async def _look(self) -> float:
        if self._due_at <= monotonic():
            self._due_at = math.inf  # what comes to be known meanwhile counts
            try:
                effects = await grant_due(self._database)
            except BaseException:
                self.due_in(0)
                raise
            if effects.look_seconds is not None:
                self.due_in(effects.look_seconds)
            self._tell(effects)
        return min(max(0.0, self._due_at - monotonic()), LOCKS_REST_SECONDS_MAX)
