"""A cron rule in words: at which times, on which days."""

from __future__ import annotations

from typing import assert_never

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
from windlass.model.schedule.word_list import (
    MONTHS,
    ORDINALS,
    WEEKDAYS,
    even_step,
    listed,
    ranged,
    runs,
)

# More times of a day than these are not named one by one.
_TIMES_NAMED_MAX = 6


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
            return f"the {ORDINALS[nth]} {WEEKDAYS[weekday]}"
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
