"""Waiting for a fact that has no event of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Final

from windlass.clock import monotonic

# The first rest, and the longest it grows to: what is soon so is soon seen, and what takes its time
# is not held up by being looked at.
REST_SECONDS: Final = 0.005
REST_SECONDS_MAX: Final = 0.05
PATIENCE_SECONDS: Final = 60.0


async def until(
    is_so: Callable[[], Any],  # may be a coroutine function
    *,
    what: str = "it is so",
    within_seconds: float = PATIENCE_SECONDS,
    poll_seconds: float | None = None,  # None: a growing rest
) -> Any:
    """Ask until the answer is true; returns the answer."""
    deadline = monotonic() + within_seconds
    rest = REST_SECONDS if poll_seconds is None else poll_seconds
    while True:
        found = is_so()
        if isawaitable(found):
            found = await found
        if found:
            return found
        assert monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(rest)
        if poll_seconds is None:
            rest = min(rest * 1.5, REST_SECONDS_MAX)
