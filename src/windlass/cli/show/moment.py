"""Instants and durations as people read them: how long ago, and exactly when."""

from __future__ import annotations

from datetime import UTC, datetime

from windlass.clock import wall

# Each unit is used up to twice the next one: "90 s", then "2 min".
_UNITS = (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800), ("d", 86_400, None))


_DAY_SECONDS = 86_400


def parse(text: object) -> datetime | None:
    """An instant of the API, or None when `text` is none."""
    try:
        instant = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return instant.astimezone(UTC) if instant and instant.tzinfo else None


def when(text: object, now: datetime | None = None) -> str:
    """`12 s ago (2030-01-31 12:00:00Z)`; nothing for no instant."""
    instant = parse(text)
    if instant is None:
        return _as_it_is(text)
    return f"{relative(text, now)} ({instant:%Y-%m-%d %H:%M:%SZ})"


def relative(text: object, now: datetime | None = None) -> str:
    """`12 s ago`, where there is no room for more."""
    instant = parse(text)
    if instant is None:
        return _as_it_is(text)
    seconds = (instant - (now or wall())).total_seconds()
    if abs(seconds) < 1:
        return "now"
    return f"{length(-seconds)} ago" if seconds < 0 else f"in {length(seconds)}"


def precisely(text: object, now: datetime | None = None) -> str:
    """`2030-01-31 12:00:00.123Z (12 s ago)`: for what happens many times a second."""
    instant = parse(text)
    if instant is None:
        return _as_it_is(text)
    return f"{instant:%Y-%m-%d} {clock_time(text)}Z ({relative(text, now)})"


def clock_time(text: object) -> str:
    """`12:00:00.123`, for lines of a live stream."""
    instant = parse(text)
    return _as_it_is(text) if instant is None else f"{instant:%H:%M:%S.%f}"[:-3]


def clock_time_or_day(text: object, now: datetime | None = None) -> str:
    """The same with the day before it, and without fractions, when that is not the last one."""
    instant = parse(text)
    if instant is None or abs((instant - (now or wall())).total_seconds()) < _DAY_SECONDS:
        return clock_time(text)
    return f"{instant:%Y-%m-%d %H:%M:%S}"


def length(seconds: float) -> str:
    """A duration in its natural unit, rounded."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    for unit, size, until in _UNITS:
        if until is None or seconds < until:
            return f"{seconds / size:.0f} {unit}"
    raise AssertionError("the last unit has no end")


def _as_it_is(text: object) -> str:
    return "" if text is None else str(text)
