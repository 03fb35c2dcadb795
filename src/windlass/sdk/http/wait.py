"""Waiting for a thing to become so, by long polling: the server holds the answer (`?wait=`)."""

from __future__ import annotations

from collections.abc import Callable

from windlass.clock import monotonic
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.paging import Thing
from windlass.sdk.limits import POLL_SECONDS


async def poll_until(
    exchange: Exchange, path: str, seconds: float | None, is_so: Callable[[Thing], bool]
) -> Thing:
    """The thing once it is so, or as it is after `seconds`. None: however long it takes."""
    begun = monotonic()
    while True:
        left = POLL_SECONDS if seconds is None else begun + seconds - monotonic()
        poll = max(0.0, min(left, POLL_SECONDS))
        thing: Thing = await exchange.get(path, {"wait": f"{poll:.3f}s"}, wait_seconds=poll)
        if is_so(thing) or (seconds is not None and monotonic() >= begun + seconds):
            return thing
