"""What a PUT of a target may say: its limits, and when its breaker opens.

A target with its limits and breaker, and the secret it verifies with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from windlass.api.http import shapes as schemas
from windlass.api.http.body import check_type, parse, read_bytes
from windlass.api.http.caller import caller_of
from windlass.api.http.query import read_wanted
from windlass.api.http.route import Call
from windlass.api.http.shapes import (
    BREAKER,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    record,
)
from windlass.duration import parse_seconds
from windlass.engine.targets.targets import TargetLimits
from windlass.errors import FieldProblem, InvalidInput
from windlass.limits import BREAKER_REST_SECONDS, BREAKER_REST_SECONDS_MAX
from windlass.model.json.whole import read_whole

REASON_CHARS_MAX: Final = 500
_RATE_MIN, _RATE_MAX = 0.001, 1_000_000.0
_RUNNING_MAX: Final = 2**31 - 1
_FAILURES_MAX: Final = 1_000_000
_REST_MIN, _REST_MAX = 0.1, 24 * 3600.0
assert _REST_MIN <= BREAKER_REST_SECONDS <= BREAKER_REST_SECONDS_MAX <= _REST_MAX

Reader = Callable[[object], Any]


async def read_reason(request: Call) -> str | None:
    """The `reason` in the body; no body, or none in it: None."""
    body = await read_bytes(request)
    if not body:
        return None
    check_type(caller_of(request.scope))
    value = await parse(body)
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object, or no body at all")
    problems: list[FieldProblem] = []
    readers = {"reason": lambda text: read_wanted(text, REASON_CHARS_MAX)}
    reason: str | None = _read(value, readers, problems).get("reason")
    if problems:
        raise InvalidInput(*problems)
    return reason


def read_limits(value: object) -> TargetLimits:
    """The limits in a PUT. What is absent or null is the default. Raises InvalidInput."""
    if not isinstance(value, dict):
        raise InvalidInput.at("", "must be an object of limits")
    problems: list[FieldProblem] = []
    given = _read(value, _LIMITS, problems)
    breaker = _read(given.pop("breaker", {}), _BREAKER, problems, at="/breaker")
    rest, rest_max = _rests(breaker.pop("rest", None), breaker.pop("rest_max", None))
    if rest_max < rest:
        detail = "must not be shorter than rest"
        problems.append(FieldProblem(pointer="/breaker/rest_max", detail=detail))
    if problems:
        raise InvalidInput(*problems)
    return TargetLimits(**given, **breaker, rest_seconds=rest, rest_max_seconds=rest_max)


def _rests(rest: float | None, rest_max: float | None) -> tuple[float, float]:
    """Both; who names one of the two means the other to fit."""
    if rest is None:
        rest = min(BREAKER_REST_SECONDS, rest_max or BREAKER_REST_SECONDS)
    return rest, max(BREAKER_REST_SECONDS_MAX, rest) if rest_max is None else rest_max


def _read(
    value: Mapping[str, Any],
    readers: Mapping[str, Reader],
    problems: list[FieldProblem],
    at: str = "",
) -> dict[str, Any]:
    """The fields that are there and not null; what is wrong goes to `problems`."""
    given: dict[str, Any] = {}
    for name, found in value.items():
        reader = readers.get(name)
        if reader is None:
            detail = f"unknown field; known are {' '.join(readers)}"
            problems.append(FieldProblem(pointer=f"{at}/{name[:60]}", detail=detail))
        elif found is not None:
            try:
                given[name] = reader(found)
            except ValueError as trouble:
                problems.append(FieldProblem(pointer=f"{at}/{name}", detail=str(trouble)))
    return given


def _rate(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        value = 0
    if not _RATE_MIN <= value <= _RATE_MAX:
        raise ValueError(
            f"must be deliveries a second from {_RATE_MIN} to {_RATE_MAX:.0f}, or null"
        )
    return float(value)


def _max_running(value: object) -> int:
    return read_whole(value, _RUNNING_MAX)


def _failures(value: object) -> int:
    return read_whole(value, _FAILURES_MAX, least=0)


def _rest(value: object) -> float:
    seconds = parse_seconds(value, _REST_MAX)
    if seconds < _REST_MIN:
        raise ValueError(f"must be at least {_REST_MIN} seconds")
    return seconds


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError('must be an object such as {"failures": 10, "rest": "5s"}')
    return value


_LIMITS: Final[Mapping[str, Reader]] = {
    "rate": _rate,
    "max_running": _max_running,
    "breaker": _object,
}
_BREAKER: Final[Mapping[str, Reader]] = {"failures": _failures, "rest": _rest, "rest_max": _rest}


def limits_schema() -> schemas.Schema:
    breaker: schemas.Schema = {
        "type": "object",
        "additionalProperties": False,
        "description": "Opens after `failures` in a row, 0: never; `rest` grows up to `rest_max`",
        "properties": {
            "failures": schemas.nullable(
                {"type": "integer", "minimum": 0, "maximum": _FAILURES_MAX}
            ),
            "rest": schemas.nullable(schemas.duration(_REST_MAX, _REST_MIN)),
            "rest_max": schemas.nullable(schemas.duration(_REST_MAX, _REST_MIN)),
        },
    }
    rate = {"type": "number", "minimum": _RATE_MIN, "maximum": _RATE_MAX}
    running = {"type": "integer", "minimum": 1, "maximum": _RUNNING_MAX}
    return {
        "type": "object",
        "additionalProperties": False,
        "description": "What is left out or null is the default: no limit, an ordinary breaker",
        "properties": {
            "rate": schemas.nullable(rate),
            "max_running": schemas.nullable(running),
            "breaker": schemas.nullable(breaker),
        },
    }


SCHEMAS: Final[Named] = {
    "Target": record(
        host=TEXT,
        state={"type": "string", "enum": ["enabled", "disabled"]},
        disabled_at=nullable(INSTANT),
        disabled_reason=nullable(TEXT),
        rate=nullable({"type": "number"}),
        max_running=nullable(COUNT),
        breaker=record(
            state=BREAKER,
            opened_at=nullable(INSTANT),
            open_until=nullable(INSTANT),
            opens=COUNT,
            reason=nullable(TEXT),
            failures=COUNT,
            rest={"type": "number"},
            rest_max={"type": "number"},
        ),
        parked=COUNT,
        parked_more={"type": "boolean"},
        running=nullable(COUNT),
        succeeded=COUNT,
        failed=COUNT,
        last_answer_at=nullable(INSTANT),
        last_failure_at=nullable(INSTANT),
        created_at=INSTANT,
    ),
    "TargetSecret": record(host=TEXT, secrets=listed(TEXT), name=TEXT),
}
