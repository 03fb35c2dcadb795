"""Which days of a month a cron rule means.

Both the day of month and the day of week may be restricted. As in Vixie's cron a day then counts
when either agrees: `0 0 13 * 5` is every 13th and every Friday. When one of them begins with a
star (or is ?), both must agree, which for a plain star changes nothing: `0 0 13 * *` is the 13th,
and `0 0 */2 * 1` is those Mondays that have an odd number.

The answer depends only on how long the month is and on which weekday it begins, so a rule has no
more than 28 of them: one number each, in which bit 0 is the first of the month. A year has many
months and a table has 28 rows: nothing here is computed twice, and whether a rule ever fires is
known after looking at all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias, assert_never

from windlass.model.schedule.cron_field import (
    Field,
    LastDay,
    LastOf,
    LastWorkday,
    NearWorkday,
    NthOf,
    Special,
)

# By weekday of the first (0 is Monday), then by length less 28.
Table: TypeAlias = tuple[tuple[int, int, int, int], ...]

_LENGTHS: Final = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EVERY_SEVENTH: Final = sum(1 << day for day in range(0, 35, 7))


@lru_cache(maxsize=1_000)
def day_table(days: Field, weekdays: Field) -> Table:
    """Rules are many and say the same about days: `* *`, `* 1-5`."""

    def row(first: int) -> tuple[int, int, int, int]:
        a, b, c, d = (_mask(days, weekdays, first, length) for length in (28, 29, 30, 31))
        return a, b, c, d

    return tuple(row(first) for first in range(7))


def month_length(year: int, month: int) -> int:
    if month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0):
        return 29
    return _LENGTHS[month]


def ever_matches(table: Table, months: Iterable[int]) -> bool:
    """Is there a day at all? Every month, and every 29 February, begins on each weekday once."""
    lengths = {n for month in months for n in ((28, 29) if month == 2 else (_LENGTHS[month],))}
    return any(table[first][length - 28] for first, length in product(range(7), lengths))


def _mask(days: Field, weekdays: Field, first: int, length: int) -> int:
    by_day, by_weekday = _by_day(days, first, length), _by_weekday(weekdays, first, length)
    both = days.is_star or weekdays.is_star
    return (by_day & by_weekday if both else by_day | by_weekday) & ((1 << length) - 1)


def _by_day(days: Field, first: int, length: int) -> int:
    mask = sum(1 << (day - 1) for day in days.values)
    for special in days.specials:
        mask |= _special(special, first, length)
    return mask


def _by_weekday(weekdays: Field, first: int, length: int) -> int:
    mask = 0
    for weekday in weekdays.values:
        mask |= _EVERY_SEVENTH << _first_on(weekday, first)
    for special in weekdays.specials:
        mask |= _special(special, first, length)
    return mask


def _special(special: Special, first: int, length: int) -> int:
    match special:
        case LastDay(before):
            return 1 << (length - 1 - before) if before < length else 0
        case LastWorkday():
            return 1 << _near_workday(length - 1, first, length)
        case NearWorkday(day):
            # In a month without the day there is none near it either.
            return 1 << _near_workday(day - 1, first, length) if day <= length else 0
        case LastOf(weekday):
            on = _first_on(weekday, first)
            return 1 << (on + (length - 1 - on) // 7 * 7)
        case NthOf(weekday, nth):
            return 1 << (_first_on(weekday, first) + 7 * (nth - 1))
        case _:
            assert_never(special)


def _first_on(weekday: int, first: int) -> int:
    """The index of the first such weekday, from 0. Cron counts from Sunday, Python from Monday."""
    return (weekday - 1 - first) % 7


def _near_workday(day: int, first: int, length: int) -> int:
    """Saturday goes back a day and Sunday on, unless that leaves the month."""
    match (first + day) % 7:
        case 5:
            return day - 1 if day > 0 else day + 2
        case 6:
            return day + 1 if day + 1 < length else day - 2
        case _:
            return day
