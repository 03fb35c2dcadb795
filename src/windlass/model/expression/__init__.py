"""Expressions of a workflow, in CEL (Common Expression Language): conditions and templates.

The language is evaluated here rather than by a library: the common one cannot be interrupted,
copies its whole result with every element that `map` or `filter` adds, and forgets the order of
fields. Here work is counted as it is done, and a plain path costs a microsecond. The tests ask the
library for a second opinion.

Owns: the grammar, types, operators and functions of CEL as far as it is spoken here, `${ }` in
JSON, and patterns (regular expressions) that strangers wrote.
Promises: no expression takes longer than its allowance of work, whatever it is given; what has no
answer says why (`Unanswerable`), and what is too much work says so (`Spent`).
Never: has an effect, reads a clock, or sees more than its scope.

    source -> tokens -> parse -> tree -> compile -> Program, called with a Run -> result (JSON)

Doors:

    here        `compile_expression` -> `Expression.evaluate(scope, run)`
    template    `compile_template` -> `Template.fill`: JSON with `${ }` in its texts
    evaluation  questions that another process answers, where an evaluation takes a while
    pattern     regular expressions in linear time, for JSON Schema

Behind them: `operators` and `functions` of the language, `times` (timestamps, durations), `path`
(plain paths, only walked), `values` (types, and the allowance of a run), `template_text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from windlass.limits import EXPRESSION_CHARS_MAX, EXPRESSIONS_KEPT_MAX
from windlass.model.expression.compile import program
from windlass.model.expression.parse import parse
from windlass.model.expression.path import PLAIN, path_of, walker
from windlass.model.expression.result import plain_json
from windlass.model.expression.tree import Has, Loop, Node, Select, parts_of, weight
from windlass.model.expression.values import BY_NAME, Run, Spent, Unanswerable

__all__ = ["KEPT", "Expression", "Run", "Spent", "Unanswerable", "compile_expression"]


class Expression:
    """A compiled expression.

    `names` are what it asks of its scope, `steps` the ids in `steps.x`, `paths` every plain path in
    it that begins in the scope, keys as they stand.
    """

    __slots__ = ("_cost", "_step", "_walk", "is_plain", "names", "paths", "source", "steps")

    def __init__(self, source: str) -> None:
        """Raises ValueError that says what is wrong with `source`."""
        tree = _tree(source)
        self.source = source
        self.paths = frozenset(_paths(tree))
        self.names = frozenset(str(path[0]) for path in self.paths)
        self.steps = frozenset(_steps(self.paths))
        path = path_of(tree)
        self._walk = None if path is None else walker(*path)
        self.is_plain = path is not None  # a path, which is only walked
        self._step = program(tree)
        self._cost = weight(tree)  # loops apart

    def evaluate(self, scope: Mapping[str, Any], run: Run | None = None) -> Any:
        """Its value, as JSON has it. Raises Unanswerable.

        Several expressions may share a run of the same scope, and with it the allowance of work.
        """
        if self._walk is not None:
            value = self._walk(scope)
            # What stands in a scope is JSON already, but for a few types at its top.
            if type(value) in PLAIN:
                return value
        run = run or Run(scope)
        run.spend(self._cost)
        try:
            return plain_json(run, self._step(run))
        except RecursionError:
            raise Unanswerable("it is nested too deep") from None


# By their length: a bound of number alone bounds nothing, as a long one takes what a hundred short
# ones do.
KEPT: Final = [(chars, lru_cache(maxsize=most)(Expression)) for chars, most in EXPRESSIONS_KEPT_MAX]


def compile_expression(source: str) -> Expression:
    """The compiled expression, or ValueError that says what is wrong with it."""
    for chars, compiled in KEPT:
        if len(source) <= chars:
            return compiled(source)
    return Expression(source)  # which refuses what is longer


def _tree(source: str) -> Node:
    if not 1 <= len(source) <= EXPRESSION_CHARS_MAX:
        raise ValueError(f"must be a CEL expression of 1 to {EXPRESSION_CHARS_MAX} characters")
    try:
        source.encode()
        return parse(source)
    except UnicodeEncodeError:
        raise ValueError("is not CEL: it holds half of a surrogate pair") from None
    except ValueError as trouble:
        raise ValueError(f"is not CEL: {trouble}") from None


def _paths(node: Node) -> set[tuple[str | int, ...]]:
    """The longest paths; of `has(a.b)` also what it asks for."""
    if isinstance(node, Has):
        node = Select(node.of, node.key)
    path = path_of(node)
    if path is not None:
        root, keys = path
        # `int` in `type(x) == int` is nobody's value.
        return set() if root in BY_NAME and not keys else {(root, *keys)}
    if isinstance(node, Loop) and node.name == "steps":
        raise ValueError("'steps' are those of the workflow; give the loop another name")
    found: set[tuple[str | int, ...]] = set()
    for part in parts_of(node):
        found |= _paths(part)
    return found


def _steps(paths: frozenset[tuple[str | int, ...]]) -> set[str]:
    found: set[str] = set()
    for root, *keys in paths:
        if root == "steps":
            if not keys or not isinstance(keys[0], str):
                raise ValueError("must name the step that it asks: steps.charge.output")
            found.add(keys[0])
    return found
