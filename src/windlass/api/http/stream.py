"""The stream of events (SSE): bounded in clients and in what waits for a slow one (backpressure).

A client that cannot keep up is cut off rather than kept in memory; it comes back with the position
that it was given with the last event and misses nothing, whichever node it comes to. One whose key
or session is revoked is cut off, too. On another
node than before, or while it was told what it had missed, it may be told a few events again, with
the same ids (see engine.jobs.tail).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from windlass.api.http.auth import may_go_on
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.reply import encode
from windlass.api.http.route import Call
from windlass.api.http.security_headers import ANSWER
from windlass.api.jobs.history import event_view
from windlass.api.parts import ApiParts
from windlass.clock import monotonic
from windlass.engine.jobs.history import database_now, read_events_after
from windlass.engine.jobs.tail import EventTail, TailedEvent
from windlass.errors import InvalidInput, Unavailable
from windlass.limits import STREAM_CLIENTS_MAX, STREAM_REMEMBERED_MAX
from windlass.model.job.event import Event, Position, SortKey, parse_position, show_event_id

HEARTBEAT_SECONDS: Final = 15.0
RIGHT: Final = "events:read"
# How soon a stream notices that its node drains, or that its caller may not listen any more.
LOOK_UP_SECONDS: Final = 1.0
WAITING_MAX: Final = 10_000
CATCH_UP_PAGE: Final = 500
_HEAD: Final[dict[str, Any]] = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),
        *ANSWER,
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events. None: any."""

    queue: str | None = None
    job_id: UUID | None = None
    execution_id: UUID | None = None
    noun: tuple[str, ...] = ()  # empty: any
    type: str | None = None

    def takes(self, event: Event) -> bool:
        return (
            (self.queue is None or event.queue == self.queue)
            and (self.job_id is None or event.job_id == self.job_id)
            and (self.execution_id is None or event.execution_id == self.execution_id)
            and (not self.noun or event.noun in self.noun)
            and (self.type is None or event.type == self.type)
        )


