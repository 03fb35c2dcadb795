"""How many instants a rule has in a stretch of time, without visiting them.

A span's readings are days times times, so they are multiplied; only where spans meet is anything
looked at. Ten million instants are counted as fast as ten.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import DAY_SECONDS, Cron
from windlass.model.schedule.dst import fires_after_gap, shown
from windlass.model.schedule.rule import Every, Rule, clock_policy, days, microseconds, readings
from windlass.model.schedule.zone import span_at


def count_cron(rule: Rule, cron: Cron, after: datetime, until: datetime) -> int:
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


def count_every(rule: Rule, every: Every, after: datetime, until: datetime) -> int:
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
