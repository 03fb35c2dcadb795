"""Tasks: the Python functions that the `python` strategy performs, found on the `--app` object."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.errors import AppNotLoaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    name: str
    function: Callable[..., Any]
    is_isolated: bool = False  # runs in a process of its own

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.function)


def load_tasks(path: str) -> dict[str, Task]:
    """The tasks of `module:attr`: an App's tasks, or the public callables of any object."""
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
    tasks = tasks_of(found)
    if not tasks:
        raise AppNotLoaded(f"--app {path!r} leads to an object without callables")
    return tasks


def tasks_of(found: Any) -> dict[str, Task]:
    declared: Any = getattr(found, "tasks", None)
    if isinstance(declared, Mapping):
        return {
            name: Task(
                name=name,
                function=entry.function if hasattr(entry, "function") else entry,
                is_isolated=getattr(entry, "isolate", None) == "process",
            )
            for name, entry in declared.items()
        }
    members = found.items() if isinstance(found, Mapping) else inspect.getmembers(found)
    return {
        name: Task(name=name, function=value)
        for name, value in members
        if isinstance(name, str)
        and not name.startswith("_")
        and callable(value)
        and not inspect.isclass(value)
    }
