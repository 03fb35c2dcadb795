"""The two clocks.

`wall()` is for showing and for arithmetic on instants read from the database; whatever decides
something is decided by the database's own clock. `monotonic()` only makes a node stop early.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime


def wall() -> datetime:
    return datetime.now(UTC)


def monotonic() -> float:
    return time.monotonic()
