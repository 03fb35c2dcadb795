"""Conventions of rooms, and what breaks them: crowded folders, fragments, doubled names, silence.

A folder is a room: so many files fill it. A module of a few lines that only one neighbour uses is a
part of that neighbour. A public class has its name to itself in a layer, so that whoever searches
for it finds it. The contract of a room names its files, so that whoever opens it knows where a line
belongs. In the engine nothing is imported in the middle of a function: where that seems
needed, two files go round in a circle and are one. A part is made whole: what it calls is passed in
and not hung on it later.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

FILES_MAX: Final = 35
FRAGMENT_LINES_MAX: Final = 60

# How callbacks are named.
_CALLBACK: Final = re.compile(r"on_[a-z_]+|may_[a-z_]+|starter")
# Small, with one user beside them, and yet files of their own. Each says why.
STAND_ALONE: Final[dict[str, str]] = {}


def crowded(top: Path) -> Iterator[str]:
    """Folders with more modules than one finds one's way among. `.sql` files are a catalogue."""
    for folder in _folders(top):
        modules = sorted(folder.glob("*.py"))
        if len(modules) > FILES_MAX:
            yield (
                f"{folder.relative_to(top.parent)} holds {len(modules)} files, {FILES_MAX} fill it;"
                " make rooms of those that share a noun or a prefix"
            )


def fragments(package: Path) -> Iterator[str]:
    """Modules of a few lines whose one user stands in the same folder and imports them on top."""
    for path, users in _users(package).items():
        name = str(path.relative_to(package).with_suffix(""))
        lines = len(path.read_text().splitlines())
        if path.stem.startswith("__") or lines > FRAGMENT_LINES_MAX or name in STAND_ALONE:
            continue
        if len(users) == 1 and (user := users.pop()).parent == path.parent:
            yield f"{name}.py: {lines} lines that only {user.name} uses; they belong into it"


def twice(package: Path) -> Iterator[str]:
    """Public classes of one layer that have the same name."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[inside.parts[0], node.name].append(str(inside))
    for (layer, name), paths in found.items():
        if len(paths) > 1:
            yield f"{layer}: {name} stands in {', '.join(paths)}; say in the name what each is"


def unnamed(package: Path) -> Iterator[str]:
    """Files that the contract of their room, the docstring of its `__init__`, does not name."""
    for init in sorted(package.rglob("*/__init__.py")):
        room = init.parent
        contract = ast.get_docstring(_tree(init)) or ""
        words = set(re.findall(r"\w+", contract))
        modules = {path.stem for path in room.glob("*.py")} - {"__init__", "__main__"}
        rooms = {path.parent.name for path in room.glob("*/__init__.py")}
        for name in sorted((modules | rooms) - words):
            yield f"{room.relative_to(package)}: its contract does not say what {name} is for"


def late_imports(room: Path) -> Iterator[str]:
    for path in sorted(room.rglob("*.py")):
        for function in ast.walk(_tree(path)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import | ast.ImportFrom):
                        where = path.relative_to(room.parent)
                        yield f"{where}:{node.lineno}: an import in a function; put it on top"


def hung_on(package: Path) -> Iterator[str]:
    """Callbacks that somebody assigns to a part which stands already. Who wonders what calls it
    would have to search for the assignment: it is passed in as the part is made. Only the
    composition root may, and `model` has values and no parts.
    """
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        if inside.parts[0] in ("compose", "model"):
            continue
        for node in ast.walk(_tree(path)):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and _CALLBACK.fullmatch(node.attr)
                and not (isinstance(node.value, ast.Name) and node.value.id == "self")
            ):
                yield (
                    f"{inside}:{node.lineno}: {ast.unparse(node)} is assigned from outside; pass it"
                    " in where the part is made, and if a lower layer asks a higher one, name it in"
                    " engine/upcalls.py and give it in compose"
                )


def _users(package: Path) -> dict[Path, set[Path]]:
    """Each module with those that import it at their top. One that is also imported elsewhere,
    later, or named in a text, is nobody's part: such users count as many.
    """
    modules = {_dotted(path, package): path for path in sorted(package.rglob("*.py"))}
    users: dict[Path, set[Path]] = {path: set() for path in modules.values()}
    for path in modules.values():
        tree = _tree(path)
        on_top = {id(node) for node in _top(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom | ast.Constant):
                for name in _named(node):
                    if (module := modules.get(name)) is not None and module != path:
                        users[module].add(path if id(node) in on_top else path / "later")
    return users


def _top(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of a module, and those that only a type checker reads."""
    for node in tree.body:
        yield node
        if isinstance(node, ast.If):
            yield from node.body


def _named(node: ast.AST) -> Iterator[str]:
    """Dotted names of modules that may be meant."""
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield module
            yield from (f"{module}.{alias.name}" for alias in names)
        case ast.Constant(value=str(text)):
            yield text.partition(":")[0]
        case _:
            pass


def _dotted(path: Path, package: Path) -> str:
    inside = path.relative_to(package.parent).with_suffix("")
    return ".".join(inside.parts).removesuffix(".__init__")


def _folders(top: Path) -> Iterator[Path]:
    yield top
    yield from sorted(path for path in top.rglob("*") if path.is_dir())


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))
