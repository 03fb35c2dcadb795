"""The work of a step, of each item of a fan-out (map), or of an undo: a task with arguments, say.

`task.step(…)`, `task.map(…)` and `.undo(task, …)` come in by `step_of`, `map_of` and `inner_of`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final, Generic, TypeVar, Unpack

from windlass.sdk.tasks.options import Retry, Using, fields_of
from windlass.sdk.tasks.type_hints import signature_of
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.render import expression, rendered
from windlass.sdk.workflow.step import After, Each, Step, afters_of
from windlass.sdk.workflow.trace import current_trace
from windlass.sdk.workflow.value import Value, value_of

R = TypeVar("R")

ITEM: Final = Value("item")
INDEX: Final = Value("index")
_USUAL_RETRY: Final = Retry().to_json()
_OPTIONS: Final = ("queue", "priority", "timeout", "retry", "locks", "limits")
_NOT_OF_STEPS: Final = frozenset(("tags",))  # a task may have them, and its steps go without
# Keywords of ours, unless the task has a parameter of that name.
_OF_STEP: Final = ("after", "join")
_OF_MAP: Final = ("each", "after", "join", "max_parallel", "tolerance", "collect")
_UNITS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1, "ms": 0.001}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work(Generic[R]):
    """A kind and its input. It is no step before `.step()` or `.map()` makes it one."""

    kind: str
    input: Any = None  # None: the kind takes none
    wish: str  # for the id
    options: Mapping[str, Any] = field(default_factory=dict)  # as a definition has them

    def using(self, **options: Unpack[Using]) -> Work[R]:
        """With `retry`, `timeout`, `queue`, `priority`, `locks` or `limits`."""
        return replace(self, options={**self.options, **step_options(fields_of(options))})

    def step(self, *, after: After = None, join: int | str | None = None) -> Step[R]:
        trace = current_trace(f"{self.wish}.step(…)")
        return Step(trace, self.wish, self.inner(), after=afters_of(after), join=join)

    def map(
        self,
        items: Any,
        *,
        each: Each | None = None,
        after: After = None,
        join: int | str | None = None,
        max_parallel: int | None = None,
        tolerance: int | str | None = None,
        collect: bool | None = None,
    ) -> Step[list[R]]:
        """The same for each of the items. `each` makes the input of an item (and its index)."""
        trace = current_trace(f"{self.wish}.map(…)")
        work = self if each is None else replace(self, input=of_each(each))
        wanted: dict[str, Any] = {
            "kind": "map",
            "items": expression(value_of(items)),
            "step": work.inner(),
            "max_parallel": max_parallel,
            "tolerance": tolerance,
            "collect": collect,
        }
        body = {name: value for name, value in wanted.items() if value is not None}
        return Step(trace, self.wish, body, after=afters_of(after), join=join)

    def inner(self) -> dict[str, Any]:
        """As it stands in a definition, without needs, as nothing waits for it."""
        made: dict[str, Any] = {"kind": self.kind}
        if self.input is not None:
            made["input"] = rendered(self.input)
        return {**made, **self.options}


def of_each(each: Each) -> object:
    """What the function makes of an item, and of its index if it takes two."""
    count = len(inspect.signature(each).parameters)
    if count not in (1, 2):
        raise CannotTrace("each= takes a function of an item, or of an item and its index")
    return each(ITEM) if count == 1 else each(ITEM, INDEX)


def step_options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a job as a step has them, as a person would write them. Raises CannotTrace."""
    made: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _NOT_OF_STEPS:
            continue
        if name not in _OPTIONS:
            raise CannotTrace(
                f"{name} has no meaning for a step, which stands in its workflow; "
                f"known are {' '.join(_OPTIONS)}"
            )
        made[name] = _written(name, value)
    return made


def _written(name: str, value: Any) -> Any:
    match name:
        case "timeout":
            return written_duration(value)
        case "retry":
            return {
                part: written_duration(found) if part in ("initial", "max") else found
                for part, found in value.items()
                if part == "max_attempts" or found != _USUAL_RETRY[part]
            }
        case _:
            return rendered(value)


def written_duration(value: Any) -> Any:
    """Seconds as people write them; what was written already stays."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if not isinstance(value, int | float) or value <= 0:
        return rendered(value)
    for unit, seconds in _UNITS.items():
        if (value / seconds).is_integer():
            return f"{value / seconds:.0f}{unit}"
    return value


def step_of(
    task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    ours, theirs = _parted(task, kwargs, _OF_STEP)
    return _work(task, args, theirs, options).step(**ours)


def map_of(
    task: Any, items: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Step[Any]:
    ours, theirs = _parted(task, kwargs, _OF_MAP)
    each = ours.pop("each", None)
    args, more = _arguments(each)
    return _work(task, args, {**theirs, **more}, options).map(items, **ours)


def inner_of(work: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """For `.undo(…)`: a task with its arguments, or work of another kind."""
    if isinstance(work, Work):
        if args or kwargs:
            raise CannotTrace("work of a kind has its input already; give no arguments with it")
        return work.inner()
    if isinstance(work, Step):
        raise CannotTrace(f"{work.id} is a step of its own; give undo the task and its arguments")
    if not hasattr(work, "function"):
        raise CannotTrace(f"{work!r} is no task; put @app.task on it")
    return _work(work, args, kwargs, {}).inner()


def _work(
    task: Any, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]
) -> Work[Any]:
    try:
        signature_of(task.function).bind(*args, **kwargs)
    except TypeError as trouble:
        raise CannotTrace(f"{task.name}: {trouble}") from None
    given: dict[str, Any] = {"task": task.name}
    if args:
        given["args"] = list(args)
    if kwargs:
        given["kwargs"] = dict(kwargs)
    fields = step_options({**task.options, **options})
    return Work(kind="python", input=given, wish=task.name, options=fields)


def _parted(
    task: Any, kwargs: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is ours, and what is the task's."""
    own = signature_of(task.function).parameters
    ours = {name: value for name, value in kwargs.items() if name in names and name not in own}
    return ours, {name: value for name, value in kwargs.items() if name not in ours}


def _arguments(each: Any) -> tuple[list[Any], dict[str, Any]]:
    """An item is the first argument; `each` may make a tuple of several, or a dict of names."""
    if each is None:
        return [ITEM], {}
    match of_each(each):
        case tuple() as several:
            return list(several), {}
        case dict() as names:
            return [], names
        case one:
            return [one], {}
