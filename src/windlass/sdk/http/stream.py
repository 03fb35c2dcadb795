"""The stream of events (SSE), followed across lost connections.

Promises: after a reconnect it goes on behind the last event that was given out; nothing is given
twice and nothing is left out that the server still has.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from windlass.errors import Unavailable
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.problems import Unreachable
from windlass.sdk.http.wire import path_with
from windlass.sdk.limits import PAUSE_SECONDS, PAUSE_SECONDS_MAX, SILENCE_SECONDS

PATH: Final = "/v1/events/stream"
SEEN_MAX: Final = 20_000
Event = dict[str, Any]


async def follow(
    exchange: Exchange, query: Mapping[str, object], after: str | None
) -> AsyncGenerator[Event]:
    """Events for ever. A server that is away is fatal only before the first connection."""
    last, pause, seen = after, PAUSE_SECONDS, SeenEvents()
    was_connected = False
    while True:
        try:
            headers = {"Accept": "text/event-stream"}
            if last is not None:
                headers["Last-Event-ID"] = last
            path = path_with(PATH, query)
            async with exchange.stream(path, headers, SILENCE_SECONDS) as lines:
                was_connected, pause = True, PAUSE_SECONDS
                async for position, event in events_in(lines):
                    last = position or last
                    if seen.is_new(event["id"]):
                        yield event
        except Unavailable as trouble:
            is_final = isinstance(trouble, Unreachable) and trouble.is_final
            if is_final or not was_connected:
                raise
        await asyncio.sleep(pause)
        pause = min(2 * pause, PAUSE_SECONDS_MAX)


class SeenEvents:
    """The newest events that were given out: another node than before tells a few of them again."""

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def is_new(self, event_id: str) -> bool:
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > SEEN_MAX:
            self._ids.popitem(last=False)
        return True


async def events_in(lines: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, Event]]:
    """What the stream holds, event by event, each with the position behind it; heartbeats are
    comments and left out.
    """
    data: list[bytes] = []
    position = ""
    async for line in lines:
        name, _, value = line.partition(b":")
        if name == b"data":
            data.append(value.removeprefix(b" "))
        elif name == b"id":
            position = value.removeprefix(b" ").decode()
        elif not line and data:
            yield position, msgspec.json.decode(b"\n".join(data))
            data = []
