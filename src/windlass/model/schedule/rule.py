"""A rule in time: what a schedule says about when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import DAY_SECONDS, Cron
from windlass.model.schedule.dst import PACE, Dst

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


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
