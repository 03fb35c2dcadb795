"""One field of a cron rule: `*/15`, `MON-FRI`, `1,15,L`, `5#2`, `H(0-29)/10`.

Reading goes on after a mistake, so that one answer holds all of them. Names and numbers are those
of Vixie's cron: Sunday is 0 and also 7. What a day of the month or of the week may say beyond
numbers (`L W #`) is kept as it is; which dates it means depends on the month (see cron_days).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeAlias

_MONTHS: Final = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC"
_WEEKDAYS: Final = "SUN MON TUE WED THU FRI SAT"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    """Which field of a rule it is, and what it may hold."""

    name: str
    values: range
    high: int  # what may be written: Sunday is also 7
    spread: range  # what H chooses from
    allowed: str
    names: Mapping[str, int] = field(default_factory=dict)


_SIXTY: Final = range(60)
SECOND: Final = FieldKind(
    name="second",
    values=_SIXTY,
    high=59,
    spread=_SIXTY,
    allowed="0-59, lists, ranges, steps, * and H",
)
MINUTE: Final = FieldKind(
    name="minute",
    values=_SIXTY,
    high=59,
    spread=_SIXTY,
    allowed="0-59, lists, ranges, steps, * and H",
)
HOUR: Final = FieldKind(
    name="hour",
    values=range(24),
    high=23,
    spread=range(24),
    allowed="0-23, lists, ranges, steps, * and H",
)
DAY: Final = FieldKind(
    name="day of month",
    values=range(1, 32),
    high=31,
    spread=range(1, 29),  # every month has 28 days, so a spread day comes each month
    allowed="1-31, lists, ranges, steps, * ? H, L, L-3, LW and 15W",
)
MONTH: Final = FieldKind(
    name="month",
    values=range(1, 13),
    high=12,
    spread=range(1, 13),
    allowed="1-12 or JAN-DEC, lists, ranges, steps, * and H",
    names={name: number for number, name in enumerate(_MONTHS.split(), 1)},
)
WEEKDAY: Final = FieldKind(
    name="day of week",
    values=range(7),
    high=7,
    spread=range(7),
    allowed="0-7 or SUN-SAT (0 and 7 are Sunday), lists, ranges, steps, * ? H, 5L and 5#2",
    names={name: number for number, name in enumerate(_WEEKDAYS.split())},
)


@dataclass(frozen=True, slots=True)
class LastDay:
    """`L`, or `L-3`: so many days before the last."""

    before: int = 0


@dataclass(frozen=True, slots=True)
class LastWorkday:
    """`LW`: the last of Monday to Friday."""


@dataclass(frozen=True, slots=True)
class NearWorkday:
    """`15W`: the day of Monday to Friday nearest to it, in the same month."""

    day: int


@dataclass(frozen=True, slots=True)
class LastOf:
    """`5L`: the last Friday. Weekdays are counted from Sunday, 0."""

    weekday: int


@dataclass(frozen=True, slots=True)
class NthOf:
    """`5#2`: the second Friday."""

    weekday: int
    nth: int


Special: TypeAlias = LastDay | LastWorkday | NearWorkday | LastOf | NthOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    text: str
    values: tuple[int, ...]  # in order; Sunday is 0
    specials: tuple[Special, ...] = ()
    # It begins with * (or is ?). Of two fields of days this decides whether both must agree.
    is_star: bool = False


_NUMBER: Final = re.compile(r"[0-9]{1,4}")
_SPREAD: Final = re.compile(r"H(?:\(([^()]*)\))?")
_LAST: Final = re.compile(r"L(?:-([0-9]{1,2}))?")
_NEAR: Final = re.compile(r"([0-9]{1,2})W")
_LAST_OF: Final = re.compile(r"([0-9]|[A-Z]{3})L")
_NTH_OF: Final = re.compile(r"([0-9]|[A-Z]{3})#([0-9]{1,2})")


def read_field(text: str, kind: FieldKind, spread: str, say: Callable[[str], None]) -> Field:
    """What the field says. Each problem goes to `say`; `spread` is the name that H is made from."""
    if text == "?":
        if kind not in (DAY, WEEKDAY):
            say(f"{kind.name}: ? stands only for a day of month or of week; write *")
        return Field(text=text, values=tuple(kind.values), is_star=True)
    values: set[int] = set()
    specials: dict[Special, None] = {}
    for item in text.split(","):
        try:
            found = _special(item.upper(), kind)
            if found is None:
                values.update(_numbers(item, kind, spread))
            else:
                specials[found] = None
        except ValueError as trouble:
            say(f"{kind.name}: {trouble}")
    if kind is WEEKDAY:
        values = {value % 7 for value in values}
    return Field(
        text=text,
        values=tuple(sorted(values)),
        specials=tuple(specials),
        is_star=text.startswith("*"),
    )


def _special(item: str, kind: FieldKind) -> Special | None:
    """`L W #`, or None when the item is of the ordinary sort."""
    if kind is DAY:
        if item == "LW":
            return LastWorkday()
        if found := _LAST.fullmatch(item):
            before = int(found[1] or 0)
            if before > 30:
                raise ValueError(f"{item!r} lies before every month's first day; L-0 to L-30")
            return LastDay(before)
        if found := _NEAR.fullmatch(item):
            return NearWorkday(_value(found[1], kind))
    if kind is WEEKDAY:
        if item == "L":
            raise ValueError("L needs its weekday: write 5L for the last Friday of the month")
        if found := _LAST_OF.fullmatch(item):
            return LastOf(_value(found[1], kind) % 7)
        if found := _NTH_OF.fullmatch(item):
            nth = int(found[2])
            if not 1 <= nth <= 5:
                raise ValueError(f"{item!r}: a month has a first to a fifth; write #1 to #5")
            return NthOf(_value(found[1], kind) % 7, nth)
    return None


def _numbers(item: str, kind: FieldKind, spread: str) -> range:
    base, slash, step_text = item.partition("/")
    step = _step(item, step_text, kind) if slash else 1
    if base == "*":
        return kind.values[::step]
    # A capital, so that whether a rule depends on its schedule's name can be seen.
    if found := _SPREAD.fullmatch(base):
        return _spread(item, found[1], step if slash else None, kind, spread)
    first, dash, last = base.upper().partition("-")
    low = _value(first, kind)
    if not dash:
        return range(low, kind.values.stop if slash else low + 1, step)
    return range(low, _end(item, low, last, kind) + 1, step)


def _spread(item: str, bounds: str | None, step: int | None, kind: FieldKind, spread: str) -> range:
    """One value, or every `step`th, from a start that the schedule's name chooses."""
    low, high = kind.spread[0], kind.spread[-1]
    if bounds is not None:
        first, dash, last = bounds.upper().partition("-")
        if not dash:
            raise ValueError(f"{item!r}: H takes a range, such as H({low}-{high})")
        low = _value(first, kind)
        high = _end(item, low, last, kind)
    size = high - low + 1
    if step is not None and step > size:
        raise ValueError(f"{item!r}: the step is longer than the range of {size}")
    start = low + _hash(kind.name, spread) % (size if step is None else step)
    return range(start, start + 1) if step is None else range(start, high + 1, step)


