"""Follow the event stream (SSE) across lost connections.

Promises: after a reconnect the stream goes on behind the last event that was given out; nothing is
given twice and nothing is left out that the server still has.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from windlass.cli.exits import Exit, Stopped
from windlass.cli.http.client import Client, Query, path_with
from windlass.cli.limits import (
    RETRY_PAUSE_SECONDS,
    RETRY_PAUSE_SECONDS_MAX,
    STREAM_LINE_BYTES_MAX,
    STREAM_SILENCE_SECONDS,
)
from windlass.cli.show.output import say
from windlass.sdk.http.stream import SeenEvents

PATH = "/v1/events/stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event of the stream."""

    id: str
    value: dict[str, Any]


def follow(client: Client, after: str | None, query: Query) -> Generator[Message]:
    """Events for ever. A server that is away is fatal only before the first connection."""
    last, pause, seen = after, RETRY_PAUSE_SECONDS, SeenEvents()
    was_connected = False
    while True:
        try:
            with _connected(client, last, query) as response:
                was_connected, pause = True, RETRY_PAUSE_SECONDS
                for message in messages(response):
                    last = message.id or last
                    if seen.is_new(message.value.get("id", message.id)):
                        yield message
        except Stopped as stop:
            if stop.code != Exit.UNREACHABLE or not was_connected:
                raise
        say(f"the stream ended; connecting again in {pause:g} s")
        time.sleep(pause)
        pause = min(2 * pause, RETRY_PAUSE_SECONDS_MAX)


def messages(response: http.client.HTTPResponse) -> Iterator[Message]:
    """What the stream holds, message by message; heartbeats are comments and left out."""
    event_id = ""
    data: list[str] = []
    while line := response.readline(STREAM_LINE_BYTES_MAX):
        name, _, value = line.decode(errors="replace").rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "" if not value:
                if data:
                    yield Message(id=event_id, value=_read("\n".join(data)))
                data = []
            case "id":
                event_id = value
            case "data":
                data.append(value)
            case _:
                pass


def _connected(
    client: Client, last: str | None, query: Query
) -> AbstractContextManager[http.client.HTTPResponse]:
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
    if last:
        headers["Last-Event-ID"] = last
    return client.stream(path_with(PATH, query), headers, STREAM_SILENCE_SECONDS)


def _read(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {"data": text}
    return value if isinstance(value, dict) else {"data": value}
