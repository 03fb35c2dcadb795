"""Step kinds: what depends on a kind is looked up in a table, never compared by name.

The table is model/workflow/step_kinds.py. `kind == "map"` somewhere else is something that nobody
finds who adds a kind; so is a set of their names, or a table of verbs that is not complete. Outside
the rooms of workflows `http`, `python`, `wait` and `noop` are kinds of jobs, and no matter of this.
Statements cannot look anything up: those that name a kind are listed here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from windlass.model.workflow.step_kinds import ENGINE_KINDS, KINDS

TABLE: Final = Path("model/workflow/step_kinds.py")
ROOMS: Final = frozenset(("workflow", "workflows", "executions"))
# In CEL a map is a type and a macro.
OTHER_LANGUAGES: Final = (Path("model/expression"),)
# Words of other things in those rooms: of a step's readiness, and of what one more execution meets.
TWO_MEANINGS: Final = frozenset(("wait", "fail"))
MEND: Final = f"ask KINDS in {TABLE}, or make it a table of verbs with `complete`"

# Statements that name kinds, each of which is about that kind alone.
IN_SQL: Final[dict[str, set[str]]] = {
    "awaited_why": {"approval", "workflow"},
    "checkpoint_listening": {"python"},
    "step_list": {"switch"},
    "step_view_many": {"workflow"},
    "step_waiting_for_signal": {"signal"},
    "untended_find": {"approval", "signal", "workflow"},
}
_KIND_IN_SQL: Final = re.compile(
    r"\bkind\s+(?:=|<>|IN|WHEN|NOT\s+IN|=\s*ANY)\s*\(?((?:\s*,?\s*'\w+')+)"
)


def compared(package: Path) -> Iterator[str]:
    """Comparisons of a kind with a name, as `==`, `in` or a case of `match`."""
    for path, tree in _modules(package):
        for node in ast.walk(tree):
            for subject, part in _comparisons(node):
                if names := sorted(_names(part) & _meant(path, subject)):
                    yield _said(path, part, f"compares a kind with {' '.join(names)}")


def incomplete(package: Path) -> Iterator[str]:
    """Tables and sets of kinds that nothing holds against the kinds there are."""
    for path, tree in _modules(package):
        whole = {id(part) for node in ast.walk(tree) for part in _completed(node)}
        for node in ast.walk(tree):
            names = _all_kinds(node)
            if names & ENGINE_KINDS and id(node) not in whole:
                yield _said(path, node, f"lists the kinds {' '.join(sorted(names))}")


def in_statements(folder: Path) -> dict[str, set[str]]:
    """Statements that compare a kind, and with which names."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob("*.sql")):
        for names in _KIND_IN_SQL.findall(path.read_text()):
            found.setdefault(path.stem, set()).update(re.findall(r"\w+", names))
    return {name: kinds for name, names in found.items() if (kinds := names & KINDS.keys())}


def _modules(package: Path) -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        is_foreign = any(inside.is_relative_to(room) for room in OTHER_LANGUAGES)
        if inside != TABLE and not is_foreign:
            yield inside, ast.parse(path.read_text(), filename=str(path))


def _comparisons(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What is compared, as it is written, and what with."""
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
        subject = " ".join(ast.unparse(part) for part in parts if not _names(part))
        yield from ((subject, part) for part in parts)
    elif isinstance(node, ast.Match):
        subject = ast.unparse(node.subject)
        yield from ((subject, case.pattern) for case in node.cases)


def _meant(path: Path, subject: str) -> frozenset[str]:
    """The names that would be kinds of steps there."""
    is_kind, is_room = "kind" in subject, bool(ROOMS & set(path.parts))
    if is_room:
        return frozenset(KINDS) if is_kind else ENGINE_KINDS - TWO_MEANINGS
    return ENGINE_KINDS if is_kind else frozenset()


def _names(part: ast.AST) -> set[str]:
    """The texts of a literal, a collection of them, or a pattern."""
    match part:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.Tuple(elts=inner) | ast.List(elts=inner) | ast.Set(elts=inner):
            return set().union(*map(_names, inner))
        case ast.Call(args=[inner]):
            return _names(inner) if ast.unparse(part.func) in ("frozenset", "set") else set()
        case ast.MatchValue(value=inner):
            return _names(inner)
        case ast.MatchOr(patterns=patterns):
            return set().union(*map(_names, patterns))
        case _:
            return set()


def _all_kinds(node: ast.AST) -> set[str]:
    """The names in a collection that has nothing else in it."""
    match node:
        case ast.Dict(keys=inner) if len(inner) > 1:
            pass
        case ast.Tuple(elts=inner) | ast.List(elts=inner) if len(inner) > 1:
            pass
        case ast.Set(elts=inner):
            pass
        case _:
            return set()
    texts = set().union(*(_names(part) for part in inner if isinstance(part, ast.Constant)))
    return texts if len(texts) == len(inner) and texts <= KINDS.keys() else set()


def _completed(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "complete":
        yield from node.args


def _said(path: Path, node: ast.AST, what: str) -> str:
    return f"{path}:{getattr(node, 'lineno', '?')}: {what}; {MEND}"
