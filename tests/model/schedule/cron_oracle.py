"""A second opinion on cron rules: plain, slow, and made without the code that it judges.

It walks through UTC minute by minute, writes down what the local clock shows, and asks of each
reading whether the rule's fields agree with it. Where clocks change it knows from nothing but the
readings themselves: one that does not follow on the one before. Only whole minutes are walked, as
no clock of these years was changed within one; the seconds of a rule are laid over its minutes.

Shared with what is judged: the standard library's zones, and the wording of the policies.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = {name: number for number, name in enumerate(_MONTHS.split(), 1)}
_WEEKDAYS = "sun mon tue wed thu fri sat"
WEEKDAYS = {name: number for number, name in enumerate(_WEEKDAYS.split())}
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A rule as its words stand."""

    cron: str
    gap: str = "next"
    overlap: str = "first"
    # Days off: weekdays (0 is Monday), dates, and (month, day) of every year.
    off_weekdays: frozenset[int] = frozenset()
    off_dates: frozenset[date] = frozenset()
    off_yearly: frozenset[tuple[int, int]] = frozenset()
    shift: str = "none"


@dataclass(frozen=True, slots=True)
class Run:
    """Minutes in which the local clock ran evenly. Minutes are counted from year 1."""

    at: int  # the first instant, in seconds since 1970
    first: int  # what the clock showed then
    length: int

    @property
    def end(self) -> int:
        return self.first + self.length

    def shows(self, minute: int) -> bool:
        return self.first <= minute < self.end


