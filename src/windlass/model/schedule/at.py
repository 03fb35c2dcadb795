"""Instants that a rule names one by one, as its calendar has them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import DAY_SECONDS
from windlass.model.schedule.dst import instants
from windlass.model.schedule.rule import At, Rule, from_microseconds, microseconds
from windlass.model.schedule.zone import span_at


def due_of_at(rule: Rule, at: At) -> dict[datetime, datetime]:
    """When each is due, in order, and the instant that was named. Two due at once are one."""
    if rule.calendar is None:
        return {instant: instant for instant in at.instants}
    calendar = rule.calendar
    moved = [(_moved(calendar, rule, instant), instant) for instant in at.instants]
    return dict(sorted((due_at, named) for due_at, named in moved if due_at is not None))


def _moved(calendar: Calendar, rule: Rule, instant: datetime) -> datetime | None:
    """The same local time on the day that the calendar has for it."""
    second, rest = divmod(microseconds(instant), 1_000_000)
    day, time = divmod(second + span_at(rule.timezone, second).offset, DAY_SECONDS)
    to = calendar.moved(day)
    if to is None or to == day:
        return None if to is None else instant
    reading = to * DAY_SECONDS + time
    # No offset is as long as two days.
    since = reading - 2 * DAY_SECONDS
    found = next(instants(partial(_one, reading), rule.timezone, rule.dst, since), None)
    return None if found is None else from_microseconds(found * 1_000_000 + rest)


def _one(reading: int, since: int) -> Iterator[int]:
    if since <= reading:
        yield reading
