"""A value that a workflow will have when it runs: while it is traced, the CEL that asks for it.

Operators build longer expressions with as few brackets as CEL allows. What Python must know at
once, such as the truth of a value, is not known yet: then the error says what to write instead.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final, Never, SupportsIndex

from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.literal import literal, marked, quoted

# How tightly the outermost operator of an expression binds.
CHOICE, OR, AND, RELATION, SUM, PRODUCT, UNARY, MEMBER = range(8)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS: Final = frozenset(("true", "false", "null", "in"))
_TAKEN: Final = frozenset(("inputs", "vars", "steps", "execution", "item", "index"))
# Names that the loops around the present one have bound.
_BOUND: Final[ContextVar[frozenset[str]]] = ContextVar("windlass_bound", default=_TAKEN)


class Value:
    """What stands between `${` and `}`."""

    __slots__ = ("cel", "level")
    cel: str
    level: int

    def __init__(self, cel: str, level: int = MEMBER) -> None:
        object.__setattr__(self, "cel", cel)
        object.__setattr__(self, "level", level)

    def __getitem__(self, key: object) -> Value:
        """A field or an element: `order["items"]`, `line[0]`, `prices[name]`."""
        match key:
            case Value():
                return Value(f"{_at(self, MEMBER)}[{key.cel}]")
            case str() if _NAME.fullmatch(key) and key not in _WORDS:
                return Value(f"{_at(self, MEMBER)}.{key}")
            case bool():
                raise CannotTrace(f"{key} is no index; give the name of a field or an index from 0")
            case str() | int() if not isinstance(key, int) or key >= 0:
                return Value(f"{_at(self, MEMBER)}[{literal(key)}]")
            case int():
                said = f"{self.cel}[{key}]: indexes count from 0"
                raise CannotTrace(f"{said}; the last one is x[x.size() - 1]")
            case _:
                raise CannotTrace(f"{self.cel}[{key!r}] cannot be traced; take parts in a task")

    def __lt__(self, other: object) -> Value:
        return binary(self, "<", other, RELATION)

    def __le__(self, other: object) -> Value:
        return binary(self, "<=", other, RELATION)

    def __gt__(self, other: object) -> Value:
        return binary(self, ">", other, RELATION)

    def __ge__(self, other: object) -> Value:
        return binary(self, ">=", other, RELATION)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return binary(self, "==", other, RELATION)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return binary(self, "!=", other, RELATION)

    def __and__(self, other: object) -> Value:
        return binary(self, "&&", other, AND)

    def __rand__(self, other: object) -> Value:
        return binary(other, "&&", self, AND)

    def __or__(self, other: object) -> Value:
        return binary(self, "||", other, OR)

    def __ror__(self, other: object) -> Value:
        return binary(other, "||", self, OR)

    def __invert__(self) -> Value:
        return Value(f"!{_at(self, MEMBER)}", UNARY)

    def __add__(self, other: object) -> Value:
        return binary(self, "+", other, SUM)

    def __radd__(self, other: object) -> Value:
        return binary(other, "+", self, SUM)

    def __sub__(self, other: object) -> Value:
        return binary(self, "-", other, SUM)

    def __rsub__(self, other: object) -> Value:
        return binary(other, "-", self, SUM)

    def __mul__(self, other: object) -> Value:
        return binary(self, "*", other, PRODUCT)

    def __rmul__(self, other: object) -> Value:
        return binary(other, "*", self, PRODUCT)

    def __truediv__(self, other: object) -> Value:
        return binary(_double(self), "/", _double(other), PRODUCT)

    def __rtruediv__(self, other: object) -> Value:
        return binary(_double(other), "/", _double(self), PRODUCT)

    def __neg__(self) -> Value:
        return Value(f"-{_at(self, MEMBER)}", UNARY)

    def size(self) -> Value:
        """How many elements, fields or characters it has."""
        return self._call("size")

    def contains(self, part: object) -> Value:
        """Whether `part` is in it: an element of a list, or the name of a field."""
        return binary(part, "in", self, RELATION)

    def startswith(self, part: object) -> Value:
        """Whether a text begins so."""
        return self._call("startsWith", part)

    def endswith(self, part: object) -> Value:
        """Whether a text ends so."""
        return self._call("endsWith", part)

    def lower(self) -> Value:
        """A text in lower case, as far as it is ASCII."""
        return self._call("lowerAscii")

    def upper(self) -> Value:
        """A text in upper case, as far as it is ASCII."""
        return self._call("upperAscii")

    def map(self, function: Callable[[Value], object]) -> Value:
        """A list of what the function makes of each: `lines.map(lambda line: line[0])`."""
        return self._loop("map", function)

    def filter(self, function: Callable[[Value], object]) -> Value:
        """A list of those for which the function holds."""
        return self._loop("filter", function)

    def all(self, function: Callable[[Value], object]) -> Value:
        """Whether the function holds for every one."""
        return self._loop("all", function)

    def exists(self, function: Callable[[Value], object]) -> Value:
        """Whether the function holds for one of them at least."""
        return self._loop("exists", function)

    def _call(self, name: str, *arguments: object) -> Value:
        given = ", ".join(value_of(one).cel for one in arguments)
        return Value(f"{_at(self, MEMBER)}.{name}({given})")

    def _loop(self, kind: str, function: Callable[[Value], object]) -> Value:
        bound = _BOUND.get()
        try:
            [name] = inspect.signature(function).parameters
        except ValueError:
            raise CannotTrace(f"{kind} takes a function of one argument") from None
        while name in bound:
            name += "_"
        token = _BOUND.set(bound | {name})
        try:
            made = value_of(function(Value(name)))
        finally:
            _BOUND.reset(token)
        return Value(f"{_at(self, MEMBER)}.{kind}({name}, {made.cel})")

    def __str__(self) -> str:
        return marked(self.cel)

    def __format__(self, spec: str) -> str:
        if spec:
            raise CannotTrace(
                f"{{…:{spec}}} formats a value that is not there yet; format it in a task"
            )
        return marked(self.cel)

    def __repr__(self) -> str:
        return f"<{self.cel}>"

    def __bool__(self) -> Never:
        raise CannotTrace(
            f"whether {self.cel} holds is known only when the workflow runs; write "
            "`with windlass.when(…):` for `if`, windlass.flow.choose(…) for `a if … else b`, "
            "and & | ~ with brackets for `and`, `or`, `not` and `1 < x < 3`"
        )

    def __iter__(self) -> Never:
        raise CannotTrace(
            f"what {self.cel} holds is known only when the workflow runs; write task.map(…) to do "
            "something with each of it, .map(lambda x: …) to make another list, or x[0] for a part"
        )

    def __len__(self) -> Never:
        raise CannotTrace(f"the length of {self.cel} is known only at run time; write .size()")

    def __contains__(self, part: object) -> Never:
        raise CannotTrace(f"write x.contains({part!r}) instead of `{part!r} in x`")

    def __hash__(self) -> int:
        raise CannotTrace(
            f"{self.cel} cannot be the key of a dict or a member of a set: it is not there yet"
        )

    def __getattr__(self, name: str) -> Never:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotTrace(f"{self.cel} has no .{name}; a field is written [{name!r}]")

    def __setattr__(self, name: str, value: object) -> None:
        raise CannotTrace(f"{self.cel} is not there yet and cannot be changed; do that in a task")

    def __setitem__(self, key: object, value: object) -> None:
        raise CannotTrace(f"{self.cel} is not there yet and cannot be changed; do that in a task")

    def __call__(self, *_args: object, **_kwargs: object) -> Never:
        raise CannotTrace(f"{self.cel} is a value and cannot be called; make it a task and .step")

    def __int__(self) -> int:
        raise self._number("int(…)")

    def __float__(self) -> float:
        raise self._number("float(…)")

    def __index__(self) -> int:
        raise self._number("an index or range(…)")

    def __round__(self, digits: SupportsIndex = 0) -> Never:
        raise self._number("round(…)")

    def __abs__(self) -> Never:
        raise self._number("abs(…)")

    def __mod__(self, other: object) -> Never:
        raise self._number("%")

    def __floordiv__(self, other: object) -> Never:
        raise self._number("//")

    def _number(self, what: str) -> CannotTrace:
        return CannotTrace(
            f"{what} needs {self.cel} now, and it is there only when the workflow runs; do it in a "
            "task, or say it in CEL with windlass.flow.cel(…)"
        )


def value_of(given: object) -> Value:
    """A constant, a step's output or a value, as a value."""
    if isinstance(given, Value):
        return given
    out = getattr(given, "out", None)
    if isinstance(out, Value):
        return out
    match given:
        case list() | tuple():
            return Value(f"[{', '.join(value_of(one).cel for one in given)}]")
        case dict():
            pairs = (f"{quoted(str(name))}: {value_of(one).cel}" for name, one in given.items())
            return Value(f"{{{', '.join(pairs)}}}")
        case None | str() | int() | float():
            made = literal(given)
            return Value(made, UNARY if made.startswith("-") else MEMBER)
        case _:
            raise CannotTrace(f"{given!r} cannot stand in an expression; give JSON")


def binary(left: object, sign: str, right: object, level: int) -> Value:
    """Both sides with brackets only where they are needed: all of these group from the left."""
    first, second = value_of(left), value_of(right)
    is_relation = level == RELATION
    return Value(f"{_at(first, level + is_relation)} {sign} {_at(second, level + 1)}", level)


def _at(value: Value, level: int) -> str:
    return value.cel if value.level >= level else f"({value.cel})"


def _double(given: object) -> Value:
    if isinstance(given, float):
        return value_of(given)
    if isinstance(given, int):
        return value_of(float(given))
    return Value(f"double({value_of(given).cel})")
