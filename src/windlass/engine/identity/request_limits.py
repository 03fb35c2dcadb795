"""Requests a second: a request is let in or refused, before anything of it is read.

Owns: the count of nodes that share a limit while Redis is away.
Promises: a caller without such a quota is let in without a question. Of two that hold for one, a
key's own and that of its user, the key's is asked first: what that refuses costs the user nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from windlass.clock import monotonic
from windlass.errors import RateLimited
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.fastlane.request_rate import RequestRate, Taken
from windlass.limits import QUOTA_NODES_SECONDS
from windlass.model.identity.quota import Pace, SubjectNoun, SubjectQuota
from windlass.store.database import Database

_NEVER: Final = -1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsLeft:
    """Of one quota, after a request."""

    noun: SubjectNoun
    name: str
    pace: Pace
    remaining: int
    reset_seconds: float  # until nothing is spent any more


class RequestLimits:
    def __init__(self, database: Database, lane: FastLane) -> None:
        self._database = database
        self._rate = RequestRate(lane)
        self._nodes, self._nodes_at = 1, _NEVER

    async def admit(self, quotas: Sequence[SubjectQuota], left: list[RequestsLeft]) -> None:
        """Count a request; what is left of each quota that was asked is put into `left`. Raises
        RateLimited.
        """
        for one in quotas:
            pace = one.quota.pace
            if pace is None:
                continue
            taken = await self._take(one.name, pace)
            # A request that is refused leaves nothing, however it is rounded.
            ahead = taken.ahead_seconds * 1e6
            left.append(
                RequestsLeft(
                    noun=one.noun,
                    name=one.name,
                    pace=pace,
                    remaining=pace.remaining(ahead) if taken.is_granted else 0,
                    reset_seconds=taken.ahead_seconds,
                )
            )
            if not taken.is_granted:
                raise RateLimited(
                    subject=one.name,
                    limit=pace.per_second,
                    burst=pace.burst,
                    wait_seconds=taken.wait_seconds,
                    reset_seconds=taken.ahead_seconds,
                )

    async def _take(self, name: str, pace: Pace) -> Taken:
        try:
            return await self._rate.take(name, pace)
        except LaneDown:
            return self._rate.take_share(name, pace, await self._count_nodes())

    async def _count_nodes(self) -> int:
        """Those that live, all of them: which serve the API is not known to others. Raises
        Unavailable.
        """
        now = monotonic()
        if now - self._nodes_at >= QUOTA_NODES_SECONDS:
            self._nodes = max(1, len(await self._database.read("node_alive", None)))
            self._nodes_at = now
        return self._nodes