def walk(zone: str, start: int, end: int) -> list[Run]:
    """Every minute of UTC from `start` on and before `end`, in runs."""
    there = ZoneInfo(zone)
    runs: list[Run] = []
    run_at, run_first, expected = start, -1, -1
    for instant in range(start, end, 60):
        clock = datetime.fromtimestamp(instant, there)
        minute = (clock.toordinal() * 24 + clock.hour) * 60 + clock.minute
        if minute != expected:
            assert clock.second == 0, "clocks change at whole minutes"
            if run_first >= 0:
                runs.append(Run(run_at, run_first, (instant - run_at) // 60))
            run_at, run_first = instant, minute
        expected = minute + 1
    runs.append(Run(run_at, run_first, (end - run_at) // 60))
    return runs


def jumps(zone: str, start: int, end: int) -> list[int]:
    """About where the clocks change: looked at every hour."""
    there = ZoneInfo(zone)
    shifts = [
        (instant, datetime.fromtimestamp(instant, there).replace(tzinfo=UTC).timestamp() - instant)
        for instant in range(start, end, 3600)
    ]
    return [at for (_, before), (at, after) in pairwise(shifts) if before != after]


@dataclass(slots=True)
class Oracle:
    question: Question
    day_agrees: Callable[[date], bool] = field(init=False)
    times: list[int] = field(init=False)  # minutes of a day
    seconds: list[int] = field(init=False)
    names_hours: bool = field(init=False)

    def __post_init__(self) -> None:
        words = self.question.cron.lower().split()
        second, minute, hour, day, month, weekday = words if len(words) == 6 else ["0", *words]
        self.seconds = [n for n in range(60) if agrees(second, n, 0, 59, {})]
        hours = [n for n in range(24) if agrees(hour, n, 0, 23, {})]
        minutes = [n for n in range(60) if agrees(minute, n, 0, 59, {})]
        self.times = [60 * h + m for h in hours for m in minutes]
        self.names_hours = len(hours) < 24

        @cache
        def by_cron(on: date) -> bool:
            if not agrees(month, on.month, 1, 12, MONTHS):
                return False
            of_month = any(is_day(part, on) for part in day.split(","))
            of_week = any(is_weekday(part, on) for part in weekday.split(","))
            if day[0] in "*?" or weekday[0] in "*?":
                return of_month and of_week
            return of_month or of_week

        self.day_agrees = cache(self.with_days_off(by_cron))

    def with_days_off(self, by_cron: Callable[[date], bool]) -> Callable[[date], bool]:
        def is_off(on: date) -> bool:
            asked = self.question
            return (
                on.weekday() in asked.off_weekdays
                or on in asked.off_dates
                or (on.month, on.day) in asked.off_yearly
            )

        def goes_to(on: date) -> date | None:
            if not is_off(on):
                return on
            if self.question.shift == "none":
                return None
            step = DAY if self.question.shift == "next" else -DAY
            while is_off(on):
                on += step
            return on

        if not (self.question.off_weekdays or self.question.off_dates or self.question.off_yearly):
            return by_cron
        # No stretch of days off in these questions is longer than a month.
        nearby = range(-31, 32)
        return lambda on: any(by_cron(on + n * DAY) and goes_to(on + n * DAY) == on for n in nearby)

    def agrees_at(self, minute: int) -> bool:
        day, time = divmod(minute, 24 * 60)
        return time in self.times and self.day_agrees(date.fromordinal(day))

    def answers(self, runs: list[Run]) -> Iterator[int]:
        """Every instant of the runs at which the rule fires, in order."""
        for number, run in enumerate(runs):
            before, after = runs[max(0, number - 2) : number], runs[number + 1 : number + 3]
            made_up = bool(before) and self.made_up_for(before[-1].end, run.first)
            if made_up:
                yield run.at
            for minute in self.minutes(run):
                if self.names_hours:
                    if self.question.overlap == "first" and any(r.shows(minute) for r in before):
                        continue
                    if self.question.overlap == "second" and any(r.shows(minute) for r in after):
                        continue
                for second in self.seconds:
                    instant = run.at + (minute - run.first) * 60 + second
                    if not (made_up and instant == run.at):
                        yield instant

    def made_up_for(self, missing_from: int, until: int) -> bool:
        if not self.names_hours or self.question.gap == "skip":
            return False
        return any(self.agrees_at(minute) for minute in range(missing_from, until))

    def minutes(self, run: Run) -> Iterator[int]:
        for day in range(run.first // 1440, (run.end - 1) // 1440 + 1):
            if self.day_agrees(date.fromordinal(day)):
                low = bisect_left(self.times, run.first - day * 1440)
                high = bisect_left(self.times, run.end - day * 1440)
                for time in self.times[low:high]:
                    yield day * 1440 + time


def agrees(text: str, value: int, low: int, high: int, names: dict[str, int]) -> bool:
    """Does the value agree with one item of the field?"""
    for item in text.split(","):
        base, _, step = item.partition("/")
        if base in "*?":
            first, last = low, high
        elif "-" in base:
            a, _, b = base.partition("-")
            first, last = number(a, names), number(b, names)
            if names is WEEKDAYS and b == "sun":
                last = 7
        else:
            first = number(base, names)
            last = high if step else first
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


def number(text: str, names: dict[str, int]) -> int:
    return names[text] if text in names else int(text)


@cache
def month_of(year: int, month: int) -> list[date]:
    """Its days."""
    near = [date(year, month, 1) + n * DAY for n in range(31)]
    return [day for day in near if day.month == month]


def is_day(item: str, on: date) -> bool:
    month = month_of(on.year, on.month)
    workdays = [day for day in month if day.weekday() < 5]
    if item == "l":
        return on == month[-1]
    if item == "lw":
        return on == workdays[-1]
    if item.startswith("l-"):
        return on + int(item[2:]) * DAY == month[-1]
    if item.endswith("w"):
        wanted = int(item[:-1])
        if wanted > month[-1].day:
            return False
        return on == min(workdays, key=lambda day: abs(day.day - wanted))
    return agrees(item, on.day, 1, 31, {})


def is_weekday(item: str, on: date) -> bool:
    weekday = (on.weekday() + 1) % 7
    if item.endswith("l"):
        return number(item[:-1], WEEKDAYS) % 7 == weekday and (on + 7 * DAY).month != on.month
    if "#" in item:
        name, _, nth = item.partition("#")
        return number(name, WEEKDAYS) % 7 == weekday and (on.day + 6) // 7 == int(nth)
    if agrees(item, weekday, 0, 6, WEEKDAYS):
        return True
    # Sunday is also 7, but where a field's end is not written (`*/2`, `3/2`) it is Saturday.
    is_open = item[0] in "*?" or ("/" in item and "-" not in item)
    return weekday == 0 and not is_open and agrees(item, 7, 0, 7, WEEKDAYS)
