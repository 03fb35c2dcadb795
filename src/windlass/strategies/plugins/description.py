"""What is shown of a strategy to whoever draws a workflow or looks after a node."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from windlass.limits import TASK_DOC_CHARS_MAX
from windlass.strategies.plugins.load import Plugin
from windlass.strategies.python.task import Task, shape_of

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    kind: str
    is_builtin: bool
    version: str | None  # of the distribution it comes from; None: it has none
    input_schema: Schema | None = None  # None: it has none, or it is shown elsewhere
    output_schema: Schema | None = None
    error: str | None = None  # why it, or its newest code, could not be loaded; None: it could
    tasks: list[dict[str, Any]] | None = None  # of `python` alone


def describe_plugin(plugin: Plugin) -> Description:
    strategy = plugin.strategy
    return Description(
        kind=plugin.kind,
        is_builtin=False,
        version=plugin.version,
        input_schema=None if strategy is None else strategy.input_schema,
        output_schema=None if strategy is None else strategy.output_schema,
        error=plugin.error,
    )


def describe_builtin(kind: str, version: str, tasks: Mapping[str, Task]) -> Description:
    described = [_task(task) for _, task in sorted(tasks.items())] if kind == "python" else None
    return Description(kind=kind, is_builtin=True, version=version, tasks=described)


def describe_task(task: Task) -> dict[str, Any]:
    """For whoever looks a task up, or runs one by hand: with what its jobs get unless told."""
    options = getattr(task.entry, "options", None)
    doc = inspect.getdoc(task.function) or ""
    return {
        **_task(task),
        "doc": doc[:TASK_DOC_CHARS_MAX] or None,
        "options": _plain(options) if isinstance(options, Mapping) else {},
    }


def app_of(task: Task) -> str | None:
    """The name of the App that has it; None: it stands elsewhere."""
    name = getattr(getattr(task.entry, "home", None), "name", None)
    return name if isinstance(name, str) else None


def _plain(options: Mapping[str, Any]) -> Any:
    """As JSON has it; what it has not is left out."""
    kept = {}
    for name, value in options.items():
        try:
            kept[name] = msgspec.json.decode(msgspec.json.encode(value))
        except (TypeError, ValueError, msgspec.MsgspecError):
            continue
    return kept


def _task(task: Task) -> dict[str, Any]:
    shape = shape_of(task.function)
    own = _schema(task, "input_schema")
    return {
        "task": task.name,
        "is_async": task.is_async,
        "is_isolated": task.is_isolated,
        # What it takes, as JSON Schema of an object; None: nobody knows. It knows best itself.
        "parameters": own or (None if shape is None else shape.schema),
        "positional": [] if shape is None else list(shape.names),
        "takes_more": shape is None or shape.has_rest,
        "result": _schema(task, "output_schema"),  # None: nobody knows
    }


def _schema(task: Task, name: str) -> Schema | None:
    """Made from the user's hints: whatever is wrong with them, the others are shown."""
    try:
        found = getattr(task.entry, name, None)
    except Exception:
        return None
    return found if isinstance(found, Mapping) else None
