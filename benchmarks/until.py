"""Waiting for a fact in another process: there is no event to wait for, so we look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from benchmarks.limits import LOOK_EVERY_SECONDS


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Look until it is so; whoever calls has a deadline."""
    while True:
        if await is_so():
            return
        await asyncio.sleep(LOOK_EVERY_SECONDS)
