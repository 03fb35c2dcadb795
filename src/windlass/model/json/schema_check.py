"""Is a JSON Schema one that can be used? Every mistake with its pointer.

A keyword that would be passed over in silence is refused: whoever writes `minimun` or
`patternProperties` believes that it does something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from windlass.limits import PATTERN_CHARS_MAX
from windlass.model.expression.pattern import cost_of, pattern_trouble
from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema import PROBLEMS_MAX, Found, is_type
from windlass.model.json.value_schema import OPEN_SCHEMA
from windlass.model.workflow.fields import unknown

TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
# Said about a value, and changing nothing.
_NOTES: Final = frozenset(
    (
        *("title", "description", "default", "examples", "format", "deprecated", "readOnly"),
        *("writeOnly", "$schema", "$id", "$comment", "contentMediaType", "contentEncoding"),
        *("discriminator", "const"),
    )
)
_LISTS_OF_SCHEMAS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS_OF_SCHEMAS: Final = ("properties", "$defs", "definitions")
_SCHEMAS: Final = ("items", "additionalProperties", "not")
_COUNTS: Final = (
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
)
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def schema_mistakes(schema: Any) -> Found:
    """What is wrong with it, as (pointer, detail). Its depth must be bounded."""
    found: Found = []
    rest: list[tuple[str, Any]] = [("", schema)]
    while rest and len(found) < PROBLEMS_MAX:
        at, inner = rest.pop()
        if isinstance(inner, bool):
            continue
        if not isinstance(inner, dict):
            found.append((at, 'must be a JSON Schema such as {"type": "string"}'))
            continue
        for name, value in inner.items():
            if name in _NOTES or name.startswith("x-"):
                continue
            check = _CHECKS.get(name)
            pointer = at + pointer_to(name)
            if check is None and len(found) < PROBLEMS_MAX:
                found.append((pointer, unknown(name, _KNOWN)))
            elif check is None:
                break
            elif said := check(value):
                found.append((pointer, said))
            else:
                rest += [(pointer + below, part) for below, part in _below(name, value)]
    return found or _lost_references(schema)


def has_patterns(document: Any) -> bool:
    return next(_patterns(document), None) is not None


def patterns_cost(document: Any) -> int:
    """About what it takes to compile all patterns that stand anywhere in a document."""
    return sum(map(cost_of, set(_patterns(document))))


def _patterns(document: Any) -> Iterator[str]:
    rest = [document]
    while rest:
        found = rest.pop()
        if isinstance(found, dict):
            rest += found.values()
            if isinstance(pattern := found.get("pattern"), str):
                yield pattern
        elif isinstance(found, list):
            rest += found


def _below(name: str, value: Any) -> list[tuple[str, Any]]:
    """The schemas inside a keyword."""
    if name in _SCHEMAS:
        return [("", value)]
    if name in _LISTS_OF_SCHEMAS:
        return [(f"/{place}", part) for place, part in enumerate(value)]
    if name in _MAPS_OF_SCHEMAS:
        return [(pointer_to(key), part) for key, part in value.items()]
    return []


def _lost_references(schema: Any) -> Found:
    """A $ref leads to a schema of the same document, and not back to itself."""
    found: Found = []
    known: dict[str, bool] = {}
    rest: list[tuple[str, Any]] = [("", schema)]
    while rest:
        at, inner = rest.pop()
        if not isinstance(inner, dict):
            continue
        if "$ref" in inner and not _leads_somewhere(schema, inner["$ref"], known):
            found.append((f"{at}/$ref", "leads to no schema; it looks like #/$defs/name"))
        for name, value in inner.items():
            rest += [(at + pointer_to(name) + below, part) for below, part in _below(name, value)]
    return found


def _leads_somewhere(root: Any, ref: Any, known: dict[str, bool]) -> bool:
    """`known` tells of references that were followed before: in a row of thousands each is once.
    What lies where no schema is looked for (`default`) may hold anything where a $ref would be.
    """
    followed: list[str] = []
    is_good: bool | None = None  # None: not known yet
    while is_good is None:
        if not isinstance(ref, str) or ref in known:
            is_good = isinstance(ref, str) and known[ref]
            break
        known[ref] = False  # so that it does not lead back to itself
        followed.append(ref)
        schema = root
        for name in ref.removeprefix("#").split("/")[1:]:
            schema = schema.get(name) if isinstance(schema, dict) else None
        if isinstance(schema, dict) and "$ref" in schema:
            ref = schema["$ref"]
        else:
            is_good = isinstance(schema, dict | bool)
    known.update(dict.fromkeys(followed, is_good))
    return is_good


def _type(value: Any) -> str | None:
    names = value if isinstance(value, list) else [value]
    good = bool(names) and all(isinstance(name, str) and name in TYPES for name in names)
    return None if good else f"must be one of: {' '.join(TYPES)}, or a list of them"


def _enum(value: Any) -> str | None:
    return None if isinstance(value, list) and value else "must be a list of values"


def _required(value: Any) -> str | None:
    good = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return None if good else "must be a list of names of properties"


def _schemas(value: Any) -> str | None:
    return None if isinstance(value, list) and value else "must be a list of schemas"


def _map(value: Any) -> str | None:
    return None if isinstance(value, dict) else "must be an object of schemas"


def _fine(value: Any) -> str | None:
    return None


def _count(value: Any) -> str | None:
    return None if is_type(value, "integer") and value >= 0 else "must be a whole number from 0"


def _number(value: Any) -> str | None:
    return None if is_type(value, "number") else "must be a number"


def _multiple(value: Any) -> str | None:
    return None if is_type(value, "number") and value > 0 else "must be a number above 0"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _ref(value: Any) -> str | None:
    good = isinstance(value, str) and (value == "#" or value.startswith("#/"))
    return None if good else "must lead to a schema of this document, such as #/$defs/name"


_CHECKS: Final[dict[str, Callable[[Any], str | None]]] = {
    "type": _type,
    "enum": _enum,
    "required": _required,
    "uniqueItems": _flag,
    "multipleOf": _multiple,
    "pattern": pattern_trouble,
    "$ref": _ref,
    **dict.fromkeys(_LISTS_OF_SCHEMAS, _schemas),
    **dict.fromkeys(_MAPS_OF_SCHEMAS, _map),
    **dict.fromkeys(_SCHEMAS, _fine),
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_NUMBERS, _number),
}
_KNOWN: Final = (*_CHECKS, *sorted(_NOTES))
_SAID: Final = "As JSON Schema has it"


def schema_of_schemas(itself: str, *, is_template: bool = False) -> dict[str, Any]:
    """What schema_mistakes takes, as a schema; `itself` is where it is kept. In a template any text
    may hold ${ }. That a pattern compiles and a $ref leads somewhere, no schema can say.
    """
    below = {"$ref": itself}

    def value(schema: dict[str, Any]) -> dict[str, Any]:
        return {"anyOf": [schema, OPEN_SCHEMA]} if is_template else schema

    some = {"type": "array", "items": below, "minItems": 1}
    by_name = {"type": "object", "additionalProperties": below}
    count, number = {"type": "integer", "minimum": 0}, {"type": "number"}
    one_type = {"type": "string", "enum": list(TYPES)}
    keywords: dict[str, dict[str, Any]] = {
        "type": {"anyOf": [one_type, {"type": "array", "items": one_type, "minItems": 1}]},
        "enum": {"type": "array", "items": {}, "minItems": 1},
        "required": {"type": "array", "items": {"type": "string"}},
        "uniqueItems": {"type": "boolean"},
        "multipleOf": {"type": "number", "exclusiveMinimum": 0},
        "pattern": {"type": "string", "minLength": 1, "maxLength": PATTERN_CHARS_MAX},
        "$ref": {"type": "string", "pattern": "^#($|/)"},
        **dict.fromkeys(_LISTS_OF_SCHEMAS, some),
        **dict.fromkeys(_MAPS_OF_SCHEMAS, by_name),
        **dict.fromkeys(_SCHEMAS, below),
        **dict.fromkeys(_COUNTS, count),
        **dict.fromkeys(_NUMBERS, number),
    }
    assert keywords.keys() == _CHECKS.keys()
    kept = {name: {"description": "Changes nothing"} for name in sorted(_NOTES - {"const"})}
    known = {
        **{name: {**value(schema), "description": _SAID} for name, schema in keywords.items()},
        "const": {"description": _SAID},
        **kept,
    }
    whole = {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^x-": {}},
        "properties": known,
    }
    return {"anyOf": [{"type": "boolean"}, whole, *([OPEN_SCHEMA] if is_template else [])]}
