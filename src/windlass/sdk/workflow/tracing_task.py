"""`task.step(…)`, `task.map(…)` and `.undo(task, …)`: a task with arguments, as work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from windlass.sdk.tasks.hints import signature_of
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.step import Step
from windlass.sdk.workflow.work import ITEM, Work, of_each, step_options

# Keywords of ours, unless the task has a parameter of that name.
_OF_STEP: Final = ("after", "join")
_OF_MAP: Final = ("each", "after", "join", "max_parallel", "tolerance", "collect")


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
