"""The compiler of CEL: a tree made into Python functions, one a node, called with a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, assert_never

from windlass.model.expression import operators
from windlass.model.expression.functions import FUNCTIONS
from windlass.model.expression.operators import decided, loop
from windlass.model.expression.path import PLAIN, child, known, path_of, shown, walker
from windlass.model.expression.tree import (
    Call,
    Chain,
    Choice,
    Has,
    Index,
    ListOf,
    Literal,
    Loop,
    MapOf,
    Name,
    Node,
    Select,
    Unary,
    weight,
)
from windlass.model.expression.values import Program, Run, Unanswerable, type_of


def program(node: Node) -> Program:
    """The function of a tree. Raises ValueError at a call of what is no function."""
    path = path_of(node)
    if path is not None:
        walk = walker(*path)
        return lambda run: _whole(walk(run.scope))
    match node:
        case Literal(value):
            return lambda run: value
        case Name(_, slot):
            return lambda run: run.bound[slot]
        case Select(of, key):
            return _select(program(of), key, _name_of(of))
        case Index(of, at):
            inside, where, key_of = program(of), _name_of(of), program(at)
            return lambda run: child(inside(run), key_of(run), where)
        case Has(of, key):
            return _has(of, key)
        case Call():
            return _call(node)
        case Loop(kind, of, _, slot, only, body):
            # What one turn costs is told by the size of what is done in it; the turn is one more.
            cost = 1 + weight(body) + (0 if only is None else weight(only))
            check = None if only is None else program(only)
            return loop(kind, program(of), slot, check, program(body), cost)
        case ListOf(items):
            return _list(tuple(map(program, items)))
        case MapOf(pairs):
            return _map(tuple((program(key), program(value)) for key, value in pairs))
        case Unary(sign, of):
            inside = program(of)
            if sign == "-":
                return lambda run: operators.negated(inside(run))
            return lambda run: not operators.truth(inside(run))
        case Chain():
            return _chain(node)
        case Choice(condition, yes, no):
            asked, then, other = program(condition), program(yes), program(no)
            return lambda run: then(run) if operators.truth(asked(run)) else other(run)
        case _:
            assert_never(node)


def _whole(value: Any) -> Any:
    """A mapping that is looked up as it is asked becomes a map when it is wanted whole."""
    if type(value) in PLAIN or not isinstance(value, Mapping):
        return value
    return dict(value)


def _select(inside: Program, key: str | int, where: Callable[[], str]) -> Program:
    def select(run: Run) -> Any:
        holder = inside(run)
        if type(holder) is dict and key in holder:
            value = holder[key]
            return value if type(value) in PLAIN else known(value)
        return child(holder, key, where)

    return select


def _name_of(of: Node) -> Callable[[], str]:
    """How a message calls it."""
    keys: list[str | int] = []
    while isinstance(of, Select):
        keys.append(of.key)
        of = of.of
    root = of.name if isinstance(of, Name) else "it"
    return partial(shown, root, tuple(reversed(keys)))


def _has(of: Node, key: str) -> Program:
    path, where = path_of(of), _name_of(of)
    # Not by way of `program`: a lazy mapping is asked for one key, not made whole.
    walk = None if path is None else walker(*path)
    inside = program(of)

    def has(run: Run) -> bool:
        value = inside(run) if walk is None else walk(run.scope)
        if type(value) is not dict and not isinstance(value, Mapping):
            kind = "null" if value is None else type_of(value)
            raise Unanswerable(f"has() asks a map, and {where()} is {kind}")
        return key in value

    return has


def _call(node: Call) -> Program:
    function = FUNCTIONS.get(node.function)
    if function is None:
        known = " ".join(sorted(FUNCTIONS))
        raise ValueError(f"has no function {node.function!r}; there are: {known}")
    if not (function.is_method if node.of is not None else function.is_global):
        way = f"{node.function}(x)" if function.is_global else f"x.{node.function}()"
        raise ValueError(f"{node.function!r} is called as {way}")
    given = (*(() if node.of is None else (node.of,)), *node.arguments)
    if len(given) not in function.arguments:
        raise ValueError(f"{node.function!r} does not take so many arguments")
    work, cost, steps = function.work, function.cost, tuple(map(program, given))

    def call(run: Run) -> Any:
        run.spend(cost)
        return work(run, *[step(run) for step in steps])

    return call


def _list(items: tuple[Program, ...]) -> Program:
    def made(run: Run) -> list[Any]:
        run.spend(len(items))
        return [item(run) for item in items]

    return made


def _map(pairs: tuple[tuple[Program, Program], ...]) -> Program:
    def made(run: Run) -> dict[Any, Any]:
        run.spend(len(pairs))
        found = {}
        for key_of, value_of in pairs:
            key = key_of(run)
            if type(key) is not str and type(key) is not int:
                raise Unanswerable(f"a map's keys are texts or whole numbers, not {type_of(key)}")
            found[key] = value_of(run)
        return found

    return made


def _chain(node: Chain) -> Program:
    first = program(node.first)
    rest = tuple((sign, program(part)) for sign, part in node.rest)
    if rest[0][0] in ("&&", "||"):
        return decided((first, *(part for _, part in rest)), by=rest[0][0] == "||")
    if len(rest) == 1:
        [(sign, second)] = rest
        work = _SIGNS[sign]
        return lambda run: work(run, first(run), second(run))
    works = tuple((_SIGNS[sign], part) for sign, part in rest)

    def chained(run: Run) -> Any:
        value = first(run)
        for work, part in works:
            value = work(run, value, part(run))
        return value

    return chained


def _before(sign: str) -> Callable[[Run, Any, Any], bool]:
    return lambda run, left, right: operators.is_before(run, sign, left, right)


_SIGNS: Final[dict[str, Callable[[Run, Any, Any], Any]]] = {
    "+": operators.add,
    "-": operators.subtract,
    "*": operators.multiply,
    "/": operators.divide,
    "%": operators.remainder,
    "==": operators.is_same,
    "!=": lambda run, left, right: not operators.is_same(run, left, right),
    "in": operators.is_in,
    **{sign: _before(sign) for sign in ("<", "<=", ">", ">=")},
}
