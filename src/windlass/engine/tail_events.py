"""Following the present: one reader of new events for all who listen in this process.

Events commit slightly out of order: one that bears an earlier instant may appear after a later one.
So every look goes back OVERLAP_SECONDS and what was told before is not told again. What was told is
kept for a while in the order in which it was told: who comes back with the id of the last event it
saw goes on exactly there. A transaction that stays open longer than the overlap tells its events
only to those who read the list later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from windlass.engine.announce import Announcer
from windlass.engine.read_events import database_now, read_window
from windlass.errors import Unavailable
from windlass.limits import POLL_IDLE_SECONDS
from windlass.model.event import Event, Place
from windlass.store.database import Database
from windlass.supervise import supervisor

log = structlog.get_logger()

OVERLAP_SECONDS: Final = 2.0
PAGE: Final = 1_000
REMEMBERED_MAX: Final = 20_000
# Without listeners the reader goes on this long: somebody whose connection broke comes back.
LINGER_SECONDS: Final = 60.0
# Looks follow each other no closer than this, however much is going on.
REST_SECONDS: Final = 0.1

Listener = Callable[[Event], None]


class EventTail:
    def __init__(self, database: Database, announcer: Announcer) -> None:
        self._database = database
        self._listeners: set[Listener] = set()
        self._told: OrderedDict[str, Event] = OrderedDict()
        self._since: datetime | None = None  # None: not reading
        self._reader: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        announcer.on_event(self._wake.set)

    async def listen(self, listener: Listener) -> datetime:
        """Tell `listener` what happens from now on; returns the instant from which that is sure."""
        self._listeners.add(listener)
        if self._reader is None or self._reader.done():
            self._since = await database_now(self._database)
            self._reader = supervisor().keep("event tail", self._read_on)
        assert self._since is not None
        return self._since

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    def told_after(self, event_id: str) -> list[Event] | None:
        """What was told after this event; None when it is not remembered."""
        if event_id not in self._told:
            return None
        later: list[Event] = []
        for event in reversed(self._told.values()):
            if event.id == event_id:
                break
            later.append(event)
        return later[::-1]

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def _read_on(self) -> None:
        silent_seconds = 0.0
        while self._listeners or silent_seconds < LINGER_SECONDS:
            try:
                await self._look()
            except Unavailable as trouble:
                log.debug("event_tail_waits", error=str(trouble))
            await asyncio.sleep(REST_SECONDS)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_IDLE_SECONDS):
                    await self._wake.wait()
            self._wake.clear()
            # Counted in rests, which a busy system cuts short: then it lingers a little less.
            silent_seconds = 0.0 if self._listeners else silent_seconds + POLL_IDLE_SECONDS
        self._told.clear()

    async def _look(self) -> None:
        assert self._since is not None
        now = await database_now(self._database)
        after = Place(self._since, UUID(int=0), 0, -1)
        while True:
            page = await read_window(self._database, after, now, PAGE)
            for event in page:
                self._tell(event)
            if len(page) < PAGE:
                break
            after = page[-1].place
        self._since = max(self._since, now - timedelta(seconds=OVERLAP_SECONDS))

    def _tell(self, event: Event) -> None:
        if event.id in self._told:
            return
        self._told[event.id] = event
        while len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        for listener in list(self._listeners):
            listener(event)
