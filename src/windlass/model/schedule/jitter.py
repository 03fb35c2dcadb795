"""How much later than its instant a firing goes, so that a thousand of them do not go at once.

The same schedule and instant always get the same delay, on whichever node it is asked: a firing
does not move when the leader does.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final
from uuid import UUID

from windlass.model.schedule.rule import microseconds

_CHANCES: Final = 2**64


def fire_at(schedule_id: UUID, instant: datetime, jitter_seconds: float) -> datetime:
    """From the instant on, and less than the jitter later."""
    if not jitter_seconds:
        return instant
    what = schedule_id.bytes + microseconds(instant).to_bytes(8, "big", signed=True)
    chance = int.from_bytes(blake2b(what, digest_size=8).digest(), "big")
    delay = chance * int(jitter_seconds * 1_000_000) // _CHANCES
    return instant + timedelta(microseconds=delay)
