"""What a task, or one call of it, says about its jobs beside the arguments.

Users write Python (durations, datetimes, handles); what leaves here are the fields of POST /v1/jobs
in the API's own words, checked as far as that needs no server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict

from windlass.duration import parse_seconds
from windlass.errors import FieldProblem, InvalidInput
from windlass.model.job import retry as retries
from windlass.model.job.states import Priority

Duration: TypeAlias = float | str | timedelta  # 90, "90s", "10m", timedelta(minutes=10)
Isolate: TypeAlias = Literal["process"]


class HasId(Protocol):
    """A handle, for one."""

    @property
    def id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a job is tried, and how long it rests in between: `Retry(5, initial="1s")`."""

    max_attempts: int = retries.DEFAULT.max_attempts
    _: KW_ONLY
    initial: Duration = retries.DEFAULT.initial_seconds
    factor: float = retries.DEFAULT.factor
    max: Duration = retries.DEFAULT.max_seconds
    jitter: bool = retries.DEFAULT.jitter

    def __post_init__(self) -> None:
        _, problems = retries.read_retry(self.to_json(), retries.DEFAULT)
        if problems:
            raise InvalidInput(
                *(FieldProblem(pointer=f"/retry{pointer}", detail=why) for pointer, why in problems)
            )

    def to_json(self) -> dict[str, Any]:
        """The `retry` of POST /v1/jobs that says the same."""
        return {
            "max_attempts": self.max_attempts,
            "initial": _plain(self.initial),
            "factor": self.factor,
            "max": _plain(self.max),
            "jitter": self.jitter,
        }


class JobLabels(TypedDict, total=False):
    """What a submission says in texts, which go as they are. None is as if it was not given."""

    key: str | None  # unique while kept; see unique_for, too
    correlation_id: str | None


class TaskOptions(TypedDict, total=False):
    """What `@app.task(…)` says about every job of a task."""

    queue: str | None
    priority: Priority | None
    timeout: Duration | None
    retry: Retry | int | None  # a number: so many attempts
    max_attempts: int | None
    tags: Iterable[str] | None


class Using(TaskOptions, JobLabels, total=False):
    """What `.using(…)` says about the jobs that are made next. None is as if it was not given."""

    run_after: Duration | datetime | None  # so long from now, or an instant
    run_at: datetime | None
    deadline: datetime | None
    depends_on: Iterable[HasId | str] | HasId | str | None
    on_parent_failure: Literal["skip", "fail", "run"] | None
    locks: Iterable[str | Mapping[str, Any]] | str | None
    limits: Iterable[Mapping[str, Any]] | None
    unique_for: Duration | None  # how long its key is its own; unless said, made of its arguments
    debounce: Duration | None  # it runs so long after the last one with its key
    debounce_max: Duration | None  # and no later than this after the first
    connection: Any  # the caller's transaction: psycopg, asyncpg, SQLAlchemy or Django
    wait_for_room: Duration | None  # in a full queue; None: QueueFull at once


def fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a submission that say the same. Raises InvalidInput naming the option."""
    made: dict[str, Any] = {}
    for name, value in given.items():
        read = _READ.get(name)
        if read is None:
            raise TypeError(f"there is no option {name!r}; known are {' '.join(_READ)} {_BESIDE}")
        if value is None:
            continue
        try:
            made |= read(value)
        except ValueError as trouble:
            raise InvalidInput.at(f"/{name}", str(trouble)) from None
    if "max_attempts" in made:
        made["retry"] = {**made.get("retry", {}), "max_attempts": made.pop("max_attempts")}
    return made


def seconds_of(value: Duration) -> float:
    """Raises ValueError that says what is allowed."""
    return parse_seconds(_plain(value))


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _same(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: value}


def _duration(name: str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: {name: seconds_of(value)}


def _instant(name: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: object) -> dict[str, Any]:
        if not isinstance(value, datetime):
            raise ValueError(
                f"must be a datetime that knows its time zone, not {type(value).__name__}; what is "
                "so long from now is said by run_after"
            )
        if value.utcoffset() is None:
            raise ValueError(
                f"{value.isoformat(' ')} does not know its time zone, so nobody knows which "
                "instant it is; say datetime(…, tzinfo=UTC), or value.astimezone() for the clock "
                "of this machine"
            )
        return {name: value.isoformat()}

    return read


def _after(value: Any) -> dict[str, Any]:
    """A datetime is an instant: the job runs after it."""
    if isinstance(value, datetime):
        return _instant("run_at")(value)
    return {"delay": seconds_of(value)}


def _retry(value: object) -> dict[str, Any]:
    match value:
        case Retry():
            return {"retry": value.to_json()}
        case bool():
            raise ValueError("must be windlass.Retry(…) or a number of attempts")
        case int():
            return {"retry": {"max_attempts": value}}
        case _:
            raise ValueError("must be windlass.Retry(…) or a number of attempts")


def _list(name: str) -> Callable[[Any], dict[str, Any]]:
    # One text is a list of one: its letters are never meant.
    return lambda value: {
        name: [value] if isinstance(value, str | Mapping) else list(_each(name, value))
    }


def _each(name: str, value: object) -> Iterable[Any]:
    if not isinstance(value, Iterable):
        raise ValueError(f"must be a list of {name}")
    return value


def _depends_on(value: Any) -> dict[str, Any]:
    alone = isinstance(value, str) or hasattr(value, "id")
    parents = [value] if alone else list(_each("handles or job ids", value))
    return {"depends_on": [p if isinstance(p, str) else _id_of(p) for p in parents]}


def _id_of(parent: object) -> str:
    found = getattr(parent, "id", None)
    if not isinstance(found, str):
        raise ValueError(f"{type(parent).__name__} is neither a handle nor a job id")
    return found


# What says nothing about the job itself.
_BESIDE: Final = "connection wait_for_room"
_READ: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "queue": _same("queue"),
    "priority": _same("priority"),
    "timeout": _duration("timeout"),
    "retry": _retry,
    "max_attempts": _same("max_attempts"),
    "tags": _list("tags"),
    "run_after": _after,
    "run_at": _instant("run_at"),
    "deadline": _instant("deadline"),
    "depends_on": _depends_on,
    "on_parent_failure": _same("on_parent_failure"),
    "locks": _list("locks"),
    "limits": _list("limits"),
    "unique_for": _duration("unique_for"),
    "debounce": _duration("debounce"),
    "debounce_max": _duration("debounce_max"),
    **{name: _same(name) for name in JobLabels.__annotations__},
}
