"""Publish and subscribe: wake-ups and notifications, to this node at once, to others through Redis.

    new work, ends, marks, cancels, changes -> listeners of this process (`on_…`)
                                            -> the fast lane -> the same listeners on other nodes

Everything said here is a hint. Whoever misses it finds out from PostgreSQL at its next poll (G9).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from windlass.engine.effects import Line
from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane
from windlass.store.database import Record

EVENTS_EVERY_SECONDS: Final = 0.05


class Announcer:
    """`on_…` registers a listener of this process; the other methods speak."""

    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._me = os.urandom(16)  # as long as an id: to who knows no senders it is nobody's
        self._line_listeners: list[Callable[[Line, datetime], None]] = []
        self._end_listeners: list[Callable[[UUID], None]] = []
        self._cancel_listeners: list[Callable[[UUID], None]] = []
        self._mark_listeners: list[Callable[[set[UUID], bool], None]] = []
        self._event_listeners: list[Callable[[], None]] = []
        self._name_listeners: dict[str, list[Callable[[list[str]], None]]] = {
            "target": [],
            "secret": [],
            "cache": [],
            "key": [],
            "lock": [],
            "schedule": [],
        }
        self._lock_due_listeners: list[Callable[[float], None]] = []
        self._bulk_listeners: list[Callable[[], None]] = []
        self._events_due = False
        # One process hears its own messages back; they do no harm, they only say it again. Of ends
        # there are so many that they name their sender.
        lane.on_message(keys.WAKE, self._hear_lines)
        lane.on_message(keys.RESULTS, self._hear_ends)
        lane.on_message(keys.INVALIDATE, self._hear_invalid)
        lane.on_message(keys.EVENTS, lambda _: self._each_event())

    @property
    def is_heard(self) -> bool:
        """Do hints come and go? Else everybody has to look for itself."""
        return self._lane.is_up

    def on_line(self, listener: Callable[[Line, datetime], None]) -> None:
        self._line_listeners.append(listener)

    def on_end(self, listener: Callable[[UUID], None]) -> None:
        self._end_listeners.append(listener)

    def off_end(self, listener: Callable[[UUID], None]) -> None:
        self._end_listeners.remove(listener)

    def on_cancel(self, listener: Callable[[UUID], None]) -> None:
        self._cancel_listeners.append(listener)

    def on_marks(self, listener: Callable[[set[UUID], bool], None]) -> None:
        """Hears executions that are out of date, and whether they may have ended."""
        self._mark_listeners.append(listener)

    def on_event(self, listener: Callable[[], None]) -> None:
        self._event_listeners.append(listener)

    def on_target(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the hosts of targets whose rows have changed."""
        self._name_listeners["target"].append(listener)

    def on_secret(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the names of secrets that have changed."""
        self._name_listeners["secret"].append(listener)

    def on_cache(self, listener: Callable[[list[str]], None]) -> None:
        """Hears what caches may not believe any more, as `<cache>:<key>`."""
        self._name_listeners["cache"].append(listener)

    def on_key(self, listener: Callable[[list[str]], None]) -> None:
        """Hears that keys or sessions have been revoked; of which, nothing is said."""
        self._name_listeners["key"].append(listener)

    def on_lock(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the names of locks that callers of the API have got."""
        self._name_listeners["lock"].append(listener)

    def on_schedule(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the names of schedules that have changed; none: of many."""
        self._name_listeners["schedule"].append(listener)

    def on_lock_due(self, listener: Callable[[float], None]) -> None:
        """Hears in how many seconds somebody has to look at the locks."""
        self._lock_due_listeners.append(listener)

    def on_bulk(self, listener: Callable[[], None]) -> None:
        """Hears that a bulk operation was asked for."""
        self._bulk_listeners.append(listener)

    def lines(self, due: Mapping[Line, datetime | float]) -> None:
        """New work in these lines, due at an instant or after so many seconds."""
        now = datetime.now(UTC)
        told = []
        for line, when in due.items():
            at = when if isinstance(when, datetime) else now + timedelta(seconds=when)
            for listener in self._line_listeners:
                listener(line, at)
            told.append((line[0], line[1], at.timestamp()))
        self._lane.publish(keys.WAKE, msgspec.json.encode(told))
        self.happened()

    def rows(self, rows: Iterable[Record]) -> None:
        """The same, from rows with queue, priority and run_at."""
        due: dict[Line, datetime | float] = {}
        for row in rows:
            line, at = (row["queue"], row["priority"]), row["run_at"]
            known = due.get(line)
            if not isinstance(known, datetime) or at < known:
                due[line] = at
        if due:
            self.lines(due)

    def ends(self, job_ids: Iterable[UUID], *, is_event: bool = True) -> None:
        """These jobs have reached a terminal state; or executions, which is no event of its own."""
        told = list(job_ids)
        if not told:
            return
        for listener in self._end_listeners:
            for job_id in told:
                listener(job_id)
        self._lane.publish(keys.RESULTS, self._me + b"".join(job_id.bytes for job_id in told))
        if is_event:
            self.happened()

    def marks(self, execution_ids: Iterable[UUID], *, is_urgent: bool) -> None:
        """These executions are out of date. Who of this process looks after marks passes it on."""
        told = set(execution_ids)
        for listener in self._mark_listeners if told else ():
            listener(told, is_urgent)

    def cancels(self, job_ids: Iterable[UUID]) -> None:
        """These running jobs must stop. Only this process hears it (others: engine.jobs.cancel)."""
        told = list(job_ids)
        if not told:
            return
        for listener in self._cancel_listeners:
            for job_id in told:
                listener(job_id)
        self.happened()

    def targets(self, hosts: list[str]) -> None:
        """The rows of these targets have changed."""
        self._changed("target", hosts)

    def secrets(self, names: list[str]) -> None:
        """These secrets have changed."""
        self._changed("secret", names)

    def tokens(self) -> None:
        """Keys or sessions have been revoked, or may do something else than before."""
        self._changed("key", [])

    def caches(self, names: list[str]) -> None:
        """What caches keep of these (`<cache>:<key>`) has changed."""
        self._changed("cache", names)

    def schedules(self, names: list[str]) -> None:
        """These schedules have changed; of many it is enough to say none."""
        self._changed("schedule", names)

    def locks(self, names: Iterable[str]) -> None:
        """Callers of the API have got these locks."""
        self._changed("lock", sorted(names))

    def lock_due(self, seconds: float) -> None:
        """By then somebody has to look at the locks. Only this process hears it: it keeps the time,
        and the others find out by themselves.
        """
        for listener in self._lock_due_listeners:
            listener(seconds)

    def bulk(self) -> None:
        """A bulk operation was asked for. Only this process hears it: one node is enough, and the
        others look by themselves.
        """
        for listener in self._bulk_listeners:
            listener()

    def _changed(self, noun: str, names: list[str]) -> None:
        for listener in self._name_listeners[noun]:
            listener(names)
        self._lane.publish(keys.INVALIDATE, msgspec.json.encode({noun: names}))
        self.happened()

    def happened(self) -> None:
        """Something changed; listeners to events hear of it, at most every 50 ms."""
        if not self._events_due:
            self._events_due = True
            asyncio.get_running_loop().call_later(EVENTS_EVERY_SECONDS, self._flush_events)

    def _flush_events(self) -> None:
        self._events_due = False
        self._each_event()
        self._lane.publish(keys.EVENTS, b"1")

    def _each_event(self) -> None:
        for listener in self._event_listeners:
            listener()

    def _hear_lines(self, message: bytes) -> None:
        for queue, priority, at in msgspec.json.decode(message, type=list[tuple[str, int, float]]):
            for listener in self._line_listeners:
                listener((queue, priority), datetime.fromtimestamp(at, UTC))

    def _hear_ends(self, message: bytes) -> None:
        # Nobody waits here, or they were told: thousands a second are not worth reading.
        if not self._end_listeners or message.startswith(self._me):
            return
        for start in range(16, len(message), 16):
            job_id = UUID(bytes=message[start : start + 16])
            for listener in self._end_listeners:
                listener(job_id)

    def _hear_invalid(self, message: bytes) -> None:
        self.hear(msgspec.json.decode(message, type=dict[str, list[str]]))

    def hear(self, told: Mapping[str, list[str]]) -> None:
        """Tell the listeners of this process what another has said: noun -> names."""
        for noun, listeners in self._name_listeners.items():
            for hear in listeners if noun in told else ():
                hear(told[noun])
