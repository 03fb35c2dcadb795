"""Limits that a job carries: how many jobs of one name run at once (concurrency), and start a
second (rate limit), also separately for each value of something in their input.

    {"name": "send_mail", "max_running": 4, "rate": 2.5, "per": ["/args/0", "/kwargs/to"]}

All jobs that name one limit share it, in the whole cluster, whatever queue they stand in. Beneath
it is a lock with a capacity (engine.locks), and `lock` says which: `limit/send_mail/a@b.c`. No name
of a lock has a slash, so the two never meet. Unlike a lock a limit is held by what runs, and not by
what rests between two tries.

The newest migration of `windlass.limit_asks` reads the same for jobs that come by SQL.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.errors import InvalidInput
from windlass.limits import (
    JOB_LIMIT_PER_MAX,
    JOB_LIMIT_VALUE_CHARS_MAX,
    JOB_LIMITS_MAX,
    JOB_RATE_MAX,
    JOB_RATE_MIN,
    KEY_CHARS_MAX,
    LOCK_CAPACITY_MAX,
    NAME_CHARS_MAX,
)
from windlass.model.job.lock import NAME_PATTERN, read_lock_name
from windlass.model.json import strict as strict_json
from windlass.model.json.pointer import find, step
from windlass.model.json.printable import CHAR_PATTERN, is_printable
from windlass.model.json.whole import read_whole, whole

PREFIX: Final = "limit/"
_FIELDS: Final = ("name", "max_running", "rate", "per")
_EXAMPLE: Final = 'an object such as {"name": "send_mail", "max_running": 4}'
RATE_ALLOWED: Final = f"must be starts a second from {JOB_RATE_MIN:f} to {JOB_RATE_MAX:.0f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitAsk:
    """A limit that a job asks to be kept to."""

    name: str
    max_running: int | None = None  # None: any number
    rate: float | None = None  # starts a second; None: any number
    # Pointers into the input: of the first that leads somewhere the value counts. Empty: one limit
    # for all
    per: tuple[str, ...] = ()

    def lock(self, given: Mapping[str, Any]) -> str:
        """The lock that a job with this input takes. Raises ValueError for a value of no use."""
        return f"{PREFIX}{self.name}" + (f"/{_value(given, self.per)}" if self.per else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """Those of one job."""

    text: str  # as they are kept with the job, in JSON
    locks: tuple[str, ...]


def limits_of(asks: Sequence[LimitAsk], given: Mapping[str, Any]) -> JobLimits:
    """What a job with this input asks for. Raises InvalidInput, with the place of what is of no
    use.
    """
    kept: dict[str, dict[str, Any]] = {}
    for place, ask in enumerate(asks):
        try:
            lock = ask.lock(given)
        except ValueError as trouble:
            raise InvalidInput.at(f"/{place}/per", str(trouble)) from None
        kept[lock] = {
            "name": ask.name,
            "max_running": ask.max_running,
            "rate": ask.rate,
            "per": list(ask.per),
            "lock": lock,
        }
    return JobLimits(text=strict_json.write(list(kept.values())), locks=tuple(kept))


def read_limits(value: object) -> tuple[LimitAsk, ...]:
    """Raises ValueError, or InvalidInput with the pointer of what is none."""
    if not isinstance(value, list) or len(value) > JOB_LIMITS_MAX:
        raise ValueError(f"must be a list of at most {JOB_LIMITS_MAX} limits, each {_EXAMPLE}")
    return tuple(_read(f"/{place}", given) for place, given in enumerate(value))


def _read(at: str, value: object) -> LimitAsk:
    if not isinstance(value, dict) or "name" not in value:
        raise InvalidInput.at(at, f"must be {_EXAMPLE}")
    unknown = next((name for name in value if name not in _FIELDS), None)
    if unknown is not None:
        known = " ".join(_FIELDS)
        raise InvalidInput.at(at + step(unknown), f"unknown field; known are {known}")
    given = {name: found for name, found in value.items() if found is not None}
    read = {"name": read_lock_name, "max_running": _max_running, "rate": read_rate, "per": _per}
    made: dict[str, Any] = {}
    for name, found in {"name": None, **given}.items():
        try:
            made[name] = read[name](found)
        except ValueError as trouble:
            raise InvalidInput.at(f"{at}/{name}", str(trouble)) from None
    if "max_running" not in made and "rate" not in made:
        raise InvalidInput.at(at, "limits nothing; give max_running, rate or both")
    return LimitAsk(**made)


def _max_running(value: object) -> int:
    return read_whole(value, LOCK_CAPACITY_MAX)


def read_rate(value: object) -> float:
    """Starts a second. Raises ValueError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Said positively, because NaN fails every comparison.
    if not (is_number and JOB_RATE_MIN <= value <= JOB_RATE_MAX):  # type: ignore[operator]
        raise ValueError(RATE_ALLOWED)
    return float(value)  # type: ignore[arg-type]


def _per(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= JOB_LIMIT_PER_MAX:
        raise ValueError(f'must be a list of 1 to {JOB_LIMIT_PER_MAX} pointers such as "/args/0"')
    for pointer in value:
        is_one = isinstance(pointer, str) and pointer.startswith("/")
        if not is_one or len(pointer) > KEY_CHARS_MAX or not is_printable(pointer):
            raise ValueError(
                'must hold pointers into the input, such as "/args/0" or "/customer", of at most '
                f"{KEY_CHARS_MAX} characters"
            )
    return tuple(value)


def _value(given: Mapping[str, Any], per: Sequence[str]) -> str:
    """What tells one limit from the others of its name. Whoever leaves it out shares one."""
    for pointer in per:
        found = find(given, pointer)
        if found is not None:
            text = _text(found)
            is_short = len(text) <= JOB_LIMIT_VALUE_CHARS_MAX
            return text if is_short else hashlib.sha256(text.encode()).hexdigest()
    return ""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        strict_json.write(value)  # what cannot be stored names no lock
        return value
    number = whole(value)
    if number is None:
        raise ValueError("leads to what is no text, whole number, true or false")
    return str(number)


# -- in JSON Schema --------------------------------------------------------------------------------

_MAX_RUNNING: Final = {"type": "integer", "minimum": 1, "maximum": LOCK_CAPACITY_MAX}
_RATE: Final = {"type": "number", "minimum": JOB_RATE_MIN, "maximum": JOB_RATE_MAX}
_POINTER: Final = {
    "type": "string",
    "pattern": f"^/{CHAR_PATTERN}*$",
    "minLength": 1,
    "maxLength": KEY_CHARS_MAX,
}
LIMITS_SCHEMA: Final[dict[str, Any]] = {
    "type": "array",
    "maxItems": JOB_LIMITS_MAX,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {
                "type": "string",
                "pattern": f"^{NAME_PATTERN}$",
                "minLength": 1,
                "maxLength": NAME_CHARS_MAX,
            },
            "max_running": {"anyOf": [_MAX_RUNNING, {"type": "null"}]},
            "rate": {"anyOf": [_RATE, {"type": "null"}]},
            "per": {
                "anyOf": [
                    {
                        "type": "array",
                        "items": _POINTER,
                        "minItems": 1,
                        "maxItems": JOB_LIMIT_PER_MAX,
                    },
                    {"type": "null"},
                ]
            },
        },
        "anyOf": [
            {"required": [name], "properties": {name: {"type": "number"}}}
            for name in ("max_running", "rate")
        ],
    },
}
