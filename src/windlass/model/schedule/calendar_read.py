"""Reading the calendar of a schedule: its days off, and what becomes of a rule's days among them.

{"weekdays": ["saturday", "sunday"], "dates": ["12-24", "2030-06-07"],
 "ranges": [{"from": "2030-08-01", "to": "2030-08-14"}], "countries": ["DE-BY"], "shift": "next"}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any, Final, TypeVar

from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import CALENDAR_COUNTRIES_MAX, CALENDAR_DAYS_MAX
from windlass.model.json.pointer import step
from windlass.model.schedule.calendar import Calendar, Shift, read_country
from windlass.model.schedule.cron import EPOCH_DAY, YEAR_MAX

T = TypeVar("T")

WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHIFTS: Final[dict[str, Shift]] = {"none": "none", "next": "next", "previous": "previous"}
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEARLY: Final = re.compile(r"([0-9]{2})-([0-9]{2})")
_LEAP_YEAR: Final = 2000
_FIELDS: Final = ("weekdays", "dates", "ranges", "countries", "shift")


def read_calendar(value: object) -> Calendar:
    """Raises InvalidInput with every problem found."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", 'must be an object such as {"weekdays": ["saturday", "sunday"]}')
    problems: list[FieldProblem] = []

    def say(pointer: str, detail: str) -> None:
        problems.append(FieldProblem(pointer=pointer, detail=detail))

    def each(name: str, read: Callable[[object], T], most: int) -> list[T]:
        return _each(value.get(name), f"/{name}", read, most, say)

    for name in value:
        if name not in _FIELDS:
            say(step(name), f"unknown field; known are {' '.join(_FIELDS)}")
    weekdays = each("weekdays", _weekday, 7)
    days = each("dates", _day, CALENDAR_DAYS_MAX)
    ranges = each("ranges", _range, CALENDAR_DAYS_MAX)
    countries = each("countries", read_country, CALENDAR_COUNTRIES_MAX)
    shift = _shift(value.get("shift"))
    if shift is None:
        say("/shift", f"must be one of: {' '.join(_SHIFTS)}")
    if len(set(weekdays)) == 7:
        say("/weekdays", "leaves no day of the week")
    if not problems and not (weekdays or days or ranges or countries):
        say("", "names no day off; give weekdays, dates, ranges or countries")
    if problems or shift is None:
        raise InvalidInput(*problems)
    return Calendar(
        weekdays=frozenset(weekdays),
        dates=frozenset(day for day in days if isinstance(day, int)),
        yearly=frozenset(day for day in days if not isinstance(day, int)),
        ranges=_apart(ranges),
        countries=tuple(dict.fromkeys(countries)),
        shift=shift,
    )


def _each(
    value: Any, at: str, read: Callable[[object], T], most: int, say: Callable[[str, str], None]
) -> list[T]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > most:
        say(at, f"must be a list of at most {most}")
        return []
    found = []
    for place, item in enumerate(value):
        try:
            found.append(read(item))
        except ValueError as trouble:
            say(f"{at}/{place}", str(trouble))
    return found


def _shift(value: object) -> Shift | None:
    if value is None:
        return "none"
    return _SHIFTS.get(value) if isinstance(value, str) else None


def _weekday(value: object) -> int:
    # Numbers are refused: cron counts from Sunday, others from Monday.
    wanted = value.lower() if isinstance(value, str) else ""
    for number, name in enumerate(WEEKDAYS):
        if wanted in (name, name[:3]):
            return number
    raise ValueError(f"must be one of: {' '.join(WEEKDAYS)}")


def _day(value: object) -> int | tuple[int, int]:
    """A date, or the month and the day of every year."""
    if isinstance(value, str) and (found := _YEARLY.fullmatch(value)):
        month, day = int(found[1]), int(found[2])
        try:
            date(_LEAP_YEAR, month, day)
        except ValueError:
            raise ValueError(f"there is no {value} in any year; give month and day") from None
        return month, day
    return _date(value)


def _date(value: object) -> int:
    """Days since 1970."""
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            on = date.fromisoformat(value)
        except ValueError as trouble:
            raise ValueError(f"{value} is no date: {trouble}") from None
        if 1970 <= on.year <= YEAR_MAX:
            return on.toordinal() - EPOCH_DAY
    raise ValueError('must be a date such as "2030-12-24", or "12-24" for every year')


def _range(value: object) -> tuple[int, int]:
    if not isinstance(value, dict) or set(value) != {"from", "to"}:
        raise ValueError('must be {"from": "2030-12-24", "to": "2031-01-02"}, both included')
    first, last = _date(value["from"]), _date(value["to"])
    if last < first:
        raise ValueError(f"ends before it begins: from {value['from']} to {value['to']}")
    return first, last


def _apart(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """In order; those that overlap become one."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)
