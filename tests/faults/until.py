"""Waiting for a fact."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from windlass.clock import monotonic

POLL_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 60.0


async def until(
    is_so: Callable[[], Awaitable[bool]],
    *,
    what: str,
    within_seconds: float = PATIENCE_SECONDS,
    poll_seconds: float = POLL_SECONDS,
) -> None:
    deadline = monotonic() + within_seconds
    while not await is_so():
        assert monotonic() < deadline, f"not within {within_seconds:g} s: {what}"
        await asyncio.sleep(poll_seconds)
