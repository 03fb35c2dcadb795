"""A time zone as spans: stretches of time in which the local clock runs evenly.

    offset   +1 h            +2 h                    +1 h
    UTC      ---------------|-----------------------|---------------->
    reading  …01:58 01:59   |03:00 … 02:58 02:59    |02:00 02:01 …
                            gap: 02:00 to 03:00     overlap: 02:00 to 03:00, a second time

Within a span, reading = instant + offset, and one follows from the other. What is special happens
only where two spans meet, and each span knows enough about its neighbours to tell: up to where the
clock had been before (`seen_until`), and from where on it will be again (`again_from`).

The standard library tells the offset of an instant but not when it changes. So a zone is looked at
every second day, in pages of about a year, and where two looks differ the instant is searched for.
No zone since 1970 has kept an offset for less than a week (tests/model/schedule/test_zone.py).
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

# 2 ** 25 seconds are 388 days.
_PAGE_BITS: Final = 25
_LOOK_SECONDS: Final = 2 * 86_400
# Clocks were never put forward or back by more than a day, so a page that knows so much of its
# neighbours knows what repeats.
_MARGIN_SECONDS: Final = 4 * 86_400
_PAGES_KEPT: Final = 4_096
ZONE_CHARS_MAX: Final = 64
# What the names in the database look like; which there are, only it knows.
ZONE_PATTERN: Final = "[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}"
# A city that is only somewhat alike is another city.
_CITY_CUTOFF: Final = 0.75
# Files that stand among the zones and mean something else on every machine.
_OF_THE_MACHINE: Final = frozenset(("localtime", "posixrules", "Factory"))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Span(NamedTuple):
    """Instants from `start` on and before `end`, in seconds since 1970."""

    start: int
    end: int
    offset: int
    # Readings before this one have been shown. More than the span's first reading: an overlap, what
    # lies between is shown again. Less: a gap, what lies between is never shown.
    seen_until: int
    # Readings from this one on will be shown again, after the span's end.
    again_from: int

    @property
    def first_reading(self) -> int:
        return self.start + self.offset

    @property
    def end_reading(self) -> int:
        return self.end + self.offset


def span_at(zone: str, instant: int) -> Span:
    """The span that holds the instant. `zone` is the name of one that exists."""
    starts, spans = _page(zone, instant >> _PAGE_BITS)
    return spans[bisect_right(starts, instant) - 1]


def read_zone(value: object) -> str:
    """The name of a zone. Raises ValueError that says what is allowed."""
    if isinstance(value, str) and value in _names():
        return value
    near = ""
    if isinstance(value, str) and len(value) <= ZONE_CHARS_MAX:
        lower = {name.lower(): name for name in _names()}
        # People know the city more often than the continent.
        cities = {name.rpartition("/")[2]: name for name in lower}
        wanted = value.lower().replace(" ", "_")
        found = get_close_matches(wanted, lower, n=1) or [
            cities[city]
            for city in get_close_matches(wanted.rpartition("/")[2], cities, 1, _CITY_CUTOFF)
        ]
        near = f"; did you mean {lower[found[0]]}?" if found else ""
    if not _names():
        raise ValueError("cannot be looked up: this machine has no time zones; pip install tzdata")
    raise ValueError(
        f'must be a time zone of the IANA database, such as "Europe/Berlin" or "UTC"{near}'
    )


def local(zone: str, instant: datetime) -> datetime:
    return instant.astimezone(_zone(zone))


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones()) - _OF_THE_MACHINE


@lru_cache(maxsize=1_000)
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


@lru_cache(maxsize=_PAGES_KEPT)
def _page(name: str, number: int) -> tuple[tuple[int, ...], tuple[Span, ...]]:
    """The spans of about a year, cut at its ends; where a cut is no clock changes."""
    first, end = number << _PAGE_BITS, (number + 1) << _PAGE_BITS
    pieces = _pieces(_zone(name), first - _MARGIN_SECONDS, end + _MARGIN_SECONDS)
    spans = []
    seen_until = pieces[0][0] + pieces[0][2]
    for index, (start, until, offset) in enumerate(pieces):
        again_from = min(
            [at + later for at, _, later in pieces[index + 1 :]], default=until + offset
        )
        cut = Span(max(start, first), min(until, end), offset, seen_until, again_from)
        if cut.start < cut.end:
            # The start of a page is no change: nothing is missing before it.
            known = cut.seen_until if start >= first else max(cut.seen_until, cut.first_reading)
            spans.append(cut._replace(seen_until=known))
        seen_until = max(seen_until, until + offset)
    return tuple(span.start for span in spans), tuple(spans)


def _pieces(zone: ZoneInfo, first: int, end: int) -> list[tuple[int, int, int]]:
    """(start, end, offset), the first and the last cut off by what was asked for."""
    pieces = []
    start, offset = first, _offset(zone, first)
    for look in range(first + _LOOK_SECONDS, end + _LOOK_SECONDS, _LOOK_SECONDS):
        there = _offset(zone, look)
        if there != offset:
            change = _change(zone, look - _LOOK_SECONDS, look)
            pieces.append((start, change, offset))
            start, offset = change, there
    pieces.append((start, max(end, start + 1), offset))
    return pieces


def _change(zone: ZoneInfo, before: int, after: int) -> int:
    """The first instant of the new offset."""
    offset = _offset(zone, after)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == offset:
            after = middle
        else:
            before = middle
    return after


def _offset(zone: ZoneInfo, instant: int) -> int:
    there = (_EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    assert there is not None, "a zone knows its offset at every instant"
    return there // timedelta(seconds=1)
