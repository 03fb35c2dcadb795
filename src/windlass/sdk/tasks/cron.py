"""Schedules that are written beside what they run: `@app.cron("0 8 * * 1-5")`, `@app.every("5m")`.

The rule is judged here and now, by the server's own checks; what it does is written down when the
app is published (sdk.tasks.publish), because a hint may name what stands further down in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Protocol, TypedDict, TypeVar, overload

import msgspec

from windlass import clock
from windlass.errors import InvalidInput
from windlass.extras import ServerNotInstalled
from windlass.model.job.states import Priority
from windlass.model.job.submission import read_name
from windlass.model.schedule import placeholder as schedule_instant
from windlass.model.schedule.decision import Misfire, Overlap
from windlass.model.schedule.read import RULE_FIELDS, read_rule
from windlass.sdk.tasks.options import Duration
from windlass.sdk.tasks.task import AsyncTask, Task
from windlass.sdk.tasks.type_hints import signature_of

if TYPE_CHECKING:
    from windlass.sdk.tasks.app import App

P = ParamSpec("P")
R = TypeVar("R")

# In the arguments of a schedule: the instant for which it fires, typed as what it becomes. Within a
# longer text it is written "${schedule.instant}".
INSTANT: Final[datetime] = datetime.max.replace(tzinfo=UTC)
_INSTANT_JSON: Final = msgspec.json.encode(INSTANT)

_SETTINGS: Final = ("overlap", "misfire", "catchup", "priority")


class ScheduleOptions(TypedDict, total=False):
    """What a schedule says beside its rule, as docs/schedules.md has it. None: as if not given."""

    name: str | None  # None: that of what it runs
    args: Sequence[Any]
    kwargs: Mapping[str, Any] | None
    overlap: Overlap | None
    misfire: Misfire | None
    catchup: Duration | None
    priority: Priority | None
    jitter: Duration | None
    calendar: Mapping[str, Any] | None
    dst: Mapping[str, str] | None
    starts_at: datetime | None
    ends_at: datetime | None


class Started(Protocol):
    """A workflow or a durable function: it has a name, and can write its input down."""

    name: str
    function: Callable[..., Any]

    def by_name(self, args: Any, kwargs: Any) -> dict[str, Any]: ...


S = TypeVar("S", bound=Started)


def tag_of(app: str) -> str:
    """By which an app knows its schedules again."""
    return f"app:{app}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCode:
    """A schedule as the code has it."""

    name: str
    target: Task[..., Any] | Started
    rule: Mapping[str, Any]  # fields of RULE_FIELDS
    settings: Mapping[str, Any] = field(default_factory=dict)  # overlap, misfire, …
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def body(self, app: str) -> dict[str, Any]:
        """As PUT /v1/schedules/{name} takes it. Raises InvalidArguments."""
        return {
            **self.rule,
            **self._work(),
            **self.settings,
            "tags": [tag_of(app)],
            "source": "app",
        }

    def _work(self) -> dict[str, Any]:
        """With the word that the server fills in, where the code has INSTANT."""
        written = msgspec.json.encode(self._written())
        found: dict[str, Any] = msgspec.json.decode(
            written.replace(_INSTANT_JSON, b'"' + schedule_instant.INSTANT.encode() + b'"')
        )
        return found

    def _written(self) -> dict[str, Any]:
        if isinstance(self.target, Task):
            whole = msgspec.json.decode(self.target.arguments.encode(self.args, self.kwargs))
            given = {name: value for name, value in whole.items() if value}
            return {"job": {"kind": "python", "input": given, **self.target.options}}
        given = self.target.by_name(self.args, self.kwargs)
        return {"workflow": {"name": self.target.name, "version": None, "input": given}}


class Scheduler:
    """What `@app.cron(…)` puts on a task, a workflow, a durable function, or a plain function."""

    def __init__(
        self,
        app: App,
        rule: Mapping[str, Any],
        *,
        name: str | None = None,  # None: that of what it runs
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self._app, self._name = app, name
        self._args, self._kwargs = args, dict(kwargs or {})
        given = {name: _plain(value) for name, value in settings.items() if value is not None}
        if strange := given.keys() - {*RULE_FIELDS, *_SETTINGS}:
            raise TypeError(f"a schedule takes no {' '.join(sorted(strange))}")
        self._rule = {name: _plain(value) for name, value in rule.items() if value is not None}
        self._rule |= {name: given[name] for name in RULE_FIELDS if name in given}
        self._settings = {name: value for name, value in given.items() if name in _SETTINGS}

    @overload
    def __call__(self, target: AsyncTask[P, R], /) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, target: Task[P, R], /) -> Task[P, R]: ...  # type: ignore[overload-overlap]

    @overload
    def __call__(self, target: S, /) -> S: ...

    @overload
    def __call__(self, target: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...

    @overload
    def __call__(self, target: Callable[P, R], /) -> Task[P, R]: ...

    def __call__(self, target: Any, /) -> Any:
        if not isinstance(target, Task) and not hasattr(target, "by_name"):
            target = self._app.task(target)
        name = self._name or target.name
        self._check(name, target)
        self._app.schedules[name] = ScheduleCode(
            name=name,
            target=target,
            rule=self._rule,
            settings=self._settings,
            args=self._args,
            kwargs=self._kwargs,
        )
        return target

    def _check(self, name: str, target: Any) -> None:
        """Raises InvalidInput, ValueError or TypeError: at import, where the mistake stands."""
        if name in self._app.schedules:
            raise ValueError(f"there is a schedule {name!r} already; give this one name=")
        try:
            read_name(name)
        except ValueError as trouble:
            raise InvalidInput.at("/name", f"{name!r} {trouble}") from None
        with suppress(ServerNotInstalled):  # the server looks at it too, and has what that takes
            read_rule(self._rule, name=name, now=clock.wall())
        try:
            signature_of(target.function).bind(*self._args, **self._kwargs)
        except TypeError as trouble:
            raise TypeError(
                f"schedule {name!r}: {target.name}: {trouble}; give it by args= or kwargs="
            ) from None


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return value.total_seconds()
        case datetime():
            if value.tzinfo is None:
                raise ValueError(f"{value}: say in which time zone, such as datetime.UTC")
            return value.isoformat()
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return value
