"""Calendars: weekends, holidays and other days off, which a rule leaves out or moves away from.

A calendar maps days to days, before clocks come into it: a rule's day is kept when it is a working
day, and else left out, or moved to the next or the previous one. Two days that end up on the same
one fire once. The map keeps the order of days, which is what makes it cheap to follow. Days are
counted from 1970 and are those of the rule's time zone.

Public holidays of countries and their parts come from the package `holidays`. It is imported when
somebody first names a country: it takes a moment, and most rules name none.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias

from windlass.extras import server_parts
from windlass.limits import CALENDAR_HORIZON_YEARS, CALENDAR_MOVE_DAYS_MAX
from windlass.model.schedule.cron import EPOCH_DAY

_FAR: Final = date.max.toordinal()
_NO_RUN: Final = range(0)
_HORIZON_DAYS: Final = 366 * CALENDAR_HORIZON_YEARS
COUNTRY_PATTERN: Final = "([A-Z]{2})(-([A-Za-z0-9]{1,20}))?"
_COUNTRY: Final = re.compile(COUNTRY_PATTERN)

Shift: TypeAlias = Literal["none", "next", "previous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    weekdays: frozenset[int] = frozenset()  # 0 is Monday
    dates: frozenset[int] = frozenset()
    yearly: frozenset[tuple[int, int]] = frozenset()  # (month, day)
    ranges: tuple[tuple[int, int], ...] = ()  # (first, last), in order, apart from each other
    countries: tuple[str, ...] = ()  # "DE", "DE-BY"
    shift: Shift = "none"

    def is_off(self, day: int) -> bool:
        # The cheapest first: a country's holidays are worked out a year at a time.
        if (day + 3) % 7 in self.weekdays or day in self.dates:
            return True
        if self.ranges and self._in_range(day):
            return True
        if not self.yearly and not self.countries:
            return False
        on = date.fromordinal(day + EPOCH_DAY)
        if (on.month, on.day) in self.yearly:
            return True
        return any(on in holidays_of(country, on.year) for country in self.countries)

    def days(self, source: Callable[[int], Iterator[int]], first: int) -> Iterator[int]:
        """The days of `source` as this calendar has them, from `first` on."""
        last, run = None, _NO_RUN
        for day in source(self._earliest(first)):
            if day > first + _HORIZON_DAYS:
                return
            moved: int | None = day
            if run.start <= day < run.stop or self.is_off(day):
                run = self._run(day, run)
                moved = self._leave(day, run)
            if moved is not None and moved >= first and moved != last:
                # The horizon counts from the last day that was found.
                first = last = moved
                yield moved

    def moved(self, day: int) -> int | None:
        """Where the day goes. None: nowhere."""
        return self._leave(day, self._run(day, _NO_RUN)) if self.is_off(day) else day

    def sources(self, day: int) -> Iterator[int]:
        """The days off that go to this day, if the rule means them."""
        if self.shift == "none" or self.is_off(day):
            return
        step = -1 if self.shift == "next" else 1
        for distance in range(1, CALENDAR_MOVE_DAYS_MAX + 1):
            if not self.is_off(day + step * distance):
                return
            yield day + step * distance

    def _earliest(self, first: int) -> int:
        """Days off just before `first` may be moved to it or beyond."""
        if self.shift != "next":
            return first
        for distance in range(1, CALENDAR_MOVE_DAYS_MAX + 1):
            if not self.is_off(first - distance):
                return first - distance + 1
        return first - CALENDAR_MOVE_DAYS_MAX

    def _run(self, day: int, known: range) -> range:
        """Days off without a break, from this one as far as it may be moved.

        `known` is the run of an earlier day, so that none is asked about twice.
        """
        if self.shift == "next":
            stop = known.stop if day in known else day + 1
            while stop <= day + CALENDAR_MOVE_DAYS_MAX and self.is_off(stop):
                stop += 1
            return range(day, stop)
        start = day
        while self.shift == "previous" and start >= day - CALENDAR_MOVE_DAYS_MAX:
            if start == known.stop:
                start = known.start
            if not self.is_off(start - 1):
                break
            start -= 1
        return range(start, day + 1)

    def _leave(self, day: int, run: range) -> int | None:
        """The working day at the end of a run, if it is near enough."""
        match self.shift:
            case "none":
                return None
            case "next":
                return run.stop if run.stop - day <= CALENDAR_MOVE_DAYS_MAX else None
            case "previous":
                return run.start - 1 if day - run.start < CALENDAR_MOVE_DAYS_MAX else None

    def _in_range(self, day: int) -> bool:
        index = bisect_right(self.ranges, (day, _FAR)) - 1
        return index >= 0 and day <= self.ranges[index][1]


def read_country(value: object) -> str:
    """`DE` or `DE-BY`. Raises ValueError that says what is allowed."""
    found = _COUNTRY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('must be a country as in ISO 3166, with or without a part: "DE", "DE-BY"')
    country, part = found[1], found[3]
    parts = _countries().get(country)
    if parts is None:
        raise ValueError(f"the holidays of {country} are not known; list its days in dates")
    if part is not None and part not in parts:
        known = " ".join(sorted(parts)) or "none"
        raise ValueError(f"{country} has no part {part} with holidays of its own; it has {known}")
    return found[0]


@lru_cache(maxsize=4_096)
def holidays_of(region: str, year: int) -> frozenset[date]:
    with server_parts("a country's holidays"):
        import holidays

    country, _, part = region.partition("-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says so when it knows nothing of a year that far away
        return frozenset(holidays.country_holidays(country, subdiv=part or None, years=year))


@cache
def _countries() -> dict[str, frozenset[str]]:
    with server_parts("a country's holidays"):
        import holidays

    found = holidays.list_supported_countries()
    return {country: frozenset(parts) for country, parts in found.items()}
