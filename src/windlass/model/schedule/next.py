"""The due instants of a rule: the next one, those of a stretch of time, and how many they are.

A stretch is always `after < instant <= until`, so that stretches laid end to end miss nothing and
have nothing twice. Jitter is no part of it: an instant is what a firing is known by, and jitter
only says how much later it goes (see `rule.fire_at`).

Instants are counted without visiting them: a span's readings are days times times, so they are
multiplied; only where spans meet is anything looked at. Ten million are counted as fast as ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final, assert_never

from windlass.limits import CALENDAR_HORIZON_YEARS, COUNT_YEARS_MAX
from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import DAY_SECONDS, YEAR_MAX, Cron
from windlass.model.schedule.dst import fires_after_gap, instants, shown
from windlass.model.schedule.rule import (
    EPOCH,
    At,
    Every,
    Rule,
    clock_policy,
    days,
    due_of_at,
    from_microseconds,
    microseconds,
    readings,
)
from windlass.model.schedule.zone import span_at

_BEFORE_ALL: Final = EPOCH - timedelta(microseconds=1)
_LAST: Final = datetime(YEAR_MAX, 12, 1, tzinfo=UTC)
_HORIZON: Final = CALENDAR_HORIZON_YEARS * 366 * DAY_SECONDS * 1_000_000  # in microseconds


def next_after(rule: Rule, after: datetime) -> datetime | None:
    """The first due instant after this one; None when there is none."""
    return next(due(rule, after), None)


def between(rule: Rule, after: datetime, until: datetime, most: int) -> Iterator[datetime]:
    """The first `most` due instants that are later than `after` and not later than `until`."""
    for instant in islice(due(rule, after), most):
        if instant > until:
            return
        yield instant


def due(rule: Rule, after: datetime) -> Iterator[datetime]:
    """Every due instant after this one, in order."""
    if rule.starts_at is not None:
        after = max(after, rule.starts_at - timedelta(microseconds=1))
    end = min(rule.ends_at or _LAST, _LAST)
    if after >= end:
        return
    for instant in _due(rule, max(after, _BEFORE_ALL)):
        if instant >= end:
            return
        yield instant


def count_between(rule: Rule, after: datetime, until: datetime) -> int:
    """How many due instants `between` would yield without a bound. None of them is visited.

    Raises ValueError for a stretch of more than `COUNT_YEARS_MAX` years.
    """
    if until - after > timedelta(days=366 * COUNT_YEARS_MAX):
        raise ValueError(f"the stretch is longer than {COUNT_YEARS_MAX} years; ask for less")
    if rule.starts_at is not None:
        after = max(after, rule.starts_at - timedelta(microseconds=1))
    if rule.ends_at is not None:
        until = min(until, rule.ends_at - timedelta(microseconds=1))
    after, until = max(after, _BEFORE_ALL), min(until, _LAST)
    if after >= until:
        return 0
    match rule.when:
        case Cron():
            return _count_cron(rule, rule.when, after, until)
        case Every():
            return _count_every(rule, rule.when, after, until)
        case At():
            return sum(1 for _ in between(rule, after, until, len(rule.when.instants)))
        case _:
            assert_never(rule.when)


def _due(rule: Rule, after: datetime) -> Iterator[datetime]:
    match rule.when:
        case Cron():
            return _cron(rule, rule.when, after)
        case Every():
            return _every(rule, rule.when, after)
        case At():
            return _at(rule, rule.when, after)
        case _:
            assert_never(rule.when)


def _cron(rule: Rule, cron: Cron, after: datetime) -> Iterator[datetime]:
    first = microseconds(after) // 1_000_000 + 1
    source = partial(readings, cron, rule.calendar)
    for second in instants(source, rule.timezone, clock_policy(rule, cron), first):
        yield EPOCH + timedelta(seconds=second)


def _every(rule: Rule, every: Every, after: datetime) -> Iterator[datetime]:
    period, anchor = every.microseconds, microseconds(every.anchor_at)
    at = anchor + max(0, (microseconds(after) - anchor) // period + 1) * period
    if rule.calendar is None:
        while True:
            yield from_microseconds(at)
            at += period
    found = at
    while at < min(found + _HORIZON, microseconds(_LAST)):
        free = _past_days_off(rule.calendar, rule.timezone, at)
        if free == at:
            yield from_microseconds(at)
            found = at
        # At least one further, and the first that is not before `free`.
        at += max(1, -(-(free - at) // period)) * period


def _past_days_off(calendar: Calendar, zone: str, at: int) -> int:
    """The same instant when its local day is a working day; else one no later than the next such.

    A local day need not be one piece: where clocks go back over midnight it is left and entered
    again. So it is left at its midnight or at the end of its span, and asked again.
    """
    second = at // 1_000_000
    span = span_at(zone, second)
    day = (second + span.offset) // DAY_SECONDS
    if not calendar.is_off(day):
        return at
    midnight = (day + 1) * DAY_SECONDS - span.offset
    return min(midnight, span.end) * 1_000_000


def _at(rule: Rule, at: At, after: datetime) -> Iterator[datetime]:
    return (due_at for due_at in due_of_at(rule, at) if due_at > after)


def _count_cron(rule: Rule, cron: Cron, after: datetime, until: datetime) -> int:
    """Instants with after < instant <= until."""
    dst = clock_policy(rule, cron)
    source = partial(readings, cron, rule.calendar)
    at, end = microseconds(after) // 1_000_000 + 1, microseconds(until) // 1_000_000 + 1
    count = 0
    while at < end:
        span = span_at(rule.timezone, at)
        if at == span.start and fires_after_gap(source, span, dst):
            count += 1
            at += 1
        first, last = shown(span, dst)
        first = max(first, at + span.offset)
        count += _count(cron, rule.calendar, first, min(last, end + span.offset))
        at = span.end
    return count


def _count_every(rule: Rule, every: Every, after: datetime, until: datetime) -> int:
    at, end = microseconds(after) + 1, microseconds(until) + 1
    if rule.calendar is None:
        return _multiples(every, at, end)
    count = 0
    while at < end:
        span = span_at(rule.timezone, at // 1_000_000)
        day = (at // 1_000_000 + span.offset) // DAY_SECONDS
        piece_end = min((day + 1) * DAY_SECONDS - span.offset, span.end) * 1_000_000
        if not rule.calendar.is_off(day):
            count += _multiples(every, at, min(piece_end, end))
        at = piece_end
    return count


def _multiples(every: Every, first: int, until: int) -> int:
    """How many of `every` lie from `first` on and before `until`."""
    anchor = microseconds(every.anchor_at)
    first, until = max(first, anchor) - anchor, max(until, anchor) - anchor
    return -(-until // every.microseconds) + first // -every.microseconds


def _count(cron: Cron, calendar: Calendar | None, first: int, until: int) -> int:
    """Readings from `first` on and before `until`."""
    if first >= until:
        return 0
    (first_day, first_time), (last_day, last_time) = (
        divmod(first, DAY_SECONDS),
        divmod(until, DAY_SECONDS),
    )
    count = _count_days(cron, calendar, first_day, last_day) * cron.times_a_day
    if first_time and _is_meant(cron, calendar, first_day):
        count -= cron.times_before(first_time)
    if last_time and _is_meant(cron, calendar, last_day):
        count += cron.times_before(last_time)
    return count


def _count_days(cron: Cron, calendar: Calendar | None, first: int, until: int) -> int:
    if calendar is None:
        return cron.count_days(first, until)
    count = 0
    for day in days(cron, calendar, first):
        if day >= until:
            break
        count += 1
    return count


def _is_meant(cron: Cron, calendar: Calendar | None, day: int) -> bool:
    return next(days(cron, calendar, day), None) == day
