"""Timestamps and durations of CEL: read, written, and taken apart."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from windlass.model.expression.values import Run, Unanswerable, type_of

_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_OFFSET: Final = re.compile(r"([+-]?)([0-9]{1,2}):([0-9]{2})")
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})(ms|us|µs|ns|d|h|m|s)")
_DURATION: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
_CHARS_MAX: Final = 100
_ZONE_CHARS_MAX: Final = 64
_OF_THE_MACHINE: Final = frozenset(("localtime", "posixrules", "Factory"))
# A zone is looked for in several folders of files, for the first time in each evaluation.
_ZONE_COSTS: Final = 400
_MICROSECONDS: Final = {
    "ns": 0.001,
    "us": 1,
    "µs": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}


def read_timestamp(text: str) -> datetime:
    found = _INSTANT.fullmatch(text)
    if found is not None:
        day, clock, fraction, zone = found.groups()
        # Python keeps six digits of a second.
        digits = (fraction or ".0")[:7].ljust(7, "0")
        with suppress(ValueError):
            return datetime.fromisoformat(f"{day}T{clock}{digits}{zone.upper()}")
    raise Unanswerable(f"{text[:60]!r} is no timestamp; it is written as in 2031-05-01T12:00:00Z")


def read_duration(run: Run, text: str) -> timedelta:
    # Every few letters are a part that is read by itself.
    run.spend(2 * min(len(text), _CHARS_MAX))
    found = _DURATION.fullmatch(text) if len(text) <= _CHARS_MAX else None
    if found is None and text not in ("0", "-0", "+0"):
        raise Unanswerable(f"{text[:60]!r} is no duration; it is written as in 90s or 1h30m")
    total = sum(float(n) * _MICROSECONDS[unit] for n, unit in _PART.findall(text))
    try:
        return timedelta(microseconds=-total if text.startswith("-") else total)
    except OverflowError:
        raise Unanswerable(f"{text[:60]!r} is too long a duration") from None


def written_timestamp(value: datetime) -> str:
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def seconds(value: timedelta) -> int | float:
    """A whole number of them stays whole."""
    return value // timedelta(seconds=1) if not value.microseconds else value.total_seconds()


def part(run: Run, name: str, value: Any, zone: str | None) -> int:
    """One of the `get…` functions."""
    if type(value) is timedelta and zone is None and name in _LENGTHS:
        return (
            int(value / _LENGTHS[name]) if name != "getMilliseconds" else value.microseconds // 1000
        )
    if type(value) is not datetime:
        raise Unanswerable(f"{name} asks a timestamp, not {type_of(value)}")
    try:
        there = value.astimezone(UTC if zone is None else _zone(run, zone))
    except OverflowError:
        raise Unanswerable("overflow: years go from 1 to 9999") from None
    return int(PARTS[name](there))


_LENGTHS: Final = {
    "getHours": timedelta(hours=1),
    "getMinutes": timedelta(minutes=1),
    "getSeconds": timedelta(seconds=1),
    "getMilliseconds": timedelta(milliseconds=1),
}
# Months, days and weekdays are counted from 0, as the language has it; only getDate begins with 1.
PARTS: Final[dict[str, Any]] = {
    "getFullYear": lambda at: at.year,
    "getMonth": lambda at: at.month - 1,
    "getDate": lambda at: at.day,
    "getDayOfMonth": lambda at: at.day - 1,
    "getDayOfWeek": lambda at: at.isoweekday() % 7,
    "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
    "getHours": lambda at: at.hour,
    "getMinutes": lambda at: at.minute,
    "getSeconds": lambda at: at.second,
    "getMilliseconds": lambda at: at.microsecond // 1000,
}


def _zone(run: Run, name: str) -> tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        if name not in run.zones:
            run.spend(_ZONE_COSTS)
            run.zones[name] = _found_zone(name)
        found = run.zones[name]
    else:
        found = _zone_at(offset)
    if found is None:
        raise Unanswerable(f"{name[:60]!r} is no time zone, such as Europe/Berlin")
    return found


def _found_zone(name: str) -> tzinfo | None:
    if not 1 <= len(name) <= _ZONE_CHARS_MAX or name in _OF_THE_MACHINE:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


def _zone_at(offset: re.Match[str]) -> tzinfo | None:
    behind = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
    try:
        return timezone(-behind if offset[1] == "-" else behind)
    except ValueError:
        return None
