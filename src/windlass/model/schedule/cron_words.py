"""A cron rule in words: at which times, on which days.

With lists of days and months as people say them: "1 to 5, 9 and 10".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, assert_never

from windlass.model.schedule.cron import Cron
from windlass.model.schedule.cron_field import (
    Field,
    LastDay,
    LastOf,
    LastWorkday,
    NearWorkday,
    NthOf,
    Special,
)

MONTHS: Final = (
    "",
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# As cron counts them; 7 is Sunday once more.
WEEKDAYS: Final = (
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
)
_ORDINALS: Final = ("", "first", "second", "third", "fourth", "fifth")
# More times of a day, and more even steps of a field, than these are not named one by one.
_TIMES_NAMED_MAX, _NAMED_MAX = 6, 4


def cron_words(cron: Cron) -> str:
    """`at 08:00 from Monday to Friday`."""
    time, names_times = _time(cron)
    days = _days(cron)
    if not days and names_times:
        days = "every day"
    months = ""
    if not _names_month(cron) and len(cron.month.values) < 12:
        months = _months(cron, "in")
    return " ".join(part for part in (time, days, months) if part)


def _time(cron: Cron) -> tuple[str, bool]:
    """The times of a day, and whether they are named one by one."""
    seconds, minutes, hours = cron.second.values, cron.minute.values, cron.hour.values
    if len(seconds) == 1 and len(minutes) * len(hours) <= _TIMES_NAMED_MAX:
        tail = f":{seconds[0]:02}" if seconds[0] else ""
        times = [f"{hour:02}:{minute:02}{tail}" for hour in hours for minute in minutes]
        return f"at {listed(times)}", True
    minutely = _minutes(minutes, hours)
    if seconds == (0,):
        return minutely, False
    secondly = _seconds(seconds)
    if minutely == "every minute":
        return secondly, False
    return f"{secondly} of the minute, {minutely}", False


def _seconds(seconds: tuple[int, ...]) -> str:
    if len(seconds) == 60:
        return "every second"
    step = even_step(seconds)
    if step is not None and seconds[0] == 0 and step * len(seconds) == 60:
        return f"every {step} seconds"
    return f"at second{'s' if len(seconds) > 1 else ''} {ranged(seconds)}"


def _minutes(minutes: tuple[int, ...], hours: tuple[int, ...]) -> str:
    each = _each(minutes)
    if len(hours) == 24:
        return each or f"at minute{'s' if len(minutes) > 1 else ''} {ranged(minutes)} of every hour"
    first, last = f"{hours[0]:02}:{minutes[0]:02}", f"{hours[-1]:02}:{minutes[-1]:02}"
    step = even_step(hours)
    if len(minutes) == 1 and step is not None and step > 1 and hours[0] + 24 - hours[-1] <= step:
        return f"every {step} hours from {first} to {last}"
    if len(runs(hours)) == 1:
        if len(minutes) == 1:
            return f"every hour from {first} to {last}"
        if each:
            return f"{each} from {first} to {last}"
    which = f"hour{'s' if len(hours) > 1 else ''} {ranged(hours)}"
    if each and len(minutes) > 1:
        return f"{each} in {which}"
    return f"at minute{'s' if len(minutes) > 1 else ''} {ranged(minutes)} of {which}"


def _each(minutes: tuple[int, ...]) -> str:
    """Minutes that divide the hour evenly; nothing for others."""
    if len(minutes) == 60:
        return "every minute"
    if minutes == (0,):
        return "every hour"
    step = even_step(minutes)
    if step is not None and minutes[0] == 0 and step * len(minutes) == 60:
        return f"every {step} minutes"
    return ""


def _days(cron: Cron) -> str:
    by_day, by_weekday = "", ""
    if not _is_any(cron.day, 31):
        by_day = _by_day(cron)
    if not _is_any(cron.weekday, 7):
        by_weekday = _by_weekday(cron)
    if by_day and by_weekday:
        both = cron.day.is_star or cron.weekday.is_star
        return f"{by_weekday} if it is also {by_day}" if both else f"{by_day} or {by_weekday}"
    return by_day or by_weekday


def _is_any(field: Field, size: int) -> bool:
    return len(field.values) == size


def _by_day(cron: Cron) -> str:
    of = _of_month(cron)
    words = []
    if values := cron.day.values:
        words.append(f"day{'s' if len(values) > 1 else ''} {ranged(values)}")
    words += [_special(special) for special in cron.day.specials]
    return f"on {listed(words)} of {of}"


def _by_weekday(cron: Cron) -> str:
    words = []
    values = cron.weekday.values
    if values:
        # A week that is read from Monday on: Saturday and Sunday, Friday to Sunday.
        week = [(value - 1) % 7 + 1 for value in values]
        if len(week) > 2 and len(runs(sorted(week))) == 1 and not cron.weekday.specials:
            return f"from {WEEKDAYS[min(week)]} to {WEEKDAYS[max(week)]}"
        words.append(ranged(sorted(week), WEEKDAYS))
    specials = [_special(special) for special in cron.weekday.specials]
    if specials:
        words.append(f"{listed(specials)} of {_of_month(cron)}")
    return f"on {listed(words)}"


def _special(special: Special) -> str:
    match special:
        case LastDay(0):
            return "the last day"
        case LastDay(1):
            return "the last day but one"
        case LastDay(before):
            return f"the day {before} days before the last"
        case LastWorkday():
            return "the last day from Monday to Friday"
        case NearWorkday(day):
            return f"the day from Monday to Friday nearest to day {day}"
        case LastOf(weekday):
            return f"the last {WEEKDAYS[weekday]}"
        case NthOf(weekday, nth):
            return f"the {_ORDINALS[nth]} {WEEKDAYS[weekday]}"
        case _:
            assert_never(special)


def _names_month(cron: Cron) -> bool:
    """Whether the days' words already say of which month."""
    return not _is_any(cron.day, 31) or bool(cron.weekday.specials)


def _of_month(cron: Cron) -> str:
    return "the month" if len(cron.month.values) == 12 else _months(cron, "")


def _months(cron: Cron, before: str) -> str:
    values = cron.month.values
    if before and len(values) > 2 and len(runs(values)) == 1:
        return f"from {MONTHS[values[0]]} to {MONTHS[values[-1]]}"
    return f"{before} {ranged(values, MONTHS)}".strip()


def listed(words: Sequence[str], joint: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) <= 1:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


def runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers in order as (first, last) of those that follow on one another."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found


def ranged(values: Sequence[int], names: Sequence[str] | None = None, joint: str = "and") -> str:
    """`1 to 5, 9 and 10`: three or more in a row become a range, and so do many even steps."""

    def name(value: int) -> str:
        return str(value) if names is None else names[value]

    step = even_step(values)
    if step is not None and step > 1 and len(values) > _NAMED_MAX:
        return f"{name(values[0])} to {name(values[-1])} in steps of {step}"
    words = []
    for first, last in runs(values):
        if last - first >= 2:
            words.append(f"{name(first)} to {name(last)}")
        else:
            words += [name(value) for value in range(first, last + 1)]
    return listed(words, joint)


def even_step(values: Sequence[int]) -> int | None:
    """The distance between neighbours when it is always the same; None for a single one."""
    steps = {b - a for a, b in pairwise(values)}
    return steps.pop() if len(steps) == 1 else None
