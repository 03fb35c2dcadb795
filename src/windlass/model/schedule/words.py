"""A whole rule in one sentence of plain English, as a person would say it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Final, assert_never

from windlass.model.schedule.calendar import Calendar
from windlass.model.schedule.cron import EPOCH_DAY, Cron
from windlass.model.schedule.cron_words import WEEKDAYS, cron_words, listed, ranged
from windlass.model.schedule.rule import At, Every, Rule, clock_policy

_NAMED_MAX: Final = 3
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def words(rule: Rule) -> str:
    """`at 08:00 from Monday to Friday, Europe/Berlin`."""
    parts = [_when(rule)]
    if isinstance(rule.when, Cron) or rule.calendar is not None:
        parts.append(rule.timezone)
    if rule.calendar is not None:
        parts.append(_calendar(rule.calendar))
    if isinstance(rule.when, Cron):
        parts += _clocks(rule, rule.when)
    if rule.starts_at is not None and not isinstance(rule.when, Every):
        parts.append(f"from {_instant(rule.starts_at)} on")
    if rule.ends_at is not None:
        parts.append(f"until {_instant(rule.ends_at)}")
    if rule.jitter_seconds:
        parts.append(f"each up to {_length(rule.jitter_seconds)} later")
    return ", ".join(parts)


def _when(rule: Rule) -> str:
    match rule.when:
        case Cron() as cron:
            return cron_words(cron)
        case Every(microseconds=count, anchor_at=anchor_at):
            length = _length(count / 1_000_000)
            return f"every {length.removeprefix('1 ')}, counted from {_instant(anchor_at)}"
        case At(instants=(only,)):
            return f"once at {_instant(only)}"
        case At(instants=instants) if len(instants) <= _NAMED_MAX:
            return f"at {listed([_instant(instant) for instant in instants])}"
        case At(instants=instants):
            first, last = _instant(instants[0]), _instant(instants[-1])
            return f"at {len(instants)} instants from {first} to {last}"
        case _:
            assert_never(rule.when)


def _calendar(calendar: Calendar) -> str:
    off = []
    if calendar.weekdays:
        off.append(ranged([day + 1 for day in sorted(calendar.weekdays)], WEEKDAYS))
    days = [_day(day) for day in sorted(calendar.dates)]
    days += [f"{month:02}-{day:02}" for month, day in sorted(calendar.yearly)]
    days += [f"{_day(first)} to {_day(last)}" for first, last in calendar.ranges]
    off += days if len(days) <= _NAMED_MAX else [f"{len(days)} days and ranges of its own"]
    if calendar.countries:
        off.append(f"holidays of {listed(calendar.countries)}")
    match calendar.shift:
        case "none":
            return f"except on {listed(off)}"
        case "next" | "previous":
            return f"moved to the {calendar.shift} working day from {listed(off)}"


def _clocks(rule: Rule, cron: Cron) -> list[str]:
    """Only what is not as everybody expects it."""
    found = []
    if clock_policy(rule, cron) is rule.dst:
        if rule.dst.gap == "skip":
            found.append("left out when clocks skip it")
        if rule.dst.overlap != "first":
            which = "both times" if rule.dst.overlap == "both" else "the second time"
            found.append(f"{which} when clocks show it twice")
    return found


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _day(day: int) -> str:
    return date.fromordinal(day + EPOCH_DAY).isoformat()


def _length(seconds: float) -> str:
    """In the largest unit that leaves no rest: `90 minutes`."""
    for unit, size in _UNITS:
        if seconds % size == 0:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count != 1 else ''}"
    return f"{seconds:g} seconds"
