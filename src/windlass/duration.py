"""Durations as people write them: seconds, or "250ms", "30s", "5m", "2h", "7d"; and rates: 5 (a
second), "5/s", "100/m", "20/h", "3/d".
"""

from __future__ import annotations

import re
from typing import Final

from windlass.limits import DURATION_SECONDS_MAX

_SHAPE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|h|d)")
_RATE: Final = re.compile(r"([0-9]{1,7}(?:\.[0-9]{1,6})?)\s*(?:/\s*(s|m|h|d))?")
UNIT_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
ALLOWED: Final = 'seconds or text such as "30s", "5m", "2h", "7d"'


def parse_seconds(value: object, seconds_max: float = DURATION_SECONDS_MAX) -> float:
    """The duration in seconds. Raises ValueError that says what is allowed."""
    seconds = _seconds(value)
    # Said positively, because NaN fails every comparison.
    if not seconds >= 0:
        raise ValueError(f"{_shown(value)} is not a duration of 0 or more; give {ALLOWED}")
    if seconds > seconds_max:
        raise ValueError(f"{_shown(value)} is longer than {seconds_max:.0f} seconds")
    return float(seconds)


def parse_rate(text: str) -> float:
    """So many a second. Raises ValueError that says what is allowed."""
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f'{_shown(text)} is no rate; give a number a second, or "5/s", "100/m"')
    return float(found[1]) / UNIT_SECONDS[found[2] or "s"]


def _seconds(value: object) -> float:
    if isinstance(value, str):
        found = _SHAPE.fullmatch(value)
        if found is not None:
            return float(found[1]) * UNIT_SECONDS[found[2]]
    # A bool is an int to Python, but nobody means `true` seconds.
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise ValueError(f"{_shown(value)} is not a duration; give {ALLOWED}")


def _shown(value: object) -> str:
    # Python refuses to print an int of more than 4,300 digits.
    huge = isinstance(value, int) and value.bit_length() > 64
    text = "a number of more than 64 bits" if huge else repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
