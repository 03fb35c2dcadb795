"""Reading Celery's `beat_schedule`: from its source, unrun; from JSON; or from a module, imported.

Promises: a file is never executed. What is no literal in it is told as such; `module:attr` imports
the module and takes what is there.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from windlass.cli.exits import BadUsage, Stopped
from windlass.cli.values import json_object, read_text

_SCHEDULES: Final = ("beat_schedule", "CELERY_BEAT_SCHEDULE", "CELERYBEAT_SCHEDULE")
_ZONES: Final = ("timezone", "CELERY_TIMEZONE")
_DEFAULT_QUEUES: Final = (
    "task_default_queue",
    "CELERY_TASK_DEFAULT_QUEUE",
    "CELERY_DEFAULT_QUEUE",
)
CELERYS_QUEUE: Final = "celery"  # unless it is told otherwise
_BRIDGE: Final = "windlass.sdk.bridges.celery"
_FIELDS: Final = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crontab:
    """Celery's crontab(…): as written, `*` for what was not."""

    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    seconds: float
    is_relative: bool = False  # rounded to its own unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange:
    """Something that is neither, and what it is."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What the bridge to Celery takes (windlass.sdk.bridges.celery): its nodes know one task, which
    performs all of Celery's.
    """

    queues: frozenset[str] | None = None  # None: all of them
    default_queue: str = CELERYS_QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatFile:
    entries: Mapping[str, Any]  # by name; its `schedule` is a Crontab, a Period or Strange
    zone: str | None = None  # None: nothing is said, which is UTC
    problems: Mapping[str, str] = field(default_factory=dict)  # by name: why it cannot be read
    moved: Moved | None = None  # None: nothing is said of a bridge
    app: Any = None  # the Celery application, which knows its routes; None: it was not imported


def read_beat(given: str) -> BeatFile:
    """FILE.json, FILE.py or module:attr. Raises BadUsage."""
    if given.endswith(".json"):
        return BeatFile(entries=_entries(json_object("FILE", f"@{given}")))
    if given.endswith(".py"):
        return _from_source(given)
    if ":" in given:
        return _from_module(_imported(given))
    raise BadUsage(f"{given!r} must be a file that ends in .py or .json, or module:attr")


def _imported(given: str) -> object:
    module, _, path = given.partition(":")
    # As `python -m` would find it.
    sys.path.insert(0, str(Path.cwd()))
    try:
        found: object = importlib.import_module(module)
        for name in path.split("."):
            found = getattr(found, name)
        _complete(found)
    except Exception as trouble:
        said = f"{type(trouble).__name__}: {trouble}"
        raise Stopped(f"{given!r} could not be imported: {said}") from None
    finally:
        sys.path.remove(str(Path.cwd()))
    return found


def _application(found: Any) -> Any:
    """Celery's application, given itself or as the bridge to it. None: it is something else."""
    app = getattr(found, "celery", found)
    is_one = not isinstance(found, Mapping) and hasattr(app, "conf") and hasattr(app, "amqp")
    return app if is_one else None


def _complete(found: Any) -> None:
    """As beat does at its start: tasks say their queues, and some make their entries, in modules
    that the application only names.
    """
    app = _application(found)
    if app is not None:
        app.loader.import_default_modules()
        app.finalize()


def _from_module(found: Any) -> BeatFile:
    """A beat_schedule, or the application that has one: Celery's own, or the bridge to it."""
    app = _application(found)
    if app is None:
        return BeatFile(entries=_entries(found))
    bridge = getattr(app, "windlass", None)
    moved = None
    if bridge is not None:
        moved = Moved(queues=bridge.queues, default_queue=str(app.conf.task_default_queue))
    zone = app.conf.timezone
    return BeatFile(
        entries=_entries(app.conf.beat_schedule),
        zone=None if zone is None else str(zone),
        moved=moved,
        app=app,
    )


def _entries(found: object) -> dict[str, Any]:
    if not isinstance(found, Mapping):
        raise BadUsage('that is no beat_schedule; one is {"name": {"task": …, "schedule": …}}')
    return {str(name): _entry(entry) for name, entry in found.items()}


