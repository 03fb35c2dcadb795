"""Retry policies: exponential backoff with jitter, the ladder of webhooks, and Retry-After."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from windlass.duration import parse_seconds
from windlass.limits import ATTEMPTS_MAX, DURATION_SECONDS_MAX, RETRY_AFTER_SECONDS_MAX
from windlass.model.json.pointer import step
from windlass.model.json.whole import read_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A policy: how many tries, and how long to rest between them."""

    max_attempts: int = 5
    initial_seconds: float = 1.0
    factor: float = 2.0
    max_seconds: float = 300.0
    jitter: bool = True
    # A fixed ladder of rests; empty means exponential.
    ladder_seconds: tuple[float, ...] = ()


DEFAULT: Final = Retry()
# The schedule that the Standard Webhooks specification recommends: ten tries over three days.
WEBHOOK: Final = Retry(
    max_attempts=10,
    ladder_seconds=(5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400),
)
assert len(WEBHOOK.ladder_seconds) == WEBHOOK.max_attempts - 1


def rest_seconds(
    policy: Retry, tries: int, chance: float, *, max_attempts: int | None = None
) -> float | None:
    """How long to rest after `tries` tries, or None when the policy is spent.

    `chance` lies in [0, 1): with jitter the rest is spread over ±25 %. `max_attempts`, if given,
    stands instead of the policy's.
    """
    if tries >= (max_attempts or policy.max_attempts):
        return None
    if policy.ladder_seconds:
        rest = policy.ladder_seconds[min(tries, len(policy.ladder_seconds)) - 1]
    else:
        # The exponent is bounded first: 2.0 ** 2000 is an OverflowError, not a long rest.
        rest = min(policy.initial_seconds * policy.factor ** min(tries - 1, 64), policy.max_seconds)
    return rest * (0.75 + chance / 2) if policy.jitter else rest


def honour_retry_after(rest: float, wish: float | None) -> float:
    """A rest that also honours the other side's wish, within reason."""
    if wish is None or not wish > rest:
        return rest
    return min(wish, max(rest, float(RETRY_AFTER_SECONDS_MAX)))


@cache
def default_for(kind: str, max_attempts: int | None = None) -> Retry:
    """The policy of a job that names none. `max_attempts` is the owner's setting."""
    if kind == "http":
        return WEBHOOK
    return Retry(max_attempts=max_attempts) if max_attempts else DEFAULT


def read_retry(value: object, fallback: Retry) -> tuple[Retry, list[tuple[str, str]]]:
    """The policy in a submission, and every problem as (pointer below /retry, detail)."""
    if not isinstance(value, dict):
        return fallback, [("", 'must be an object such as {"max_attempts": 5}')]
    problems: list[tuple[str, str]] = []
    given: dict[str, Any] = {}
    for name, found in value.items():
        try:
            given |= _read_field(name, found)
        except ValueError as problem:
            problems.append((step(name), str(problem)))
    if problems or not given:
        return fallback, problems
    if set(given) == {"max_attempts"}:
        return _with_attempts(fallback, given["max_attempts"]), []
    given.setdefault("max_attempts", fallback.max_attempts)
    return Retry(**given), []


def _read_field(name: str, value: object) -> dict[str, Any]:
    match name:
        case "max_attempts":
            return {"max_attempts": read_whole(value, ATTEMPTS_MAX)}
        case "initial":
            return {"initial_seconds": parse_seconds(value)}
        case "max":
            return {"max_seconds": parse_seconds(value, DURATION_SECONDS_MAX)}
        case "factor":
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not 1 <= value <= 100
            ):
                raise ValueError("must be a number between 1 and 100")
            return {"factor": float(value)}
        case "jitter":
            if not isinstance(value, bool):
                raise ValueError("must be true or false")
            return {"jitter": value}
        case _:
            raise ValueError("unknown field; known are max_attempts initial factor max jitter")


def _with_attempts(policy: Retry, max_attempts: int) -> Retry:
    return Retry(
        max_attempts=max_attempts,
        initial_seconds=policy.initial_seconds,
        factor=policy.factor,
        max_seconds=policy.max_seconds,
        jitter=policy.jitter,
        ladder_seconds=policy.ladder_seconds,
    )


def to_json(policy: Retry) -> dict[str, Any]:
    """As the API shows it and the `retry` column keeps it; `read_retry` reads it back."""
    return {
        "max_attempts": policy.max_attempts,
        "initial": policy.initial_seconds,
        "factor": policy.factor,
        "max": policy.max_seconds,
        "jitter": policy.jitter,
    }
