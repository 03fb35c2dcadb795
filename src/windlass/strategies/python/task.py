"""Tasks: the Python functions that the `python` strategy performs, found on the `--app` object."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windlass.errors import AppNotLoaded


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


def load_tasks(path: str) -> dict[str, Task]:
    """The tasks of `module:attr`: an App's tasks, or the public callables of any object."""
    tasks = tasks_of(load_object(path))
    if not tasks:
        raise AppNotLoaded(f"--app {path!r} leads to an object without callables")
    return tasks


def load_object(path: str) -> Any:
    """What `module:attr` leads to. Raises AppNotLoaded, whatever was in the way."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise AppNotLoaded(f"--app {path!r} must look like module:attr")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as trouble:  # a module may raise anything while it is imported
        said = f"{type(trouble).__name__}: {trouble}"
        raise AppNotLoaded(f"--app {path!r} could not be loaded: {said}") from trouble
    return found


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
