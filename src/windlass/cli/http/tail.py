"""Follow the event stream (SSE) across lost connections, and say so when one was lost.

Promises: after a reconnect the stream goes on behind the last event that was given out; nothing is
given twice and nothing is left out that the server still has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any

import msgspec

from windlass.cli.http.client import Client, Query, not_windlass
from windlass.cli.limits import RETRY_PAUSE_SECONDS, RETRY_PAUSE_SECONDS_MAX
from windlass.cli.show.output import say
from windlass.errors import Unavailable
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.stream import PATH, SeenEvents, events_in
from windlass.sdk.http.wire import path_with
from windlass.sdk.limits import SILENCE_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event of the stream."""

    id: str
    value: dict[str, Any]


def follow(client: Client, after: str | None, query: Query) -> Generator[Message]:
    """Events for ever. A server that is away is fatal only before the first connection."""
    return client.each(_messages(client.exchange, path_with(PATH, query), after))


async def _messages(exchange: Exchange, path: str, last: str | None) -> AsyncGenerator[Message]:
    pause, seen = RETRY_PAUSE_SECONDS, SeenEvents()
    was_connected = False
    while True:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if last:
            headers["Last-Event-ID"] = last
        try:
            async with exchange.stream(path, headers, SILENCE_SECONDS) as lines:
                was_connected, pause = True, RETRY_PAUSE_SECONDS
                async for position, event in events_in(lines):
                    if not isinstance(event, dict):
                        raise not_windlass()
                    last = position or last
                    if seen.is_new(event.get("id", position)):
                        yield Message(id=position, value=event)
        except msgspec.DecodeError:
            raise not_windlass() from None
        except Unavailable:
            if not was_connected:
                raise
        say(f"the stream ended; connecting again in {pause:g} s")
        await asyncio.sleep(pause)
        pause = min(2 * pause, RETRY_PAUSE_SECONDS_MAX)
