"""The safety net under lost marks: reconciliation of executions by polling PostgreSQL.

What nobody marked, or whose mark got lost, is found there. Two looks, because neither is enough:
  stale   of its own shards, each node takes those that were refreshed longest ago. Whatever was
          missed, and why, has its turn; but where a million wait for days, turns are rare.
  missed  of all shards, whoever has the first one takes those of which a job has ended since the
          last look and that were not refreshed after it. It costs what was done in the meantime,
          however many executions there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from windlass.chance import chance
from windlass.clock import monotonic
from windlass.engine.executions.refresh import Tally, missed_executions, stale_executions
from windlass.limits import REFRESH_NET_GRACE_SECONDS, REFRESH_WAITING_MAX
from windlass.runtime.loop import Loop
from windlass.runtime.refresh.shards import Shards
from windlass.store.database import Database

_FIRST_SHARD = 0


class RefreshNet:
    def __init__(
        self,
        database: Database,
        shards: Shards,
        tally: Tally,
        *,
        interval_seconds: float,
        on_stale: Callable[[Collection[UUID]], None],
        on_missed: Callable[[set[UUID]], None],
    ) -> None:
        self._database = database
        self._shards = shards
        self._tally = tally
        self._interval_seconds = interval_seconds
        self._on_stale, self._on_missed = on_stale, on_missed
        self._looked_at = float("-inf")  # for missed ones; then everything of late is looked at
        self._is_first = True
        self.loop = Loop("refresh net", self._tick)

    async def _tick(self) -> float:
        if self._is_first:
            self._is_first = False  # nodes that start together need not look together
            return self._interval_seconds * chance()
        stale = await stale_executions(self._database, self._shards.own, self._interval_seconds)
        self._tally.stale += len(stale)
        self._on_stale(stale)
        if _FIRST_SHARD in self._shards.own:
            return await self._look_for_missed()
        return self._interval_seconds

    async def _look_for_missed(self) -> float:
        now = monotonic()
        missed = await missed_executions(self._database, now - self._looked_at)
        self._tally.missed += len(missed)
        self._on_missed(set(missed))
        if len(missed) >= REFRESH_WAITING_MAX:
            return REFRESH_NET_GRACE_SECONDS  # there are more
        self._looked_at = now
        return self._interval_seconds
