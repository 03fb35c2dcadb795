"""A rule in time: what a schedule says about when (cron, interval, instants), calendar and jitter.

The readings of a cron rule, and the instants that an `at` names one by one, pass through the
calendar, which may leave a day out or move it. Jitter says how much later than its instant a firing
goes, so that a thousand of them do not go at once. The same schedule and instant always get the
same delay, on whichever node it is asked: a firing does not move when the leader does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import Final, TypeAlias
from uuid import UUID

from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import DAY_SECONDS, Cron
from windlass.model.schedule.dst import PACE, Dst, instants
from windlass.model.schedule.zone import span_at

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_CHANCES: Final = 2**64


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Elapsed time: the anchor, and every so many microseconds from it on."""

    microseconds: int
    anchor_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Instants one by one, in order, each once."""

    instants: tuple[datetime, ...]


When: TypeAlias = Cron | Every | At


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    when: When
    timezone: str = "UTC"
    dst: Dst = field(default_factory=Dst)
    starts_at: datetime | None = None  # None: has always been going on
    ends_at: datetime | None = None  # fires before this instant; None: for ever
    jitter_seconds: float = 0.0
    calendar: Calendar | None = None  # None: every day is as good as another


def clock_policy(rule: Rule, cron: Cron) -> Dst:
    """A rule for every hour goes by elapsed time, whatever its policy."""
    return PACE if cron.keeps_pace else rule.dst


def readings(cron: Cron, calendar: Calendar | None, since: int) -> Iterator[int]:
    """The readings of a rule from `since` on, on the days that its calendar leaves."""
    first, time = divmod(since, DAY_SECONDS)
    for day in days(cron, calendar, first):
        begins = day * DAY_SECONDS
        for second in cron.times(time if day == first else 0):
            yield begins + second


def days(cron: Cron, calendar: Calendar | None, first: int) -> Iterator[int]:
    return cron.days(first) if calendar is None else calendar.days(cron.days, first)


def microseconds(instant: datetime) -> int:
    """Since 1970."""
    return (instant - EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    return EPOCH + timedelta(microseconds=count)


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


def fire_at(schedule_id: UUID, instant: datetime, jitter_seconds: float) -> datetime:
    """From the instant on, and less than the jitter later."""
    if not jitter_seconds:
        return instant
    what = schedule_id.bytes + microseconds(instant).to_bytes(8, "big", signed=True)
    chance = int.from_bytes(blake2b(what, digest_size=8).digest(), "big")
    delay = chance * int(jitter_seconds * 1_000_000) // _CHANCES
    return instant + timedelta(microseconds=delay)