class EventStreams:
    def __init__(self, parts: ApiParts) -> None:
        self._parts = parts
        self._tail = EventTail(parts.database, parts.announcer)
        self._clients = 0
        self._inboxes: set[_Inbox] = set()
        self._is_closed = False

    async def open(self, request: Call, query: dict[str, Any]) -> ASGIApp:
        if self._is_closed:
            raise Unavailable("this node is stopping; follow events on another one")
        if self._clients >= STREAM_CLIENTS_MAX:
            raise Unavailable(f"{STREAM_CLIENTS_MAX} clients follow events here; try another node")
        caller = caller_of(request.scope)
        return _Stream(self, EventFilter(**query), _last_event(request), caller)

    async def close(self) -> None:
        """End every stream and the reader of events behind them; none begins after that."""
        self._is_closed = True
        for inbox in self._inboxes:
            inbox.wake()
        await self._tail.close()

    async def serve(
        self, wanted: EventFilter, last: str | None, caller: Caller, receive: Receive, send: Send
    ) -> None:
        self._clients += 1
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await send(_HEAD)
            async for piece in self._pieces(wanted, last, caller, gone):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            self._clients -= 1

    async def _pieces(
        self, wanted: EventFilter, last: str | None, caller: Caller, gone: asyncio.Task[None]
    ) -> AsyncIterator[bytes]:
        inbox = _Inbox()
        told: OrderedDict[str, None] = OrderedDict()
        gone.add_done_callback(lambda _: inbox.wake())
        position = None if last is None else parse_position(last)
        self._inboxes.add(inbox)
        try:
            since = await self._tail.listen(inbox.put, position and position.settled_at)
            again_from = self._tail.settled_at  # the tail tells none again that is older
            if self._is_closed:
                await self._tail.close()  # its reader may have begun again meanwhile
            yield b": windlass\n\n"
            async for one in self._missed(position, since, inbox):
                if one.event.at >= again_from:
                    told[one.event.id] = None
                    if len(told) > STREAM_REMEMBERED_MAX:
                        told.popitem(last=False)
                if wanted.takes(one.event):
                    yield _shown(one)
            silent, asked_at = 0.0, monotonic()
            while not (gone.done() or inbox.is_over or self._is_ending):
                if monotonic() - asked_at >= LOOK_UP_SECONDS:
                    if not await may_go_on(self._parts.tokens, caller, RIGHT):
                        return
                    asked_at = monotonic()
                try:
                    heard = await asyncio.wait_for(inbox.get(), LOOK_UP_SECONDS)
                except TimeoutError:
                    silent += LOOK_UP_SECONDS
                    if silent >= HEARTBEAT_SECONDS:
                        silent = 0.0
                        yield b": still here\n\n"
                    continue
                if heard is None:
                    continue
                if heard.event.id in told:
                    del told[heard.event.id]
                elif wanted.takes(heard.event):
                    silent = 0.0
                    yield _shown(heard)
        finally:
            self._inboxes.discard(inbox)
            self._tail.leave(inbox.put)

    @property
    def _is_ending(self) -> bool:
        return self._is_closed or self._parts.node.is_draining

    async def _missed(
        self, last: Position | None, since: datetime, inbox: _Inbox
    ) -> AsyncIterator[TailedEvent]:
        """What happened between the last event the client saw and the tail's first look. What
        commits late meanwhile waits in the inbox: until it is sent, nothing since then is settled.
        """
        if last is None:
            return
        seen = show_event_id(last.sort_key)
        remembered = self._tail.events_after(last)
        if remembered is not None:
            for told in remembered:
                yield told
            return
        is_behind = last.settled_at < last.sort_key.at
        after = SortKey(last.settled_at, UUID(int=0), 0, -1) if is_behind else last.sort_key
        until = max(since, await database_now(self._parts.database))
        while True:
            page = await read_events_after(self._parts.database, after, until, CATCH_UP_PAGE)
            for event in page:
                if event.id != seen:
                    settled_at = min(self._tail.settled_at, inbox.oldest_at or event.at)
                    yield TailedEvent(event=event, settled_at=settled_at, is_read=True)
            if len(page) < CATCH_UP_PAGE:
                return
            after = page[-1].sort_key


class _Inbox:
    """What one client has yet to be sent."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[TailedEvent | None] = asyncio.Queue(WAITING_MAX)
        self.is_over = False  # True: it could not keep up and lacks something
        self.oldest_at: datetime | None = None  # of all that came; None: nothing did

    def put(self, told: TailedEvent) -> None:
        at = told.event.at
        self.oldest_at = at if self.oldest_at is None else min(self.oldest_at, at)
        try:
            self._waiting.put_nowait(told)
        except asyncio.QueueFull:
            self.is_over = True

    def wake(self) -> None:
        """Let the sender look up: its client has gone, or its node stops."""
        with contextlib.suppress(asyncio.QueueFull):  # then it is awake
            self._waiting.put_nowait(None)

    async def get(self) -> TailedEvent | None:
        return await self._waiting.get()


class _Stream:
    """The reply: serves until the client goes away or the node drains."""

    def __init__(
        self, streams: EventStreams, wanted: EventFilter, last: str | None, caller: Caller
    ) -> None:
        self._streams, self._wanted, self._last, self._caller = streams, wanted, last, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._streams.serve(self._wanted, self._last, self._caller, receive, send)


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _last_event(request: Call) -> str | None:
    last = caller_of(request.scope).text("Last-Event-ID", 100)
    if last is not None:
        try:
            parse_position(last)
        except ValueError as trouble:
            raise InvalidInput.at("Last-Event-ID", str(trouble)) from None
    return last


def _shown(told: TailedEvent) -> bytes:
    return b"id: %s\ndata: %s\n\n" % (told.position.text.encode(), encode(event_view(told.event)))
