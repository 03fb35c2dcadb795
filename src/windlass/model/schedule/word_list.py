"""Names of days and months, and lists of them as people say them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

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
_NAMED_MAX: Final = 4
ORDINALS: Final = ("", "first", "second", "third", "fourth", "fifth")


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