def _hash(field_name: str, spread: str) -> int:
    # Part of the contract: another function would move every schedule that has an H.
    digest = blake2b(f"{field_name}\n{spread}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _step(item: str, text: str, kind: FieldKind) -> int:
    step = int(text) if _NUMBER.fullmatch(text) else 0
    if not step:
        raise ValueError(f"{item!r}: a step is a whole number from 1, such as */5")
    if step > len(kind.values):
        # Vixie's cron takes */90 for `0`: once an hour, and nobody means that.
        raise ValueError(
            f"{item!r}: a step of {step} is longer than the field, which begins anew after"
            f' {len(kind.values)}; for other periods use "every", such as "90m"'
        )
    return step


def _end(item: str, low: int, text: str, kind: FieldKind) -> int:
    # FRI-SUN: as the end of a range Sunday is the seventh day.
    high = 7 if kind is WEEKDAY and text == "SUN" else _value(text, kind)
    if high < low:
        raise ValueError(
            f"{item!r} runs backwards; write {low}-{kind.high},{kind.values[0]}-{high}"
        )
    return high


def _value(text: str, kind: FieldKind) -> int:
    if text in kind.names:
        return kind.names[text]
    if text.startswith("H"):
        raise ValueError("H is a capital, as in H or H(0-29)/10")
    if not _NUMBER.fullmatch(text):
        shown = repr(text[:20]) if text else "an empty item"
        raise ValueError(f"{shown} is not understood; allowed are {kind.allowed}")
    value = int(text)
    if not kind.values[0] <= value <= kind.high:
        raise ValueError(f"{value} lies outside {kind.values[0]}-{kind.high}")
    return value
