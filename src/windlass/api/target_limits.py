"""What a PUT of a target may say: rate limit, concurrency, and when its circuit breaker opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from windlass.api.http.body import check_type, parse, read_bytes
from windlass.api.http.caller import caller_of
from windlass.api.http.query import read_short_text
from windlass.api.http.route import Call
from windlass.api.http.shapes import Schema, duration, nullable
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
    readers = {"reason": lambda text: read_short_text(text, REASON_CHARS_MAX)}
    reason: str | None = _read(value, readers, problems).get("reason")
    if problems:
        raise InvalidInput(*problems)
    return reason


def read_target_limits(value: object) -> TargetLimits:
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


def target_limits_schema() -> Schema:
    breaker: Schema = {
        "type": "object",
        "additionalProperties": False,
        "description": "Opens after `failures` in a row, 0: never; `rest` grows up to `rest_max`",
        "properties": {
            "failures": nullable({"type": "integer", "minimum": 0, "maximum": _FAILURES_MAX}),
            "rest": nullable(duration(_REST_MAX, _REST_MIN)),
            "rest_max": nullable(duration(_REST_MAX, _REST_MIN)),
        },
    }
    rate = {"type": "number", "minimum": _RATE_MIN, "maximum": _RATE_MAX}
    running = {"type": "integer", "minimum": 1, "maximum": _RUNNING_MAX}
    return {
        "type": "object",
        "additionalProperties": False,
        "description": "What is left out or null is the default: no limit, an ordinary breaker",
        "properties": {
            "rate": nullable(rate),
            "max_running": nullable(running),
            "breaker": nullable(breaker),
        },
    }
