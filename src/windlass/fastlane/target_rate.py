"""A target's rate limit over all nodes, kept in Redis; each node its share while Redis is gone."""

from __future__ import annotations

from windlass.clock import monotonic
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown
from windlass.model.job.target import RateLimit, tolerance_seconds

HOSTS_MAX = 10_000


class TargetRateLimit:
    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._own: dict[str, RateLimit] = {}

    async def take(self, host: str, rate: float, wanted: int, nodes: int) -> tuple[int, float]:
        """How many deliveries may go to `host` now, and the seconds until another could."""
        try:
            granted, wait, _ = await self._lane.ask(
                "limit_take",
                keys.LIMIT % host,
                round(1_000_000 / rate),
                round(1_000_000 * tolerance_seconds(rate)),
                wanted,
            )
        except LaneDown:
            return self._take_own_share(host, rate / max(1, nodes), wanted)
        # Should Redis go now, our own share starts where the common pace is.
        self._pace(host).due_at = monotonic() + wait / 1e6
        return granted, wait / 1e6

    def _take_own_share(self, host: str, rate: float, wanted: int) -> tuple[int, float]:
        return self._pace(host).take(rate, wanted, monotonic())

    def _pace(self, host: str) -> RateLimit:
        if host not in self._own and len(self._own) >= HOSTS_MAX:
            self._own.clear()
        return self._own.setdefault(host, RateLimit())