def _entry(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    return {**entry, "schedule": _schedule(entry.get("schedule"))}


def _schedule(found: Any) -> Crontab | Period | Strange:
    """What Celery takes for a schedule, by its looks: Celery itself need not be there."""
    match found:
        case Crontab() | Period() | Strange():
            return found
        case bool():
            return Strange(text=repr(found))
        case int() | float():
            return Period(seconds=float(found))
        case timedelta():
            return Period(seconds=found.total_seconds())
        case Mapping() if found and set(found) <= set(_FIELDS):
            return _crontab(found)
    if all(hasattr(found, f"_orig_{name}") for name in _FIELDS):
        return _crontab({name: getattr(found, f"_orig_{name}") for name in _FIELDS})
    run_every = getattr(found, "run_every", None)
    if isinstance(run_every, timedelta):
        is_relative = bool(getattr(found, "relative", False))
        return Period(seconds=run_every.total_seconds(), is_relative=is_relative)
    return Strange(text=type(found).__name__ if not isinstance(found, str) else repr(found))


def _crontab(given: Mapping[str, Any]) -> Crontab | Strange:
    fields = {}
    for name in _FIELDS:
        value = given.get(name, "*")
        if isinstance(value, str | int) and not isinstance(value, bool):
            fields[name] = str(value)
        elif isinstance(value, list | tuple | set | frozenset):
            fields[name] = ",".join(map(str, sorted(value) if isinstance(value, set) else value))
        else:
            return Strange(text=f"crontab with {name}={value!r}")
    return Crontab(fields=fields)


def _from_source(path: str) -> BeatFile:
    try:
        tree = ast.parse(read_text("FILE", path), path)
    except (SyntaxError, ValueError) as trouble:
        raise BadUsage(f"{path} is no Python: {trouble}") from None
    found: ast.expr | None = None
    zone: str | None = None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        names = {_last_name(target) for target in node.targets}
        if names & set(_SCHEDULES):
            found = node.value
        elif names & set(_ZONES) and isinstance(node.value, ast.Constant):
            zone = str(node.value.value)
    if not isinstance(found, ast.Dict):
        raise BadUsage(f"{path} holds no dictionary named {' or '.join(_SCHEDULES)}")
    entries, problems = _literals(found)
    return BeatFile(entries=entries, zone=zone, problems=problems, moved=_moved(tree))


def _moved(tree: ast.Module) -> Moved | None:
    """What the file says of the bridge, if it makes one."""
    nodes = list(ast.walk(tree))
    imports = [found for node in nodes for found in _imports(node)]
    spellings = _spellings(imports)
    calls = [
        node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) in spellings
    ]
    # A module that only takes something else from there has its bridge made elsewhere.
    if not calls and not any(f"{full}.".startswith(f"{_BRIDGE}.") for _, full in imports):
        return None
    queues: frozenset[str] | None = None
    for call in calls:
        named = next((word.value for word in call.keywords if word.arg == "queues"), None)
        queues = None if named is None else _names(named)
    return Moved(queues=queues, default_queue=_default_queue(nodes))


def _default_queue(nodes: list[ast.AST]) -> str:
    found = CELERYS_QUEUE
    for node in nodes:
        if isinstance(node, ast.Assign):
            names = {_last_name(target) for target in node.targets}
        elif isinstance(node, ast.keyword):
            names = {node.arg or ""}
        else:
            continue
        if names & set(_DEFAULT_QUEUES) and isinstance(node.value, ast.Constant):
            found = str(node.value.value)
    return found


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """How the file spells what an import gives it, and its full name."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name, alias.name
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        for alias in node.names:
            # Of all that a star gives, only the bridge is looked for.
            name = "bridge" if alias.name == "*" else alias.name
            yield alias.asname or name, f"{node.module}.{name}"


def _spellings(imports: list[tuple[str, str]]) -> set[str]:
    """The ways in which the file may call `bridge`: by itself, or through a module above it."""
    bridge = f"{_BRIDGE}.bridge"
    return {
        spelling + bridge.removeprefix(full)
        for spelling, full in imports
        if f"{bridge}.".startswith(f"{full}.")
    }


def _names(node: ast.expr) -> frozenset[str] | None:
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return None if found is None else frozenset(map(str, found))


def _literals(found: ast.Dict) -> tuple[dict[str, Any], dict[str, str]]:
    entries: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for key, value in zip(found.keys, found.values, strict=True):
        name = str(key.value) if isinstance(key, ast.Constant) else ast.unparse(key or value)
        try:
            entries[name] = _entry(_literal(value))
        except ValueError as trouble:
            problems[name] = str(trouble)
    return entries, problems


def _literal(node: ast.expr) -> Any:
    """The value of a literal; of crontab(…) and its kin, which are built of literals. ValueError
    for anything that would have to be run.
    """
    match node:
        case ast.Dict():
            return {
                _literal(key): _literal(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if key is not None
            }
        case ast.Call():
            return _call(node)
        case _:
            return _plain(node)


def _plain(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _arithmetic(node)


def _call(node: ast.Call) -> Any:
    name = _last_name(node.func)
    given = {word.arg: _literal(word.value) for word in node.keywords if word.arg}
    args = [_literal(arg) for arg in node.args]
    if name == "crontab" and len(args) <= 2:
        # Beyond the hour their order is not the same in all versions of Celery.
        return _crontab({**dict(zip(_FIELDS, args, strict=False)), **given})
    if name == "timedelta":
        return timedelta(*args, **given)
    if name == "schedule":
        period = _schedule(given.get("run_every", args[0] if args else None))
        is_relative = bool(given.get("relative"))
        if isinstance(period, Period):
            return Period(seconds=period.seconds, is_relative=is_relative)
    return Strange(text=ast.unparse(node))


def _arithmetic(node: ast.expr) -> Any:
    """`60 * 60`, which people write for an hour."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, right = _literal(node.left), _literal(node.right)
        if isinstance(left, int | float) and isinstance(right, int | float):
            return left * right
    raise ValueError(f"{ast.unparse(node)} is no literal; import it instead: module:attr")


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
