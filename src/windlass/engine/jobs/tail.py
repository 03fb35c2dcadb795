"""Tail the event log (live stream): one reader of new events for all who listen in this process.

Events commit out of order: one that bears an earlier instant may appear after a later one, and much
later when its transaction stays open. An event bears the time at which it was written, and that is
when its transaction got its id, or after. So the transactions that are open at a look
(event_horizon) say how far back something may still appear:

    look 1        look 2                 look n        look n+1
      |      x------|----- open ... -------|---- x         |
             |<- its events bear instants from here on     |<- it has ended: read from there, once

Every look goes back OVERLAP_SECONDS behind the look before; when a transaction that was open at a
look has ended, the next one goes back to before it was first seen. What was told before is not told
again.

Of what was open when the reading began nobody knows since when. Its events are told from what was
there before by knowing that: as much of the past as is soon read (KNOWN_MAX).

Whoever comes back gives its position: the last event it saw, and the instant before which nothing
could appear any more when that was told (`TailedEvent.position`). The node that told it goes on
exactly there, from memory; any other one reads from that instant, so that an event that committed
in between is not lost, and a few are told again, with the same ids. Whoever is still being read
what it missed has not heard all that the reader told meanwhile: it comes back by reading as well
(`TailedEvent.is_read`). A transaction that stays open for longer than STREAM_LATE_SECONDS_MAX tells
its events only to those who read the list later.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import structlog

from windlass.engine.announce import Announcer
from windlass.engine.jobs.history import read_window
from windlass.errors import Unavailable
from windlass.limits import POLL_IDLE_SECONDS, STREAM_LATE_SECONDS_MAX, STREAM_REMEMBERED_MAX
from windlass.model.job.event import Event, Position, SortKey, show_event_id
from windlass.store.database import Database
from windlass.supervise import supervisor

log = structlog.get_logger()

OVERLAP_SECONDS: Final = 2.0
PAGE: Final = 1_000
REMEMBERED_MAX: Final = 20_000
KNOWN_MAX: Final = 10_000
# Without listeners the reader goes on this long: somebody whose connection broke comes back.
LINGER_SECONDS: Final = 60.0
# Looks follow each other no closer than this, however much is going on.
REST_SECONDS: Final = 0.1
_OVERLAP: Final = timedelta(seconds=OVERLAP_SECONDS)
_LATE: Final = timedelta(seconds=STREAM_LATE_SECONDS_MAX)
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailedEvent:
    """An event, and the instant before which nothing could appear any more when it was told."""

    event: Event
    settled_at: datetime
    is_read: bool = False  # True: for one client that missed it; others heard other things before

    @property
    def position(self) -> Position:
        """What its reader gives to go on behind it."""
        settled_at = min(self.settled_at, self.event.at)
        # A moment earlier than need be, and so no position at which the tail itself ever stood.
        return Position(self.event.sort_key, settled_at - _MOMENT if self.is_read else settled_at)


Listener = Callable[[TailedEvent], None]


class EventTail:
    def __init__(self, database: Database, announcer: Announcer) -> None:
        self._database = database
        self._listeners: dict[Listener, datetime] = {}  # from which instant on each hears
        self._told: OrderedDict[str, TailedEvent] = OrderedDict()
        self._told_ids: OrderedDict[str, None] = OrderedDict()  # as many more as may come again
        self._looked_at: datetime | None = None  # None: not reading
        # Since when everything that was there as the reading began is known.
        self._known_from: datetime | None = None
        # Transactions that are open, and since when their events may be; those that were open
        # before the first look may be older than that.
        self._open: dict[int, datetime] = {}
        self._of_unknown_age: set[int] = set()
        self._reader: asyncio.Task[None] | None = None
        self._beginning = asyncio.Lock()  # there is one reader, however many come at once
        self._wake = asyncio.Event()
        announcer.on_event(self._wake.set)

    async def listen(self, listener: Listener, settled_at: datetime | None) -> datetime:
        """Tell `listener` what commits from now on; returns the instant from which that is sure.

        What was there before and bears an instant after `settled_at` may be told as well; None: it
        was not here before.
        """
        async with self._beginning:
            if self._reader is None or self._reader.done():
                await self._begin()
                self._reader = supervisor().keep("event tail", self._read_on)
        assert self._looked_at is not None
        assert self._known_from is not None
        since = max(self.settled_at, self._known_from)
        if settled_at is not None:
            since = min(since, settled_at)
            back = max(settled_at, self._looked_at - _LATE)
            for xid in self._of_unknown_age & self._open.keys():
                self._open[xid] = min(self._open[xid], back)
        self._listeners[listener] = since
        return self._looked_at

    def leave(self, listener: Listener) -> None:
        self._listeners.pop(listener, None)

    @property
    def settled_at(self) -> datetime:
        """Nothing that bears an earlier instant appears any more."""
        assert self._looked_at is not None
        return min([self._looked_at - _OVERLAP, *self._open.values()])

    def events_after(self, last: Position) -> list[TailedEvent] | None:
        """What was told after this event; None when it is not remembered, or whoever saw it was not
        told of it by the tail.
        """
        event_id = show_event_id(last.sort_key)
        known = self._told.get(event_id)
        if known is None or last.settled_at not in (known.position.settled_at, last.sort_key.at):
            return None
        later: list[TailedEvent] = []
        for told in reversed(self._told.values()):
            if told.event.id == event_id:
                break
            later.append(told)
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
        self._told_ids.clear()

    async def _begin(self) -> None:
        now, is_open = await self._horizon()
        known_from = now - _OVERLAP
        self._know(await self._read(known_from, now))
        # Without anybody open nothing appears that is older.
        step, oldest = _OVERLAP, now - _LATE
        while is_open and known_from > oldest and len(self._told_ids) < KNOWN_MAX:
            step *= 4
            since = max(known_from - step, oldest)
            found = await self._read(since, known_from, KNOWN_MAX)
            self._know(found)
            if len(found) >= KNOWN_MAX:
                break
            known_from = since
        self._looked_at, self._known_from = now, known_from
        self._open = dict.fromkeys(is_open, known_from)
        self._of_unknown_age = set(is_open)

    def _know(self, events: list[Event]) -> None:
        """They were there before whoever listens now."""
        self._told_ids.update(dict.fromkeys(event.id for event in events))

    async def _look(self) -> None:
        assert self._looked_at is not None
        # First who is open, then what is there: whoever has ended by then is seen whole.
        now, is_open = await self._horizon()
        before = self._looked_at - _OVERLAP
        ended = [since for xid, since in self._open.items() if xid not in is_open]
        found = await self._read(max(min([before, *ended]), now - _LATE), now)
        self._open = {xid: self._open.get(xid, before) for xid in is_open}
        self._of_unknown_age &= is_open
        self._looked_at = now
        settled_at = self.settled_at
        for event in found:
            self._tell(TailedEvent(event=event, settled_at=settled_at))

    async def _read(self, since: datetime, until: datetime, most: int | None = None) -> list[Event]:
        """What was not told before; of more than `most` only the beginning."""
        after = SortKey(since, UUID(int=0), 0, -1)
        found: list[Event] = []
        while True:
            page = await read_window(self._database, after, until, PAGE)
            found += [event for event in page if event.id not in self._told_ids]
            if len(page) < PAGE or (most is not None and len(found) >= most):
                return found
            after = page[-1].sort_key

    async def _horizon(self) -> tuple[datetime, set[int]]:
        """What time it was, and who is open of all that had an id then. The time is from before the
        move: whoever has come since then may not be in sight.
        """
        (row,) = await self._database.read("event_horizon")
        now = row["now"]
        if row["is_blind"]:
            await self._database.run("event_horizon_move")
            (row,) = await self._database.read("event_horizon")
        return now, set(row["is_open"])

    def _tell(self, told: TailedEvent) -> None:
        event = told.event
        self._told[event.id] = told
        self._told_ids[event.id] = None
        while len(self._told) > REMEMBERED_MAX:
            self._told.popitem(last=False)
        while len(self._told_ids) > STREAM_REMEMBERED_MAX:
            self._told_ids.popitem(last=False)
        for listener, since in list(self._listeners.items()):
            if event.at >= since:
                listener(told)
