"""A regular expression for durations of a range, so that a schema can say the bounds of a text.

    text_pattern(60) matches what parse_seconds takes for at most a minute: "60s", "060.0s", "1m"

Numbers are counted in millionths here: INT_DIGITS before the point, FRACTION_DIGITS behind it, as
duration.py has them. Only what every engine knows is used: classes, groups, counts.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, floor
from typing import Final

from windlass.duration import UNIT_SECONDS

INT_DIGITS, FRACTION_DIGITS = 9, 6
ONE: Final = 10**FRACTION_DIGITS
_ANY_FRACTION: Final = f"([.][0-9]{{1,{FRACTION_DIGITS}}})?"


@cache
def text_pattern(seconds_max: float, seconds_min: float = 0) -> str:
    """Of the texts that parse_seconds takes for a duration of these bounds."""
    least, most = Fraction(str(seconds_min)), Fraction(str(seconds_max))
    found = []
    for unit, seconds in UNIT_SECONDS.items():
        times = Fraction(str(seconds)) / ONE
        numbers = _numbers(ceil(least / times), floor(most / times))
        if numbers is not None:
            found.append(f"({numbers}){unit}")
    return f"^({'|'.join(found)})$"


def _numbers(lo: int, hi: int) -> str | None:
    """For the numbers from `lo` to `hi` millionths; None: there is none."""
    hi = min(hi, 10**INT_DIGITS * ONE - 1)
    if lo > hi:
        return None
    first, last = lo // ONE, hi // ONE
    if first == last:
        return _whole(first, first) + _fraction(lo % ONE, hi % ONE)
    found = []
    if lo % ONE:
        found.append(_whole(first, first) + _fraction(lo % ONE, ONE - 1))
        first += 1
    if hi % ONE != ONE - 1:
        last -= 1
    if first <= last:
        found.append(_grouped(_whole(first, last)) + _ANY_FRACTION)
    if hi % ONE != ONE - 1:
        found.append(_whole(last + 1, last + 1) + _fraction(0, hi % ONE))
    return "|".join(found)


def _whole(first: int, last: int) -> str:
    """Whole numbers, with or without zeros before them."""
    if first == 0:
        digits = len(str(last))
        shorter = [f"[0-9]{{1,{digits - 1}}}"] if digits > 1 else []
        return _zeros(digits) + _grouped(
            "|".join([_same_length("0" * digits, str(last)), *shorter])
        )
    found = []
    for digits in range(len(str(first)), len(str(last)) + 1):
        lo, hi = max(first, 10 ** (digits - 1)), min(last, 10**digits - 1)
        found.append(_zeros(digits) + _grouped(_same_length(str(lo), str(hi))))
    return "|".join(found)


def _zeros(digits: int) -> str:
    """Those that may stand before so many digits."""
    return f"0{{0,{INT_DIGITS - digits}}}" if digits < INT_DIGITS else ""


def _same_length(lo: str, hi: str) -> str:
    if lo == hi:
        return lo
    if lo[0] == hi[0]:
        return f"{lo[0]}{_grouped(_same_length(lo[1:], hi[1:]))}"
    rest = len(lo) - 1
    low, high, found = int(lo[0]), int(hi[0]), []
    if lo[1:].strip("0"):
        found.append(f"{low}{_grouped(_same_length(lo[1:], '9' * rest))}")
        low += 1
    if hi[1:].strip("9"):
        found.append(f"{high}{_grouped(_same_length('0' * rest, hi[1:]))}")
        high -= 1
    if low <= high:
        found.append(_digit(low, high) + _count(rest, rest))
    return "|".join(found)


def _fraction(lo: int, hi: int) -> str:
    """The point and what follows it, or nothing where that is enough. Trailing zeros count for
    nothing: .5 is .500000.
    """
    if lo == 0 and hi == ONE - 1:
        return _ANY_FRACTION
    if hi == 0:
        return f"([.]0{{1,{FRACTION_DIGITS}}})?"
    if lo == 0:
        return f"([.]({_up_to(f'{hi:0{FRACTION_DIGITS}}')}))?"
    from_lo = _from(f"{lo:0{FRACTION_DIGITS}}")
    if hi == ONE - 1:
        return f"[.]({from_lo})"
    return f"[.]({_between(f'{lo:0{FRACTION_DIGITS}}', f'{hi:0{FRACTION_DIGITS}}')})"


def _up_to(hi: str) -> str:
    """Digits, at least one, that are at most `hi` when filled up with zeros."""
    digit, rest = int(hi[0]), hi[1:]
    found = [_digit(0, digit - 1) + _count(0, len(rest))] if digit else []
    found.append(f"{digit}({_up_to(rest)})?" if rest else f"{digit}")
    return "|".join(found)


def _from(lo: str) -> str:
    """Digits that are at least `lo` when filled up with zeros; not all of `lo` are zeros."""
    digit, rest = int(lo[0]), lo[1:]
    if not rest.strip("0"):
        return _digit(digit, 9) + _count(0, len(rest))
    found = [_digit(digit + 1, 9) + _count(0, len(rest))] if digit < 9 else []
    return "|".join([*found, f"{digit}({_from(rest)})"])


def _between(lo: str, hi: str) -> str:
    digit, rest = int(lo[0]), lo[1:]
    if lo[0] == hi[0]:
        same = _between(rest, hi[1:]) if rest.strip("0") else _up_to(hi[1:]) if rest else ""
        optional = "" if rest.strip("0") or not rest else "?"
        return f"{digit}({same}){optional}" if same else f"{digit}"
    found = [f"{digit}({_from(rest)})" if rest.strip("0") else f"{digit}{_count(0, len(rest))}"]
    if int(hi[0]) - digit > 1:
        found.append(_digit(digit + 1, int(hi[0]) - 1) + _count(0, len(rest)))
    found.append(f"{hi[0]}({_up_to(hi[1:])})?" if rest else hi[0])
    return "|".join(found)


def _digit(first: int, last: int) -> str:
    return f"{first}" if first == last else f"[{first}-{last}]"


def _count(least: int, most: int) -> str:
    if most == 0:
        return ""
    if least == most:
        return "[0-9]" if most == 1 else f"[0-9]{{{most}}}"
    return f"[0-9]{{{least},{most}}}"


def _grouped(text: str) -> str:
    return f"({text})" if "|" in text else text
