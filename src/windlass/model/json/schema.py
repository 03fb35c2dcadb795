"""JSON Schema (2020-12), the part that people write: is a value as its schema says?

    value_problems({"total": "5"}, {"type": "object", "properties": {"total": {"type": "number"}}})
    -> [("/total", "must be a number")]

Which keywords there are, and whether a schema uses them rightly, is in `schema_check`; a
schema that was not checked may be judged wrongly, but never raises. `$ref` reaches `#/$defs/…` of
its own schema. A value of a template that is known only at the run is `open` and taken as good.

Whoever sends the value may have written the schema too, so work is counted while it is done: a unit
is a visit of a value, some tens of characters written to be compared, a name looked for, or some
elements passed over. The tests measure every keyword beside the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, Final

import msgspec

from windlass.limits import SCHEMA_WORK_MAX
from windlass.model.expression.pattern import Match, compiled, cost_of, states_of
from windlass.model.json.canonical import canonical_json
from windlass.model.json.pointer import step as pointer_to

# Problems, as (pointer, detail).
Found = list[tuple[str, str]]
Schema = Mapping[str, Any]

PROBLEMS_MAX: Final = 100
_MULTIPLE_COSTS: Final = 4
# Elements and fields that need no visit, for a unit.
_PASSED_OVER: Final = 8
# Compiling a pattern, for each unit of its cost; see model.expression.pattern.
_PATTERN_COSTS: Final = 10
# States that one character can lead a pattern through, for a unit.
_STATES: Final = 150
_SHOWN_MAX: Final = 10
_NAMED_CHARS: Final = 500

_WORDS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class TooMuchToCheck(Exception):
    """The value and its schema together are more work than was allowed: schemas may refer to
    themselves twice, which doubles the work at every level.
    """


class Allowance:
    """Work that may be done, for several values together. A judgement that it is too little for is
    none: TooMuchToCheck is raised, and somebody else asks again where there is time.
    """

    __slots__ = ("left",)

    def __init__(self, work_max: int) -> None:
        self.left = work_max


def _never(value: object) -> bool:
    return False


def value_problems(
    value: Any,
    schema: Schema | bool,
    is_open: Callable[[object], bool] = _never,
    *,
    work_max: int = SCHEMA_WORK_MAX,
    allowance: Allowance | None = None,
) -> Found:
    """Everything in which `value` is not as `schema` says, as (pointer, detail)."""
    judge = _Judge(schema, is_open, work_max if allowance is None else allowance.left)
    try:
        judge.visit(value, schema, "")
        if allowance is not None:
            allowance.left = judge.work
    except (TooMuchToCheck, RecursionError) as trouble:
        if allowance is not None and isinstance(trouble, TooMuchToCheck):
            allowance.left = 0
            raise
        return [("", "is too much to be checked against its schema; send less of it")]
    return judge.found


def with_defaults(value: Any, schema: Schema | None) -> Any:
    """The value with the `default` of every property that it leaves out, at the top level."""
    properties = schema.get("properties") if schema is not None else None
    if not isinstance(value, dict) or not isinstance(properties, Mapping):
        return value
    missing = {
        name: inner["default"]
        for name, inner in properties.items()
        if name not in value and isinstance(inner, Mapping) and "default" in inner
    }
    return {**value, **missing} if missing else value


def is_type(value: Any, name: object) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "null":
            return value is None
        case _:
            return True


class _Node:
    """What is asked of a schema at every visit, looked up once."""

    __slots__ = ("has_bounds", "has_choices", "names", "ref")

    def __init__(self, schema: Schema) -> None:
        kinds = schema.get("type")
        self.ref = schema.get("$ref")
        self.names: list[Any] | None = (
            None if kinds is None else kinds if isinstance(kinds, list) else [kinds]
        )
        self.has_choices = not _CHOOSING.isdisjoint(schema)
        self.has_bounds = not _BOUNDING.isdisjoint(schema)


class _Judge:
    def __init__(
        self,
        root: Schema | bool,
        is_open: Callable[[object], bool],
        work: int,
        problems_max: int = PROBLEMS_MAX,
    ) -> None:
        self.root, self.is_open = root, is_open
        self.work, self.problems_max = work, problems_max
        self.found: Found = []
        self._written: dict[int, frozenset[bytes]] = {}  # choices, by the id of what they are of
        # Those that were charged, each with its states.
        self._patterns: dict[str, tuple[Match | None, int]] = {}
        self._nodes: dict[int, _Node] = {}  # by the id of their schema
        self._said: dict[int, str] = {}  # by the id of what it is said of

    @property
    def has_enough(self) -> bool:
        return len(self.found) >= self.problems_max

    def say(self, at: str, detail: str | Callable[[], str]) -> None:
        """A detail that takes work to write is written only if somebody will read it."""
        if not self.has_enough:
            if not isinstance(detail, str):
                detail = detail() if self.problems_max > 1 else ""
            self.found.append((at, detail))

    def _once(self, of: Any, write: Callable[[Any], str]) -> str:
        """What is said of a part of the schema, however often: it may be long to write."""
        said = self._said.get(id(of))
        if said is None:
            said = self._said[id(of)] = write(of)
        return said

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise TooMuchToCheck

    def visit(self, value: Any, schema: Any, at: str) -> None:
        self.spend(1 + len(at) // 64)
        if self.has_enough:
            return
        if type(schema) is not dict and not isinstance(schema, Mapping):
            if schema is False:
                self.say(at, "must not be here")
            return
        if self.is_open(value):
            self._open(value, schema, at)
            return
        node = self._nodes.get(id(schema))
        if node is None:
            node = self._nodes[id(schema)] = _Node(schema)
        if node.ref is not None:
            self.visit(value, self._resolved(node.ref), at)
        if node.names is not None:
            self.spend(len(node.names) // 4)
            if not any(is_type(value, name) for name in node.names):
                said = " or ".join(_WORDS.get(str(n), str(n)) for n in node.names[:_SHOWN_MAX])
                self.say(at, f"must be {said}")
                return
        if node.has_choices:
            self._choices(value, schema, at)
        kind = type(value)
        if kind is dict:
            self._object(value, schema, at)
        elif kind is list:
            self._array(value, schema, at)
        elif kind is str:
            self._text(value, schema, at)
        elif (kind is int or kind is float) and node.has_bounds:
            self._number(value, schema, at)

    def _open(self, value: Any, schema: Schema, at: str) -> None:
        """Text around an expression stays text, whatever the expression gives."""
        is_whole = value.startswith("${") and value.endswith("}")
        kinds = schema.get("type")
        names = kinds if isinstance(kinds, list) else [kinds]
        if kinds is not None and not is_whole and "string" not in names:
            self.say(at, f"must be {' or '.join(_WORDS.get(str(n), str(n)) for n in names)}")

    def _resolved(self, ref: object) -> Any:
        self.spend(2 + len(str(ref)) // 8)
        found: Any = self.root
        for name in str(ref).removeprefix("#").split("/")[1:]:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _holds(self, value: Any, schema: Any) -> bool:
        self.spend(1)
        inner = _Judge(self.root, self.is_open, self.work, problems_max=1)
        inner._written, inner._patterns = self._written, self._patterns
        inner._nodes = self._nodes
        inner.visit(value, schema, "")
        self.work = inner.work
        return not inner.found

    def _choices(self, value: Any, schema: Schema, at: str) -> None:
        if "const" in schema and not self._is_among(value, [schema["const"]], schema):
            self.say(at, lambda: self._once(schema, _other_than_const))
        enum = schema.get("enum")
        if isinstance(enum, list) and not self._is_among(value, enum, enum):
            self.say(at, lambda: self._once(enum, _none_of))
        for inner in _list(schema.get("allOf")):
            self.visit(value, inner, at)
        for word in ("anyOf", "oneOf"):
            choices = _list(schema.get(word))
            fitting = sum(self._holds(value, inner) for inner in choices)
            if choices and not fitting:
                self.spend(len(choices))
                likely = [inner for inner in choices if inner != {"type": "null"}]
                if len(likely) == 1 and value is not None:
                    self.visit(value, likely[0], at)
                else:
                    self.say(at, f"fits none of the {len(choices)} forms it may have")
            elif word == "oneOf" and fitting > 1 and not self._has_open(value):
                self.say(at, f"fits {fitting} of the forms it may have, and must fit one")
        if "not" in schema and not self._has_open(value) and self._holds(value, schema["not"]):
            self.say(at, "has a form that it must not have")

    def _is_among(self, value: Any, choices: list[Any], of: object) -> bool:
        """`of` is the part of the schema that they are of: they are written once for it."""
        written = self._written.get(id(of))
        if written is None:
            written = frozenset(map(self._canonical, choices))
            self._written[id(of)] = written
        if isinstance(value, dict | list) and not any(text[:1] in b"{[" for text in written):
            self.spend(len(written))
            return False
        return self._canonical(value) in written

    def _canonical(self, value: Any) -> bytes:
        if isinstance(value, dict | list):
            # Known before names are sorted and numbers looked at, which takes longer.
            self.spend(len(msgspec.json.encode(value)) // 8)
            return canonical_json(value)
        text = canonical_json(value)
        self.spend(1 + len(text) // 8)
        return text

    def _has_open(self, value: Any) -> bool:
        rest = [value]
        while rest:
            found = rest.pop()
            self.spend(1)
            if self.is_open(found):
                return True
            if isinstance(found, dict | list):
                rest += found.values() if isinstance(found, dict) else found
        return False

    def _object(self, value: dict[str, Any], schema: Schema, at: str) -> None:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = _list(schema.get("required"))
        self.spend(len(required) // 4)
        for name in required:
            if name not in value:
                self.say(at + pointer_to(str(name)), "is required")
        others = schema.get("additionalProperties", True)
        looked_at = value if properties or others is not True else {}
        self.spend(len(looked_at) // _PASSED_OVER)
        for name, found in looked_at.items():
            if self.has_enough:
                return
            if name in properties:
                self.visit(found, properties[name], at + pointer_to(name))
            elif others is False:
                self.say(at + pointer_to(name), lambda: self._once(properties, _unknown))
            elif others is not True:
                self.visit(found, others, at + pointer_to(name))
        self._size(len(value), schema, at, _OF_OBJECT)

    def _array(self, value: list[Any], schema: Schema, at: str) -> None:
        first, items = _list(schema.get("prefixItems")), schema.get("items", True)
        looked_at = len(value) if items is not True else min(len(first), len(value))
        self.spend(looked_at // _PASSED_OVER)
        for place, found in enumerate(islice(value, looked_at)):
            inner = first[place] if place < len(first) else items
            if inner is not True:
                self.visit(found, inner, f"{at}/{place}")
        self._size(len(value), schema, at, _OF_ARRAY)
        if schema.get("uniqueItems") is True and not self._has_open(value):
            seen: set[bytes] = set()
            for place, found in enumerate(value):
                text = self._canonical(found)
                if text in seen:
                    self.say(f"{at}/{place}", "stands there twice")
                seen.add(text)

    def _text(self, value: str, schema: Schema, at: str) -> None:
        self._size(len(value), schema, at, _OF_TEXT)
        pattern = schema.get("pattern")
        if not isinstance(pattern, str):
            return
        if pattern not in self._patterns:
            self.spend(_PATTERN_COSTS * cost_of(pattern) + states_of(pattern) // 2)
            self._patterns[pattern] = compiled(pattern), states_of(pattern)
        is_match, states = self._patterns[pattern]
        # A character takes half a microsecond, and more where it may be in very many states.
        self.spend(1 + len(value) // 2 + len(value) * (states // _STATES))
        if is_match is not None and not is_match(value):
            self.say(at, f"must match {pattern}")

    def _number(self, value: float, schema: Schema, at: str) -> None:
        for word, is_good, said in _BOUNDS:
            bound = schema.get(word)
            if is_type(bound, "number") and not is_good(value, bound):
                self.say(at, partial("must be {} {}".format, said, bound))
        part: Any = schema.get("multipleOf")
        if is_type(part, "number") and part > 0:
            self.spend(_MULTIPLE_COSTS + _length(value) + _length(part))
            if not is_multiple(value, part):
                self.say(at, partial("must be a multiple of {}".format, part))

    def _size(self, size: int, schema: Schema, at: str, of: tuple[str, str, str]) -> None:
        least_word, most_word, unit = of
        least: Any = schema.get(least_word)
        most: Any = schema.get(most_word)
        if least is not None and is_type(least, "integer") and size < least:
            self.say(at, f"has {size} {unit}; at least {least}")
        if most is not None and is_type(most, "integer") and size > most:
            self.say(at, f"has {size} {unit}; at most {most}")


_OF_TEXT: Final = ("minLength", "maxLength", "characters")
_OF_OBJECT: Final = ("minProperties", "maxProperties", "fields")
_OF_ARRAY: Final = ("minItems", "maxItems", "items")
_CHOOSING: Final = frozenset(("const", "enum", "allOf", "anyOf", "oneOf", "not"))
_BOUNDING: Final = frozenset(
    ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
)
_BOUNDS: Final[tuple[tuple[str, Callable[[Any, Any], bool], str], ...]] = (
    ("minimum", lambda value, bound: value >= bound, "at least"),
    ("maximum", lambda value, bound: value <= bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value < bound, "less than"),
)


def is_multiple(value: float, part: float) -> bool:
    """Exactly, of the numbers as they are written: 0.3 is a multiple of 0.1."""
    if isinstance(value, int) and isinstance(part, int):
        return value % part == 0
    try:
        return (Fraction(repr(value)) / Fraction(repr(part))).denominator == 1
    except ValueError:  # no number that JSON has
        return False


def _length(number: float) -> int:
    """What its digits add to reckoning with it: a whole number may have thousands, and others are
    reckoned with as whole ones of hundreds.
    """
    if isinstance(number, int):
        return number.bit_length() // 32
    return 0 if not number or 1e-30 < abs(number) < 1e30 else 48


def _unknown(properties: Mapping[str, Any]) -> str:
    # No more of them than are shown: there may be very many.
    known = " ".join(name[:_NAMED_CHARS] for name in islice(properties, _NAMED_CHARS)) or "none"
    return f"unknown field; known are {known[:_NAMED_CHARS]}"


def _other_than_const(schema: Schema) -> str:
    return f"must be {_shown(schema['const'])}"


def _none_of(enum: list[Any]) -> str:
    more = " …" if len(enum) > _SHOWN_MAX else ""
    return f"must be one of: {' '.join(map(_shown, enum[:_SHOWN_MAX]))}{more}"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shown(value: Any) -> str:
    return canonical_json(value).decode()[:60]
