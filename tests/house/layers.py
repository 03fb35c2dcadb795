"""The map of the house and a reader of imports that finds where code leaves it.

Imports are read with `ast`, wherever they stand: at the top, in a function, under TYPE_CHECKING,
relative, or as the text given to `import_module`. A lazy import is still a dependency.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "windlass"

# Level 0: each may import those that stand before it.
GROUND = (
    "limits",
    "duration",
    "errors",
    "extras",
    "clock",
    "lru",
    "chance",
    "ids",
    "config",
    "supervise",
    "http1",
)
LEVELS: dict[str, int] = {
    **dict.fromkeys(GROUND, 0),
    "model": 1,
    "telemetry": 2,
    **dict.fromkeys(("store", "fastlane", "strategies"), 3),
    "engine": 4,
    **dict.fromkeys(("runtime", "api"), 5),
    "compose": 6,
    "cli": 7,
}
# The rooms beside the stack, the two front doors, and what each may import.
BESIDE: dict[str, frozenset[str]] = {
    "sdk": frozenset({*GROUND, "model"}),
    # It joins the SDK to other people's libraries, and a whole node to their web server.
    "sdk.bridges": frozenset({*GROUND, "model", "sdk", "compose"}),
    "embedded": frozenset(GROUND),
    # Users test their App on a whole node, so it puts one together as the command line does.
    "testing": frozenset({*LEVELS, "embedded", "sdk"}),
    "__init__": frozenset({*GROUND, "model", "sdk"}),
    "__main__": frozenset({"cli"}),
}
# The composition root puts everything together, and the command line has clients of its own: nobody
# else looks sideways.
ABOVE_ALL = frozenset({"compose", "cli"})
BESIDE_ALL = frozenset({"embedded", "sdk"})
# `from windlass import __version__` is the one name of the front door used inside.
FRONT_NAMES = frozenset({"__version__"})

# The SDK lives in other people's processes: beside the standard library a parser of HTTP and a
# codec.
SDK_LIBRARIES = frozenset({"httptools", "msgspec"})
BRIDGED_LIBRARIES = SDK_LIBRARIES | {
    *("asgiref", "celery", "django", "django_tasks", "fastapi"),
    *("kombu", "litestar", "opentelemetry", "sqlalchemy", "starlette"),
}
# The model takes time and chance as arguments and never waits.
MODEL_FORBIDDEN = frozenset(
    {"aiohttp", "asyncio", "asyncpg", "random", "redis", "secrets", "socket", "threading", "time"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One dotted name that a line asks for; `name` is what is taken from the module, if known."""

    line: int
    module: str
    name: str | None


def violations(package: Path, standard_library: frozenset[str]) -> list[str]:
    """Every line below `package` that breaks the map, as `file:line: why`."""
    return [
        f"{path.relative_to(package.parent)}:{line}: {why}"
        for path in sorted(package.rglob("*.py"))
        for line, why in _broken(path, package, standard_library)
    ]


def _broken(
    path: Path, package: Path, standard_library: frozenset[str]
) -> Iterator[tuple[int, str]]:
    room = _room_of(path, package)
    if room not in LEVELS and room not in BESIDE:
        yield 1, f"{room} is on no level; give it a level in tests/house/layers.py"
        return
    tree = ast.parse(path.read_text(), filename=str(path))
    for found in _imports(tree, _package_of(path, package)):
        top, _, rest = found.module.partition(".")
        if found.module == PACKAGE and found.name in FRONT_NAMES:
            continue
        if top == PACKAGE:
            target = _target(rest, found.name, package)
            if target is None:
                yield found.line, f"{room} may take only __version__ from the front door"
            elif target != room and not _may_import(room, target):
                yield found.line, f"{room} may not import {target}"
        elif room == "model" and top in MODEL_FORBIDDEN:
            yield found.line, f"model is pure and may not import {top}"
        elif room == "sdk" and top not in SDK_LIBRARIES | standard_library:
            yield found.line, f"sdk may not import {top}"
        elif room == "sdk.bridges" and top not in BRIDGED_LIBRARIES | standard_library:
            yield found.line, f"sdk.bridges may not import {top}"
    if room == "model":
        for node in ast.walk(tree):
            if isinstance(node, ast.AsyncFunctionDef | ast.Await):
                yield node.lineno, "model never waits"


def _may_import(room: str, target: str) -> bool:
    if room in BESIDE:
        return target in BESIDE[room]
    if room == "model" and target in ("clock", "chance"):
        return False
    if target not in LEVELS:
        return room in ABOVE_ALL and target in BESIDE_ALL
    if room in GROUND and target in GROUND:
        return GROUND.index(target) < GROUND.index(room)
    return LEVELS[target] < LEVELS[room]


def _room_of(path: Path, package: Path) -> str:
    """The folder or the file directly below the package; the bridges are a room in a room."""
    parts = path.relative_to(package).parts
    return "sdk.bridges" if parts[:2] == ("sdk", "bridges") else parts[0].removesuffix(".py")


def _package_of(path: Path, package: Path) -> list[str]:
    """The dotted package a file lives in, against which its relative imports are read."""
    return [PACKAGE, *path.relative_to(package).parts[:-1]]


def _target(rest: str, name: str | None, package: Path) -> str | None:
    """The room an import leads to. None: to a name of the front door that is not for inside."""
    if f"{rest}.{name}.".startswith("sdk.bridges."):
        return "sdk.bridges"
    if rest:
        return rest.partition(".")[0]
    if name is not None and ((package / name).is_dir() or (package / f"{name}.py").is_file()):
        return name
    return None


def _imports(tree: ast.Module, inside: list[str]) -> Iterator[Import]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(line=node.lineno, module=alias.name, name=None)
            case ast.ImportFrom(module=module, names=names, level=level):
                start = inside[: len(inside) - level + 1] if level else []
                dotted = ".".join([*start, *([module] if module else [])])
                for alias in names:
                    yield Import(line=node.lineno, module=dotted, name=alias.name)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(dotted)), *_],
            ):
                yield Import(line=node.lineno, module=dotted, name=None)
            case _:
                pass
