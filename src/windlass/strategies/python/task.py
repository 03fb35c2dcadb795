"""Tasks: the Python functions of the `--app` object, and what each takes, read from its signature.

A definition is checked against that. A task is called with what JSON gave: annotations are hints to
whoever writes a definition, and one that JSON knows nothing of allows anything.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import Parameter
from typing import Any, Final

import msgspec

from windlass.model.workflow.known_kinds import TaskShape

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_REST: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    function: Callable[..., Any]
    is_isolated: bool = False  # runs in a process of its own
    # How JSON becomes what its hints say, and its result JSON again; None: as JSON has it.
    decode: Callable[[list[Any], dict[str, Any]], tuple[Any, dict[str, Any]]] | None = None
    encode: Callable[[Any], bytes | None] | None = None
    entry: Any = None  # as it stands in the App, with schemas perhaps; None: it is only a function
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_async", inspect.iscoroutinefunction(self.function))


def tasks_of(found: Any) -> dict[str, Task]:
    declared: Any = getattr(found, "tasks", None)
    if isinstance(declared, Mapping):
        return {name: _task(name, entry) for name, entry in declared.items()}
    members = found.items() if isinstance(found, Mapping) else inspect.getmembers(found)
    return {
        name: Task(name=name, function=value)
        for name, value in members
        if isinstance(name, str)
        and not name.startswith("_")
        and callable(value)
        and not inspect.isclass(value)
    }


def _task(name: str, entry: Any) -> Task:
    """An entry of an App's tasks: one of the SDK's, or whatever else can be called."""
    return Task(
        name=name,
        function=entry.function if hasattr(entry, "function") else entry,
        is_isolated=getattr(entry, "isolate", None) == "process",
        decode=getattr(entry, "decode", None),
        encode=getattr(entry, "encode_result", None),
        entry=entry,
    )


@lru_cache(maxsize=10_000)
def shape_of(function: Callable[..., Any]) -> TaskShape | None:
    """None: its signature cannot be read, and whatever is given is taken."""
    signature = _signature(function)
    if signature is None:
        return None
    parameters = signature.parameters.values()
    named = [parameter for parameter in parameters if parameter.kind not in _REST]
    schemas, below = _schemas([parameter.annotation for parameter in named])
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {p.name: found for p, found in zip(named, schemas, strict=True)},
        "required": [p.name for p in named if p.default is Parameter.empty],
        "additionalProperties": any(p.kind is Parameter.VAR_KEYWORD for p in parameters),
    }
    if below:
        schema["$defs"] = below
    return TaskShape(
        names=tuple(p.name for p in named if p.kind in _POSITIONAL),
        schema=schema,
        has_rest=any(p.kind is Parameter.VAR_POSITIONAL for p in parameters),
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    for as_values in (True, False):  # annotations may name what is not there at run time
        try:
            return inspect.signature(function, eval_str=as_values)
        except (NameError, SyntaxError, AttributeError):
            continue
        except (TypeError, ValueError):
            return None
    return None


def _schemas(annotations: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The schema of each, and those that they refer to."""
    known = [annotation if _is_known(annotation) else Any for annotation in annotations]
    schemas, below = msgspec.json.schema_components(known, ref_template="#/$defs/{name}")
    return list(schemas), dict(below)


def _is_known(annotation: Any) -> bool:
    if annotation is Parameter.empty or isinstance(annotation, str):
        return False
    try:
        msgspec.json.schema(annotation)
    except Exception:
        return False
    return True
