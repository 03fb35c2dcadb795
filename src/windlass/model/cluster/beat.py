"""A coordinator's heartbeat, as whoever finds it reads it.

It is `{"id": …, "at_ms": …, "host": …, "pid": …}`. fastlane/lua/sweep_judge.lua reads it the same
way; a test compares the two.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Final

BEAT_BYTES_MAX: Final = 4_096


def beat_at_ms(text: bytes, coordinator: bytes) -> float | None:
    """When the coordinator beat (ms of Redis' clock), or None when this is no beat of it."""
    if len(text) > BEAT_BYTES_MAX:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    at_ms, who = said.get("at_ms"), said.get("id")
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float):
        return None
    # Past any clock, and never a reason to delete: an int too long for a float included.
    if not 0 < at_ms < 2**63 or not isfinite(at_ms):
        return None
    if who is not None and (
        not isinstance(who, str) or who.encode(errors="replace") != coordinator
    ):
        return None
    return float(at_ms)
