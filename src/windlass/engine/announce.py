"""Saying what happened: to this node at once, to the others through the fast lane.

Everything said here is a hint. Whoever misses it finds out from PostgreSQL at its next poll.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from windlass.fastlane import keys
from windlass.fastlane.lane import FastLane
from windlass.store.database import Record

Line = tuple[str, int]
EVENTS_EVERY_SECONDS: Final = 0.05


class Announcer:
    """`on_…` registers a listener of this process; the other methods speak."""

    def __init__(self, lane: FastLane) -> None:
        self._lane = lane
        self._line_listeners: list[Callable[[Line, datetime], None]] = []
        self._end_listeners: list[Callable[[UUID], None]] = []
        self._cancel_listeners: list[Callable[[UUID], None]] = []
        self._event_listeners: list[Callable[[], None]] = []
        self._name_listeners: dict[str, list[Callable[[list[str]], None]]] = {
            "target": [],
            "secret": [],
        }
        self._events_due = False
        # One process hears its own messages back; they do no harm, they only say it again.
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

    def on_event(self, listener: Callable[[], None]) -> None:
        self._event_listeners.append(listener)

    def on_target(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the hosts of targets whose rows have changed."""
        self._name_listeners["target"].append(listener)

    def on_secret(self, listener: Callable[[list[str]], None]) -> None:
        """Hears the names of secrets that have changed."""
        self._name_listeners["secret"].append(listener)

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

    def ends(self, job_ids: Iterable[UUID]) -> None:
        """These jobs have reached a terminal state."""
        told = list(job_ids)
        if not told:
            return
        for listener in self._end_listeners:
            for job_id in told:
                listener(job_id)
        self._lane.publish(keys.RESULTS, b"".join(job_id.bytes for job_id in told))
        self.happened()

    def cancels(self, job_ids: Iterable[UUID]) -> None:
        """These running jobs must stop."""
        told = list(job_ids)
        if not told:
            return
        for listener in self._cancel_listeners:
            for job_id in told:
                listener(job_id)
        message = {"cancel": [job_id.hex for job_id in told]}
        self._lane.publish(keys.INVALIDATE, msgspec.json.encode(message))
        self.happened()

    def targets(self, hosts: list[str]) -> None:
        """The rows of these targets have changed."""
        self._changed("target", hosts)

    def secrets(self, names: list[str]) -> None:
        """These secrets have changed."""
        self._changed("secret", names)

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
        if not self._end_listeners:
            return  # nobody waits here: thousands a second are not worth reading
        for start in range(0, len(message), 16):
            job_id = UUID(bytes=message[start : start + 16])
            for listener in self._end_listeners:
                listener(job_id)

    def _hear_invalid(self, message: bytes) -> None:
        self.hear(msgspec.json.decode(message, type=dict[str, list[str]]))

    def hear(self, told: Mapping[str, list[str]]) -> None:
        """Tell the listeners of this process what another has said: noun -> names."""
        for text in told.get("cancel", []):
            for listener in self._cancel_listeners:
                listener(UUID(hex=text))
        for noun, listeners in self._name_listeners.items():
            for hear in listeners if noun in told else ():
                hear(told[noun])
