"""Failures in a row of a target, counted in Redis for all nodes: what opens its circuit breaker."""

from __future__ import annotations

from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane, LaneDown

KEPT_SECONDS = 300


class TargetFailures:
    def __init__(self, lane: FastLane) -> None:
        self._lane = lane

    async def note(self, host: str, count: int) -> int:
        """Add `count`; returns how many in a row that makes, or 0 when Redis cannot tell."""
        try:
            key = keys.BREAKER % host
            return int(await self._lane.ask("failure_note", key, count, KEPT_SECONDS))
        except LaneDown:
            return 0

    def forget(self, host: str) -> None:
        """It answered."""
        self._lane.forget(keys.BREAKER % host)
