"""The clocks.

`wall()` is for showing and for arithmetic on instants read from the database; whatever decides
something is decided by the database's own clock. `monotonic()` only makes a node stop early.

A test whose database lives in another time (windlass.testing) puts `wall()` ahead along with it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_ahead = timedelta()
_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def wall() -> datetime:
    return datetime.now(UTC) + _ahead


def put_ahead(by: timedelta) -> None:
    """From now on `wall()` shows an instant so far ahead of the machine's own clock."""
    global _ahead
    _ahead = by


def boottime() -> float:
    """Like `monotonic`; where the system has such a clock it goes on while the machine sleeps."""
    return time.clock_gettime(_BOOTTIME)


def monotonic() -> float:
    return time.monotonic()
