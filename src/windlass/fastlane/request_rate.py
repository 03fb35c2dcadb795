"""Requests a second of a caller over all nodes (GCRA), in Redis; without it each node its share.

    Redis answers   -> its clock and its count, for all nodes
    Redis is away   -> each node by itself, of the rate and the burst divided by the nodes that live
    it is back      -> Redis again, where nothing is saved up yet

Promises: all nodes together let in no more than the limit, also while Redis goes and comes. A share
begins with nothing saved up, since others may just have spent all of it. When Redis is back, what
was let in meanwhile is owed to it; where it has forgotten a limit, that is taken to be spent, and
for QUOTA_COMEBACK_SECONDS more, as other nodes may find it later than this one.
Where somebody is given another pace, what he has spent is a burst of that at most.
It may be less: a node that nobody calls keeps its share. And while only some nodes lack Redis, each
of them lets in its share beside what the others let in together. A share is one request at once at
least, so bursts smaller than the number of nodes may come on each.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from windlass.clock import monotonic
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.limits import QUOTA_COMEBACK_SECONDS, TOKENS_KEPT_MAX
from windlass.model.identity.quota import Pace
from windlass.model.job.target import RateLimit

_MICROSECONDS: Final = 1e6


class Taken(NamedTuple):
    is_granted: bool
    wait_seconds: float  # until another could come
    ahead_seconds: float  # of the pace: until nothing is spent any more


class RequestRate:
    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._own: dict[str, RateLimit] = {}  # while Redis is away
        self._owed: dict[str, int] = {}  # let in by those, and not told to Redis yet
        # By the monotonic clock. None: Redis answers, or was not asked yet.
        self._down_at: float | None = None
        self._up_at: float | None = None  # when it came back last; None: it was always there
        self._made_at = monotonic()
        self._was_up = False

    async def take(self, name: str, pace: Pace, wanted: int = 1) -> Taken:
        """Whether the caller may make a request now; `wanted` 0: only what is left. Raises LaneDown
        when Redis is away: `take_share` is for then.
        """
        now = monotonic()
        up_at = self._up_at if self._down_at is None else now
        behind = 0.0
        if up_at is not None:
            behind = pace.full + (QUOTA_COMEBACK_SECONDS - (now - up_at)) * _MICROSECONDS
        owed = self._owed.pop(name, 0)
        try:
            granted, wait, ahead = await self._lane.ask(
                "limit_take",
                keys.CALLER_LIMIT % name,
                *(pace.interval, pace.tolerance, wanted),
                *(owed * pace.interval, max(0, round(behind))),
            )
        except LaneDown:
            if self._down_at is None:
                # Where there is no Redis nobody was let in before this process began.
                self._down_at = now if self._was_up else self._made_at
            if owed:
                self._owed[name] = self._owed.get(name, 0) + owed
            raise
        self._was_up = True
        if self._down_at is not None:
            self._down_at, self._up_at = None, up_at
            self._own.clear()
        return Taken(granted >= wanted, wait / _MICROSECONDS, ahead / _MICROSECONDS)

    def take_share(self, name: str, pace: Pace, nodes: int, wanted: int = 1) -> Taken:
        """The same of this node's share, while Redis is away."""
        burst = max(1.0, pace.burst / nodes)
        rate = _MICROSECONDS / (pace.interval * nodes)
        tolerance = (burst - 1) / rate
        if name not in self._own:
            if len(self._own) >= TOKENS_KEPT_MAX:
                self._own.clear()
                self._down_at = monotonic()
            down_at = monotonic() if self._down_at is None else self._down_at
            self._own[name] = RateLimit(down_at + burst / rate)
        own, now = self._own[name], monotonic()
        own.due_at = min(own.due_at, now + burst / rate)  # it may have been a slower pace
        granted, wait = own.take(rate, wanted, now, tolerance)
        if granted:
            if len(self._owed) >= TOKENS_KEPT_MAX:
                self._owed.clear()
            self._owed[name] = self._owed.get(name, 0) + granted
        return Taken(granted >= wanted, wait, max(0.0, own.due_at - now))
