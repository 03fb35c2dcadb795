"""JSON Schemas of single values, as strict as what reads them: names, texts, instants, durations.

The readers are in model/job/submission.py, duration.py and model/workflow/fields.py;
tests/model compares. Patterns keep to what every engine of regular expressions knows.
"""

from __future__ import annotations

from typing import Any, Final

from windlass.limits import (
    ATTEMPTS_MAX,
    DURATION_SECONDS_MAX,
    INSTANT_CHARS_MAX,
    NAME_CHARS_MAX,
    STEP_ID_CHARS_MAX,
)
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.json.duration_pattern import text_pattern
from windlass.model.json.printable import CHAR_PATTERN

Schema = dict[str, Any]

# Letters and digits of ASCII, as read_name takes them: the first character, and the others.
NAME_PATTERN: Final = "[A-Za-z0-9_][A-Za-z0-9_.:-]"
NAME_SCHEMA: Final[Schema] = {
    "type": "string",
    "pattern": f"^{NAME_PATTERN}*$",
    "minLength": 1,
    "maxLength": NAME_CHARS_MAX,
}
STEP_ID_SCHEMA: Final[Schema] = {
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "minLength": 1,
    "maxLength": STEP_ID_CHARS_MAX,
}
PRIORITY_SCHEMA: Final[Schema] = {"type": "string", "enum": list(PRIORITY_NAMES)}
# Text that is known only when a step runs; see model.workflow.collector.is_open.
OPEN_SCHEMA: Final[Schema] = {"type": "string", "pattern": r"\$\{[\s\S]*[!-~][\s\S]*\}"}
# Text that can be kept.
KEPT_SCHEMA: Final[Schema] = {"type": "string", "pattern": r"^[^\u0000]*$"}
# The least that anything is given: a millisecond.
SECONDS_MIN: Final = 0.001

_LEAP_YEARS: Final = (
    "19(7[26]|8[048]|9[26])|[2-9][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[3579][26])00"
)
# Days that there are, from 1970 on.
DATE_PATTERN: Final = (
    "((19[7-9][0-9]|[2-9][0-9]{3})-"
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    f"|02-(0[1-9]|1[0-9]|2[0-8]))|({_LEAP_YEARS})-02-29)"
)
_HOURS: Final = "([01][0-9]|2[0-3]):[0-5][0-9]"
_TIME: Final = "[Tt][0-9:.]*"
_AWAY: Final = "(0[1-9]|[12]|00:0[1-9]|00:[1-5])"  # an offset that is not zero, as it begins
# On the first day and on the last, an offset may lead out of the calendar.
_OUTSIDE: Final = f"1970-01-01{_TIME}[+]{_AWAY}|9999-12-31{_TIME}-{_AWAY}"
_INSTANT: Final[Schema] = {
    "type": "string",
    "format": "date-time",
    "maxLength": INSTANT_CHARS_MAX,
    "pattern": f"^{DATE_PATTERN}[Tt]{_HOURS}:[0-5][0-9]([.][0-9]+)?([Zz]|[+-]{_HOURS})$",
}
# Nothing of ours is older than 1970; see read_instant.
INSTANT_SCHEMA: Final[Schema] = {**_INSTANT, "not": {"pattern": f"^({_OUTSIDE})"}}


def instant_before(year: int) -> Schema:
    """Instants before a year that begins a decade of the last century of the calendar."""
    assert year in range(9900, 10_000, 10), "the pattern below says so"
    later = f"99[{year // 10 % 10}-9][0-9]-|{year - 1}-12-31{_TIME}-{_AWAY}"
    return {**_INSTANT, "not": {"pattern": f"^({_OUTSIDE}|{later})"}}


def retry_schema() -> Schema:
    """As model/job/retry.py reads it."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "max_attempts": {"type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX},
            "initial": duration(),
            "factor": {"type": "number", "minimum": 1, "maximum": 100},
            "max": duration(),
            "jitter": {"type": "boolean"},
        },
    }


def text_schema(chars_max: int) -> Schema:
    """Printable text of 1 to `chars_max` characters."""
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": chars_max,
        "pattern": f"^{CHAR_PATTERN}*$",
    }


def duration(seconds_max: float = DURATION_SECONDS_MAX, seconds_min: float = 0) -> Schema:
    return {
        "description": 'Seconds, or text such as "30s", "5m", "2h", "7d"',
        "anyOf": [
            {"type": "number", "minimum": seconds_min, "maximum": seconds_max},
            {"type": "string", "pattern": text_pattern(seconds_max, seconds_min)},
        ],
    }
