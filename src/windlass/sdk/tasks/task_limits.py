"""What `@app.task(…)` says of all jobs of a task together: concurrency limit, rate limit, unique
jobs (deduplication) and debounce.

Concurrency and rate become the `limits` of each job, the same wherever the job is made: by enqueue,
as a step, by a schedule, or by hand (`windlass task run`). Uniqueness is a key, made of the
arguments of one call, so only `enqueue` and `map` know it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import Parameter
from typing import Any, Final

import msgspec

from windlass.duration import parse_rate
from windlass.errors import InvalidInput
from windlass.limits import LOCK_CAPACITY_MAX
from windlass.model.job.limit import read_rate
from windlass.model.job.lock import read_lock_name
from windlass.model.json.canonical import canonical_json
from windlass.model.json.whole import read_whole
from windlass.sdk.tasks.options import Duration, seconds_of
from windlass.sdk.tasks.type_hints import signature_of

Rate = float | str  # 5 (a second), "5/s", "100/m", "20/h", "3/d"

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME: Final = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
# Of a task's name in a key; what follows is a hash.
_KEY_NAME_CHARS: Final = 200
# What says for how long a key, made of the arguments, is a job's.
UNIQUE: Final = ("unique_for", "debounce", "debounce_max")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLimits:
    """None: not limited, not unique, not debounced."""

    concurrency: int | None = None
    rate: Rate | None = None
    per: str | None = None  # a parameter, for each value of which the limits are separate
    unique_for: Duration | None = None
    debounce: Duration | None = None
    debounce_max: Duration | None = None
    unique_by: str | Iterable[str] | None = None  # parameters; None: all

    def limits(self, task: str, function: Callable[..., Any]) -> list[dict[str, Any]]:
        """The `limits` of its jobs. Raises InvalidInput naming the option."""
        if self.concurrency is None and self.rate is None:
            if self.per is not None:
                raise InvalidInput.at("/per", "limits nothing; give concurrency, rate or both")
            return []
        limit: dict[str, Any] = {"name": _limit_name(task)}
        if self.concurrency is not None:
            limit["max_running"] = _checked("concurrency", _read_concurrency, self.concurrency)
        if self.rate is not None:
            limit["rate"] = _checked("rate", rate_of, self.rate)
        if self.per is not None:
            limit["per"] = _pointers(task, function, self.per)
        return [limit]

    def unique_fields(self) -> dict[str, float]:
        """Of POST /v1/jobs, beside a key. Raises InvalidInput naming the option."""
        if self.unique_for is not None and self.debounce is not None:
            raise InvalidInput.at("/debounce", "give unique_for or debounce, not both")
        if self.debounce is None and self.debounce_max is not None:
            raise InvalidInput.at("/debounce_max", "has no meaning without debounce")
        given = {name: getattr(self, name) for name in UNIQUE}
        if not any(value is not None for value in given.values()) and self.unique_by is not None:
            raise InvalidInput.at("/unique_by", "has no meaning without unique_for or debounce")
        return {
            name: _checked(name, seconds_of, value)
            for name, value in given.items()
            if value is not None
        }

    def unique_names(self, task: str, function: Callable[..., Any]) -> tuple[str, ...] | None:
        """The parameters that tell one job from another; None: all of them do."""
        if self.unique_by is None:
            return None
        names = (self.unique_by,) if isinstance(self.unique_by, str) else tuple(self.unique_by)
        for name in names:
            _parameter("/unique_by", task, function, name)
        return names


LIMITS: Final = tuple(field.name for field in fields(TaskLimits))


def rate_of(value: Rate) -> float:
    """Starts a second. Raises ValueError that says what is allowed."""
    if not isinstance(value, str):
        return read_rate(value)
    return read_rate(parse_rate(value))


def unique_key(
    task: str, function: Callable[..., Any], given: bytes, names: Sequence[str] | None
) -> str:
    """A key that calls with the same arguments have, by position or by name. `given` is the input
    of the job.
    """
    whole = msgspec.json.decode(given)
    arguments = _by_name(function, whole.get("args") or [], whole.get("kwargs") or {})
    if names is not None:
        arguments = {name: arguments.get(name) for name in names}
    digest = hashlib.sha256(canonical_json(arguments)).hexdigest()[:32]
    return f"{task[:_KEY_NAME_CHARS]}:{digest}"


def _by_name(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    parameters = signature_of(function).parameters.values()
    positional = [p.name for p in parameters if p.kind in _POSITIONAL]
    named = dict(zip(positional, args, strict=False))
    more = list(args[len(positional) :])
    return {**named, **({"*": more} if more else {}), **kwargs}


def _limit_name(task: str) -> str:
    """The task's own, if a limit can be called so."""
    try:
        return read_lock_name(task)
    except ValueError:
        return f"task-{hashlib.sha256(task.encode()).hexdigest()[:32]}"


def _pointers(task: str, function: Callable[..., Any], name: str) -> list[str]:
    """Where the value of a parameter stands in the input of a job."""
    parameter = _parameter("/per", task, function, name)
    parameters = signature_of(function).parameters.values()
    positional = [p.name for p in parameters if p.kind in _POSITIONAL]
    found = [f"/args/{positional.index(name)}"] if name in positional else []
    return found + ([f"/kwargs/{name}"] if parameter.kind in _BY_NAME else [])


def _parameter(at: str, task: str, function: Callable[..., Any], name: object) -> Parameter:
    parameters = signature_of(function).parameters
    known = [p.name for p in parameters.values() if p.kind in (*_POSITIONAL, *_BY_NAME)]
    if name not in known:
        detail = f"{name!r} is no parameter of task {task!r}; it has {' '.join(known) or 'none'}"
        raise InvalidInput.at(at, detail)
    return parameters[str(name)]


def _read_concurrency(value: object) -> int:
    return read_whole(value, LOCK_CAPACITY_MAX)


def _checked(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except ValueError as trouble:
        raise InvalidInput.at(f"/{name}", str(trouble)) from None
