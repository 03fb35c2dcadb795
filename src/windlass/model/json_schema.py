"""JSON Schema (2020-12), the part that people write: is a value as its schema says?

    value_problems({"total": "5"}, {"type": "object", "properties": {"total": {"type": "number"}}})
    -> [("/total", "must be a number")]

Which keywords there are, and whether a schema uses them rightly, is in `json_schema_check`; a
schema that was not checked may be judged wrongly, but never raises. `$ref` reaches `#/$defs/…` of
its own schema. A value of a template that is known only at the run is `open` and taken as good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from windlass.model.canonical import canonical_json
from windlass.model.pointer import step as pointer_to
from windlass.model.text_pattern import matches, pattern_trouble, repeats_of

Found = list[tuple[str, str]]
Schema = Mapping[str, Any]

PROBLEMS_MAX: Final = 100
# Schemas may refer to themselves in two places at once, which doubles the work at every level.
_WORK_MAX: Final = 2_000_000
_PATTERN_WORK: Final = 50  # for every counted repeat; measured beside a plain visit
_SHOWN_MAX: Final = 10

_WORDS: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class _TooMuch(Exception):
    """The value and its schema together are more work than anybody should wait for."""


def _never(value: object) -> bool:
    return False


def value_problems(
    value: Any, schema: Schema | bool, is_open: Callable[[object], bool] = _never
) -> Found:
    """Everything in which `value` is not as `schema` says, as (pointer, detail)."""
    judge = _Judge(schema, is_open)
    try:
        judge.visit(value, schema, "")
    except (_TooMuch, RecursionError):
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


class _Judge:
    def __init__(
        self,
        root: Schema | bool,
        is_open: Callable[[object], bool],
        work: int = _WORK_MAX,
        problems_max: int = PROBLEMS_MAX,
    ) -> None:
        self.root, self.is_open = root, is_open
        self.work, self.problems_max = work, problems_max
        self.found: Found = []

    @property
    def has_enough(self) -> bool:
        return len(self.found) >= self.problems_max

    def say(self, at: str, detail: str) -> None:
        if not self.has_enough:
            self.found.append((at, detail))

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise _TooMuch

    def visit(self, value: Any, schema: Any, at: str) -> None:
        self.spend(1)
        if self.has_enough:
            return
        if schema is False:
            self.say(at, "must not be here")
        if not isinstance(schema, Mapping):
            return
        if self.is_open(value):
            self._open(value, schema, at)
            return
        if (ref := schema.get("$ref")) is not None:
            self.visit(value, self._resolved(ref), at)
        if (kinds := schema.get("type")) is not None:
            names = kinds if isinstance(kinds, list) else [kinds]
            if not any(is_type(value, name) for name in names):
                self.say(at, f"must be {' or '.join(_WORDS.get(str(n), str(n)) for n in names)}")
                return
        self._choices(value, schema, at)
        match value:
            case dict():
                self._object(value, schema, at)
            case list():
                self._array(value, schema, at)
            case str():
                self._text(value, schema, at)
            case int() | float() if not isinstance(value, bool):
                self._number(value, schema, at)
            case _:
                pass  # of true, false and null there is no more to say

    def _open(self, value: Any, schema: Schema, at: str) -> None:
        """Text around an expression stays text, whatever the expression gives."""
        is_whole = value.startswith("${") and value.endswith("}")
        kinds = schema.get("type")
        names = kinds if isinstance(kinds, list) else [kinds]
        if kinds is not None and not is_whole and "string" not in names:
            self.say(at, f"must be {' or '.join(_WORDS.get(str(n), str(n)) for n in names)}")

    def _resolved(self, ref: object) -> Any:
        self.spend(10)
        found: Any = self.root
        for name in str(ref).removeprefix("#").split("/")[1:]:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def _holds(self, value: Any, schema: Any) -> bool:
        inner = _Judge(self.root, self.is_open, self.work, problems_max=1)
        inner.visit(value, schema, "")
        self.work = inner.work
        return not inner.found

    def _choices(self, value: Any, schema: Schema, at: str) -> None:
        if "const" in schema and not self._is_among(value, [schema["const"]]):
            self.say(at, f"must be {_shown(schema['const'])}")
        enum = schema.get("enum")
        if isinstance(enum, list) and not self._is_among(value, enum):
            more = " …" if len(enum) > _SHOWN_MAX else ""
            self.say(at, f"must be one of: {' '.join(map(_shown, enum[:_SHOWN_MAX]))}{more}")
        for inner in _list(schema.get("allOf")):
            self.visit(value, inner, at)
        for word in ("anyOf", "oneOf"):
            choices = _list(schema.get(word))
            fitting = sum(self._holds(value, inner) for inner in choices)
            if choices and not fitting:
                likely = [inner for inner in choices if inner != {"type": "null"}]
                if len(likely) == 1 and value is not None:
                    self.visit(value, likely[0], at)
                else:
                    self.say(at, f"fits none of the {len(choices)} forms it may have")
            elif word == "oneOf" and fitting > 1 and not self._has_open(value):
                self.say(at, f"fits {fitting} of the forms it may have, and must fit one")
        if "not" in schema and not self._has_open(value) and self._holds(value, schema["not"]):
            self.say(at, "has a form that it must not have")

    def _is_among(self, value: Any, choices: list[Any]) -> bool:
        text = canonical_json(value)
        self.spend(len(choices) + len(text) // 100)
        return any(canonical_json(choice) == text for choice in choices)

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
        for name in _list(schema.get("required")):
            if name not in value:
                self.say(at + pointer_to(str(name)), "is required")
        others = schema.get("additionalProperties", True)
        for name, found in value.items():
            if self.has_enough:
                return
            if name in properties:
                self.visit(found, properties[name], at + pointer_to(name))
            elif others is False:
                known = " ".join(properties) or "none"
                self.say(at + pointer_to(name), f"unknown field; known are {known[:500]}")
            elif others is not True:
                self.visit(found, others, at + pointer_to(name))
        self._size(len(value), schema, at, "Properties", "fields")

    def _array(self, value: list[Any], schema: Schema, at: str) -> None:
        first = _list(schema.get("prefixItems"))
        for place, found in enumerate(value):
            inner = first[place] if place < len(first) else schema.get("items", True)
            if inner is not True:
                self.visit(found, inner, f"{at}/{place}")
        self._size(len(value), schema, at, "Items", "items")
        if schema.get("uniqueItems") is True and not self._has_open(value):
            seen: set[bytes] = set()
            for place, found in enumerate(value):
                text = canonical_json(found)
                if text in seen:
                    self.say(f"{at}/{place}", "stands there twice")
                seen.add(text)

    def _text(self, value: str, schema: Schema, at: str) -> None:
        self._size(len(value), schema, at, "Length", "characters")
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and pattern_trouble(pattern) is None:
            self.spend(_PATTERN_WORK * repeats_of(pattern) + len(value))
            if not matches(pattern, value):
                self.say(at, f"must match {pattern}")

    def _number(self, value: float, schema: Schema, at: str) -> None:
        for word, is_good, said in _BOUNDS:
            bound = schema.get(word)
            if is_type(bound, "number") and not is_good(value, bound):
                self.say(at, f"must be {said} {bound}")
        part: Any = schema.get("multipleOf")
        if is_type(part, "number") and part > 0 and abs(value / part - round(value / part)) > 1e-9:
            self.say(at, f"must be a multiple of {part}")

    def _size(self, size: int, schema: Schema, at: str, word: str, unit: str) -> None:
        least: Any = schema.get(f"min{word}")
        most: Any = schema.get(f"max{word}")
        if is_type(least, "integer") and size < least:
            self.say(at, f"has {size} {unit}; at least {least}")
        if is_type(most, "integer") and size > most:
            self.say(at, f"has {size} {unit}; at most {most}")


_BOUNDS: Final[tuple[tuple[str, Callable[[Any, Any], bool], str], ...]] = (
    ("minimum", lambda value, bound: value >= bound, "at least"),
    ("maximum", lambda value, bound: value <= bound, "at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "more than"),
    ("exclusiveMaximum", lambda value, bound: value < bound, "less than"),
)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shown(value: Any) -> str:
    return canonical_json(value).decode()[:60]
