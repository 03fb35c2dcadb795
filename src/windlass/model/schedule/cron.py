"""A cron expression: five fields, or six with the seconds first, and the readings it asks for.

A reading is what a local clock shows, as seconds since 1970 of that same clock. A rule knows
nothing of zones: it is an endless list of readings, days times hours times minutes times seconds.
At which instants a clock shows them is another question (see `dst`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import CRON_CHARS_MAX
from windlass.model.schedule.cron_days import Table, day_table, ever_matches, month_length
from windlass.model.schedule.cron_field import (
    DAY,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    WEEKDAY,
    Field,
    read_field,
)

DAY_SECONDS: Final = 86_400
EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
# The standard library ends with 9999, and a page of a zone must not lead out of it.
YEAR_MAX: Final = 9_990

NICKNAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_KINDS: Final = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    text: str
    second: Field
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    table: Table
    is_silent: bool  # there is no such day, as with 30 February

    @property
    def keeps_pace(self) -> bool:
        """Every hour is meant: such a rule goes by elapsed time when clocks change."""
        return len(self.hour.values) == len(HOUR.values)

    @property
    def times_a_day(self) -> int:
        return len(self.hour.values) * len(self.minute.values) * len(self.second.values)

    def days(self, first: int) -> Iterator[int]:
        """The days it means from `first` on, counted from 1970, in order."""
        on = date.fromordinal(first + EPOCH_DAY)
        year, month, gone = on.year, on.month, on.day - 1
        months = self.month.values
        while year <= YEAR_MAX and not self.is_silent:
            if month in months:
                begins, mask = self._month(year, month)
                mask = mask >> gone << gone
                while mask:
                    lowest = mask & -mask
                    yield begins + lowest.bit_length() - 1
                    mask ^= lowest
            gone = 0
            year, month = (year, month + 1) if month < 12 else (year + 1, 1)

    def count_days(self, first: int, until: int) -> int:
        """How many days it means from `first` on and before `until`, a month at a time."""
        count, day = 0, first
        while day < until:
            on = date.fromordinal(day + EPOCH_DAY)
            begins, mask = self._month(on.year, on.month)
            if on.month in self.month.values:
                count += (mask >> (day - begins) & (1 << (until - day)) - 1).bit_count()
            day = begins + month_length(on.year, on.month)
        return count

    def _month(self, year: int, month: int) -> tuple[int, int]:
        """The month's first day, counted from 1970, and which of its days are meant."""
        ordinal = date(year, month, 1).toordinal()
        length = month_length(year, month)
        return ordinal - EPOCH_DAY, self.table[(ordinal - 1) % 7][length - 28]

    def times(self, since: int) -> Iterator[int]:
        """The times of a day from `since` on, in seconds from midnight."""
        seconds, minutes, hours = self.second.values, self.minute.values, self.hour.values
        if since:
            hour, minute, second = since // 3600, since // 60 % 60, since % 60
            at = bisect_left(hours, hour)
            if at < len(hours) and hours[at] == hour:
                there = bisect_left(minutes, minute)
                if there < len(minutes) and minutes[there] == minute:
                    for found in seconds[bisect_left(seconds, second) :]:
                        yield hour * 3600 + minute * 60 + found
                    there += 1
                for found in minutes[there:]:
                    start = hour * 3600 + found * 60
                    for second in seconds:
                        yield start + second
                at += 1
            hours = hours[at:]
        for hour in hours:
            for minute in minutes:
                start = hour * 3600 + minute * 60
                for second in seconds:
                    yield start + second

    def times_before(self, until: int) -> int:
        """How many times of a day lie before `until`."""
        seconds, minutes, hours = self.second.values, self.minute.values, self.hour.values
        hour, minute, second = until // 3600, until // 60 % 60, until % 60
        at = bisect_left(hours, hour)
        count = at * len(minutes) * len(seconds)
        if at < len(hours) and hours[at] == hour:
            there = bisect_left(minutes, minute)
            count += there * len(seconds)
            if there < len(minutes) and minutes[there] == minute:
                count += bisect_left(seconds, second)
        return count


def read_cron(text: object, name: str = "") -> Cron:
    """The rule in `text`. `name` is the schedule's, from which H takes its values.

    Raises InvalidInput with every problem found, all at the text itself.
    """
    if not isinstance(text, str) or not 1 <= len(text) <= CRON_CHARS_MAX:
        raise InvalidInput.at("", f'must be text of 1 to {CRON_CHARS_MAX} characters: "0 8 * * 1"')
    problems: list[FieldProblem] = []

    def say(detail: str) -> None:
        problems.append(FieldProblem(pointer="", detail=detail))

    parts = _parts(text.strip())
    fields = [read_field(part, kind, name, say) for part, kind in zip(parts, _KINDS, strict=True)]
    if problems:
        raise InvalidInput(*problems)
    second, minute, hour, day, month, weekday = fields
    table = day_table(day, weekday)
    return Cron(
        text=text.strip(),
        second=second,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        table=table,
        is_silent=not ever_matches(table, month.values),
    )


def _parts(text: str) -> list[str]:
    """Six fields of text."""
    if text.startswith("@"):
        found = NICKNAMES.get(text.lower())
        if found is None:
            known = " ".join(NICKNAMES)
            hint = '; use "every" for periods' if text.startswith("@every") else ""
            raise InvalidInput.at("", f"{text[:40]!r} is unknown; known are {known}{hint}")
        text = found
    if "=" in text:
        raise InvalidInput.at("", f"{text[:40]!r} sets a variable; a zone belongs in timezone")
    parts = text.split()
    if len(parts) == 5:
        return ["0", *parts]
    if len(parts) != 6:
        year = "; years are bounded by starts_at and ends_at" if len(parts) == 7 else ""
        raise InvalidInput.at(
            "",
            f"has {len(parts)} fields; five are: minute hour day-of-month month day-of-week,"
            f" six have the second first{year}",
        )
    return parts
