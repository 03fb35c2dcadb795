"""The single values of a definition: a reader returns one, or raises ValueError with the fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from typing import Any, Final

from windlass.duration import parse_seconds
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import (
    DESCRIPTION_CHARS_MAX,
    DURATION_SECONDS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    PARALLEL_MAX,
    STEP_ID_CHARS_MAX,
    TIMEOUT_SECONDS_MAX,
    TITLE_CHARS_MAX,
)
from windlass.model.job.states import PRIORITY_NAMES, PRIORITY_NUMBERS
from windlass.model.job.submission import read_text
from windlass.model.json.whole import read_whole, whole

_STEP_ID: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHARE: Final = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%")
_SHOWN_MAX: Final = 40
TOLERANCE_MAX: Final = 2**31 - 1
# Looking for a likely name among thousands takes longer than reading the whole definition.
_LIKELY_MAX: Final = 50


def likely(name: str, known: Collection[str]) -> str:
    """A name that may have been meant, to be put behind what is said."""
    if len(known) > _LIKELY_MAX:
        return ""
    close = difflib.get_close_matches(name[:_SHOWN_MAX], known, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def unknown(name: str, known: Collection[str]) -> str:
    """What to say of a field that nobody knows."""
    return f"unknown field{likely(name, known)}; known are {' '.join(known)}"


def read_step_id(value: object) -> str:
    if isinstance(value, str) and len(value) <= STEP_ID_CHARS_MAX and _STEP_ID.fullmatch(value):
        return value
    raise ValueError(
        f"must be 1 to {STEP_ID_CHARS_MAX} letters, digits and _ and not start with a digit, "
        "so that expressions can name it"
    )


def read_title(value: object) -> str:
    return read_text(value, TITLE_CHARS_MAX)


def read_description(value: object) -> str:
    if not isinstance(value, str) or len(value) > DESCRIPTION_CHARS_MAX:
        raise ValueError(f"must be text of at most {DESCRIPTION_CHARS_MAX} characters")
    return value


def read_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


def read_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def read_priority(value: object) -> int:
    if not isinstance(value, str) or value not in PRIORITY_NUMBERS:
        raise ValueError(f"must be one of: {' '.join(PRIORITY_NAMES)}")
    return PRIORITY_NUMBERS[value]


def read_timeout(value: object) -> float:
    """Of an attempt."""
    return _duration(value, TIMEOUT_SECONDS_MAX)


def read_patience(value: object) -> float:
    """Of what waits for people or for other work."""
    return _duration(value, DURATION_SECONDS_MAX)


def _duration(value: object, seconds_max: float) -> float:
    seconds = parse_seconds(value, seconds_max)
    if seconds < 0.001:
        raise ValueError("must be at least a millisecond")
    return seconds


def read_parallel(value: object) -> int:
    return read_whole(value, PARALLEL_MAX)


def read_tolerance(value: object) -> int | float:
    """How many items may fail: a number, or a share of them (a float)."""
    if isinstance(value, str) and (found := _SHARE.fullmatch(value)) and float(found[1]) <= 100:
        return float(found[1]) / 100
    count = whole(value)
    if count is not None and 0 <= count <= TOLERANCE_MAX:
        return count
    raise ValueError('must be a number of items, or a share of them such as "10%"')


def read_expression(value: object) -> str:
    """CEL in ${ }, as it stands inside."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("${") and text.endswith("}") and text[2:-1].strip():
            return text[2:-1].strip()
    raise ValueError('must be an expression in ${ }, such as "${inputs.total > 100}"')


def read_locks(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > LOCKS_MAX:
        raise ValueError(f"must be a list of at most {LOCKS_MAX} names of locks")
    problems = []
    for place, name in enumerate(value):
        try:
            read_text(name, KEY_CHARS_MAX)
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/{place}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return tuple(dict.fromkeys(value))


def read_step_ids(value: object) -> tuple[str, ...]:
    """Names of steps; whether they exist is asked later."""
    if not isinstance(value, list):
        raise ValueError("must be a list of the ids of steps")
    problems = []
    for place, name in enumerate(value):
        try:
            read_step_id(name)
        except ValueError as trouble:
            problems.append(FieldProblem(pointer=f"/{place}", detail=str(trouble)))
    if problems:
        raise InvalidInput(*problems)
    return tuple(dict.fromkeys(value))
