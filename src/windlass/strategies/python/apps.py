"""`--app module:attr`, one or several: imported, and their tasks put together.

Promises: whatever is in the way is one sentence. A name that was probably meant is said; a module
that raises while it is imported is told with the user's own line. No two apps have a task of one
name, nor one name of their own: which of them a job means could not be said.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from windlass.errors import AppNotLoaded
from windlass.strategies.python.task import Task, tasks_of

_SAID_CHARS_MAX: Final = 300
_PYTHON: Final = os.path.dirname(os.__file__)  # noqa: PTH120 (as frames spell it)
_OURS: Final = str(Path(__file__).parents[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedApp:
    path: str  # module:attr
    found: Any  # a windlass.App, or any object with public callables
    tasks: Mapping[str, Task]

    @property
    def name(self) -> str | None:
        """What an App calls itself; None: it is some other object."""
        name = getattr(self.found, "name", None)
        return name if isinstance(name, str) and hasattr(self.found, "publish") else None


def load_apps(paths: str) -> list[LoadedApp]:
    """Those of `module:attr,module:attr`, each object once. Raises AppNotLoaded."""
    apps: list[LoadedApp] = []
    for path in paths.split(","):
        found = load_object(path)
        if any(found is app.found for app in apps):
            continue
        tasks = tasks_of(found)
        if not tasks:
            raise AppNotLoaded(f"--app {path!r} leads to an object without callables")
        apps.append(LoadedApp(path=path, found=found, tasks=tasks))
    return apps


def load_tasks(paths: str) -> dict[str, Task]:
    """The tasks of all of them: an App's tasks, or the public callables of any object."""
    return merged_tasks(load_apps(paths))


def merged_tasks(apps: Sequence[LoadedApp]) -> dict[str, Task]:
    """Raises AppNotLoaded when two of them have one name, or a task of one name."""
    names: dict[str, LoadedApp] = {}
    tasks: dict[str, Task] = {}
    owners: dict[str, LoadedApp] = {}
    for app in apps:
        if app.name is not None and (other := names.setdefault(app.name, app)) is not app:
            raise AppNotLoaded(
                f"--app {other.path} and --app {app.path} are both named {app.name!r}; "
                "give one of them another name: what it has published is known by that"
            )
        for name, task in app.tasks.items():
            if (owner := owners.setdefault(name, app)) is not app:
                raise AppNotLoaded(
                    f"--app {owner.path} and --app {app.path} both have a task {name!r}; "
                    "give one of them another name with @app.task(name=…)"
                )
            tasks[name] = task
    return tasks


def load_object(path: str) -> Any:
    """What `module:attr` leads to. Raises AppNotLoaded, whatever was in the way."""
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise AppNotLoaded(f"--app {path!r} must look like module:attr")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as trouble:  # a module may raise anything while it is imported
        raise _not_imported(path, module_name, attribute, trouble) from trouble
    module = found
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except Exception as trouble:  # a property of the user's own may raise anything, too
            said = f"{module_name} has no attribute {part!r}"
            if not isinstance(trouble, AttributeError):
                said = f"could not be loaded: {shortly(trouble)}"
            raise AppNotLoaded(
                f"--app {path!r}: {said}{_did_you_mean(_near_apps(module, attribute))}"
            ) from trouble
    return found


def _not_imported(path: str, module: str, attribute: str, trouble: BaseException) -> AppNotLoaded:
    missing = trouble.name if isinstance(trouble, ModuleNotFoundError) else None
    if missing is not None and f"{module}.".startswith(f"{missing}."):
        near = [f"{name}:{attribute}" for name in _near_modules(missing, module)]
        return AppNotLoaded(
            f"--app {path!r}: there is no module {missing!r} below {Path.cwd()} or installed"
            f"{_did_you_mean(near)}"
        )
    return AppNotLoaded(f"--app {path!r} could not be loaded: {shortly(trouble)}{where(trouble)}")


def _did_you_mean(near: Sequence[str]) -> str:
    return f"; did you mean --app {near[0]}?" if near else ""


def _near_modules(missing: str, wanted: str) -> list[str]:
    """Modules beside the one that is not there, with names like its; the rest of the path stays."""
    from pkgutil import iter_modules  # seldom needed

    above, _, last = missing.rpartition(".")
    folders: Iterable[str] | None = None if above else [str(Path.cwd())]
    if above:
        folders = list(getattr(sys.modules.get(above), "__path__", ()))
    beside = [found.name for found in iter_modules(folders)]
    near = get_close_matches(last, beside, n=1, cutoff=0.6)
    rest = wanted.removeprefix(missing)
    return [f"{above}.{name}{rest}" if above else name + rest for name in near]


def _near_apps(module: ModuleType, attribute: str) -> list[str]:
    """The Apps of that module, the one with a name like this before the others."""
    apps = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and hasattr(value, "publish") and hasattr(value, "tasks")
    ]
    near = get_close_matches(attribute, apps, n=1, cutoff=0.5) or apps
    return [f"{module.__name__}:{name}" for name in near[:1]]


def shortly(trouble: BaseException) -> str:
    """Its kind and its first line."""
    said = trouble.msg if isinstance(trouble, SyntaxError) else str(trouble)
    first = next(iter(said.splitlines()), "")[:_SAID_CHARS_MAX]
    return f"{type(trouble).__name__}: {first}" if first else type(trouble).__name__


def where(trouble: BaseException) -> str:
    """` (file, line n)` of the user's own code that raised it; nothing if there is none."""
    if isinstance(trouble, SyntaxError) and trouble.filename:
        return f" ({_shown(trouble.filename)}, line {trouble.lineno})"
    frames = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(trouble.__traceback__)
    ]
    own = [(file, line) for file, line in frames if is_own(file)]
    return f" ({_shown(own[-1][0])}, line {own[-1][1]})" if own else ""


def is_own(file: str) -> bool:
    """A file of the user's: neither ours, nor Python's, nor installed."""
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    return not file.startswith((_OURS, _PYTHON))


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
