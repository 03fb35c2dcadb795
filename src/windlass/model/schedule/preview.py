"""A preview of a rule: its next instants, for a person to check before it is trusted.

A note says what is odd about an instant: clocks change there (DST), or it was moved from a day off.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from itertools import islice, takewhile
from typing import Final

from windlass.model.schedule.cron import DAY_SECONDS, EPOCH_DAY, Cron
from windlass.model.schedule.next import due
from windlass.model.schedule.rule import (
    EPOCH,
    At,
    Rule,
    clock_policy,
    due_of_at,
    from_microseconds,
    microseconds,
    readings,
)
from windlass.model.schedule.zone import Span, local, span_at

# A gap of a day may hold many of a rule's readings; these are enough to understand it.
_READINGS_MAX: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    instant: datetime
    local: datetime  # in the rule's time zone
    note: str | None  # None: nothing to say


def preview(rule: Rule, after: datetime, most: int) -> list[Preview]:
    """The next `most` instants after this one."""
    found: list[Preview] = []
    before = after
    for instant in islice(due(rule, after), most):
        there = local(rule.timezone, instant)
        found.append(Preview(instant=instant, local=there, note=note(rule, instant, before)))
        before = instant
    return found


def note(rule: Rule, instant: datetime, before: datetime | None = None) -> str | None:
    """What is to be said of an instant at which the rule is due; None: nothing.

    `before` is the one that was shown before it: what happened between them is said as well.
    """
    since = instant if before is None else max(before, EPOCH)
    said = [*_clocks(rule, rule.when, since, instant)] if isinstance(rule.when, Cron) else []
    notes = [*(said or _drift(rule, since, instant)), *_moves(rule, instant)]
    return "; ".join(notes) or None


def _clocks(rule: Rule, cron: Cron, before: datetime, instant: datetime) -> Iterator[str]:
    """What became of readings that clocks skip or show twice."""
    dst = clock_policy(rule, cron)
    if dst is not rule.dst:
        return
    second = microseconds(instant) // 1_000_000
    span = span_at(rule.timezone, second)
    reading = second + span.offset
    if dst.gap == "skip":
        yield from _left_out(rule, cron, before, second, reading)
    elif second == span.start and (missed := _missed(rule, cron, span)):
        yield (
            f"clocks go forward here: {_missing(missed, reading)},"
            f" fires at {_shown(reading, missed[0])}"
        )
    time = _shown(reading, reading)
    which = {"first": "at the first", "second": "at the second", "both": "both times"}[dst.overlap]
    if reading < span.seen_until or reading >= span.again_from:
        yield f"clocks go back here: {time} comes twice, fires {which}"


def _left_out(rule: Rule, cron: Cron, before: datetime, second: int, reading: int) -> Iterator[str]:
    """Gaps between two firings in which there would have been one."""
    span = span_at(rule.timezone, microseconds(before) // 1_000_000)
    while span.end <= second:
        span = span_at(rule.timezone, span.end)
        if missed := _missed(rule, cron, span):
            are = "is" if len(missed) == 1 else "are"
            yield f"clocks go forward before: {_missing(missed, reading)} and {are} left out"


def _missed(rule: Rule, cron: Cron, span: Span) -> list[int]:
    """The rule's readings in the gap before a span, the first of them."""
    if span.seen_until >= span.first_reading:
        return []
    source = partial(readings, cron, rule.calendar)(span.seen_until)
    return [*islice(takewhile(lambda found: found < span.first_reading, source), _READINGS_MAX)]


def _missing(missed: list[int], beside: int) -> str:
    first = _shown(missed[0], beside)
    if len(missed) == 1:
        return f"{first} does not exist"
    return f"{first} to {_shown(missed[-1], beside)} do not exist"


def _drift(rule: Rule, before: datetime, instant: datetime) -> Iterator[str]:
    """The same local time is another instant than it was."""
    was, now = (span_at(rule.timezone, microseconds(at) // 1_000_000) for at in (before, instant))
    if was.offset != now.offset:
        way = "forward" if now.offset > was.offset else "back"
        yield f"clocks went {way}: {_offset(was.offset)} became {_offset(now.offset)}"


def _moves(rule: Rule, instant: datetime) -> Iterator[str]:
    """From which days off it was moved here."""
    if rule.calendar is None or rule.calendar.shift == "none":
        return
    if isinstance(rule.when, At):
        named = due_of_at(rule, rule.when).get(instant, instant)
        if named != instant:
            yield f"moved from {local(rule.timezone, named):%A %Y-%m-%d}, a day off"
    elif isinstance(rule.when, Cron):
        second = microseconds(instant) // 1_000_000
        day = (second + span_at(rule.timezone, second).offset) // DAY_SECONDS
        meant = [d for d in rule.calendar.sources(day) if next(rule.when.days(d), None) == d]
        if meant:
            also = "also for" if next(rule.when.days(day), None) == day else "moved from"
            yield f"{also} {date.fromordinal(min(meant) + EPOCH_DAY):%A %Y-%m-%d}, a day off"


def _shown(reading: int, beside: int) -> str:
    """A clock's time, with its seconds and its day where they matter."""
    there = from_microseconds(reading * 1_000_000)
    time = f"{there:%H:%M:%S}" if reading % 60 else f"{there:%H:%M}"
    return time if reading // DAY_SECONDS == beside // DAY_SECONDS else f"{there:%Y-%m-%d} {time}"


def _offset(seconds: int) -> str:
    hours, rest = divmod(abs(seconds), 3600)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{rest // 60:02}"
