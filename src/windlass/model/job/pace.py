"""An even pace with a little slack: how many may go now, and when the next one.

The same rule as fastlane/lua/limit_take.lua, for when Redis is gone: then every node keeps to its
share of the rate by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# What is let go at once may run so far ahead of the pace; a single one always may.
SLACK_SECONDS: Final = 0.02


def tolerance_seconds(rate: float) -> float:
    """How far ahead of the pace a burst may be: `SLACK_SECONDS` hold so many more than one."""
    return max(0.0, SLACK_SECONDS - 1 / rate)


@dataclass(slots=True)
class Pace:
    """`due_at` is when the next one is due, in seconds of any steady clock."""

    due_at: float = 0.0

    def take(self, rate: float, wanted: int, now: float) -> tuple[int, float]:
        """How many of `wanted` may go now, and the seconds until another could."""
        tolerance = tolerance_seconds(rate)
        due_at = max(self.due_at, now)
        granted = min(wanted, max(0, int((now + tolerance - due_at) * rate) + 1))
        if now + tolerance < due_at:
            granted = 0
        self.due_at = due_at + granted / rate
        return granted, max(0.0, self.due_at - tolerance - now)
