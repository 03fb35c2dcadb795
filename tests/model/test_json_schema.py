"""JSON Schema, the part that is used here; and a second opinion on it."""

from __future__ import annotations

import os
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from windlass.model.json_schema import PROBLEMS_MAX, value_problems, with_defaults
from windlass.model.json_schema_check import schema_mistakes

SEED = int(os.environ.get("WINDLASS_TEST_SEED", "1"))
ORDER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["lines"],
    "properties": {
        "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
        "note": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}]},
        "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
        "size": {"enum": ["s", "m", 3]},
    },
    "$defs": {
        "line": {
            "type": "object",
            "required": ["count"],
            "properties": {"count": {"type": "integer", "minimum": 1, "maximum": 99}},
        }
    },
}


LINES = {"lines": [{"count": 1}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({**LINES, "note": None, "code": "AB12", "size": 3.0}, None),
        ([], ("", "must be an object")),
        ({}, ("/lines", "is required")),
        ({"lines": []}, ("/lines", "has 0 items; at least 1")),
        ({"lines": [{"count": 1}, {}]}, ("/lines/1/count", "is required")),
        ({"lines": [{"count": 0}]}, ("/lines/0/count", "must be at least 1")),
        ({"lines": [{"count": 1.5}]}, ("/lines/0/count", "must be a whole number")),
        ({"lines": [{"count": True}]}, ("/lines/0/count", "must be a whole number")),
        ({**LINES, "nte": 1}, ("/nte", "unknown field; known are lines note code size")),
        ({**LINES, "note": "too long"}, ("/note", "has 8 characters; at most 5")),
        ({**LINES, "code": "ab1"}, ("/code", "must match ^[A-Z]{2}[0-9]+$")),
        ({**LINES, "size": "l"}, ("/size", 'must be one of: "s" "m" 3')),
    ],
)
def test_what_is_not_as_the_schema_says_is_told_with_its_place(
    value: Any, expected: tuple[str, str] | None
) -> None:
    assert schema_mistakes(ORDER) == []
    assert value_problems(value, ORDER) == ([] if expected is None else [expected])


def test_defaults_are_filled_in_at_the_top_and_nothing_is_changed_in_place() -> None:
    schema = {"properties": {"a": {"default": 1}, "b": {"default": None}, "c": {}}}
    given = {"a": 5}
    assert with_defaults(given, schema) == {"a": 5, "b": None}
    assert given == {"a": 5}
    assert with_defaults([], schema) == []
    assert with_defaults(given, None) == given


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (5, ""),
        ({"type": "text"}, "/type"),
        ({"type": []}, "/type"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a/b": 5}}, "/properties/a~1b"),
        ({"items": {"minItems": -1}}, "/items/minItems"),
        ({"required": "a"}, "/required"),
        ({"enum": []}, "/enum"),
        ({"anyOf": []}, "/anyOf"),
        ({"anyOf": [True, 5]}, "/anyOf/1"),
        ({"pattern": "["}, "/pattern"),
        ({"pattern": "(?=a)b"}, "/pattern"),
        ({"pattern": "(a{100}){100}"}, "/pattern"),
        ({"patternProperties": {}}, "/patternProperties"),
        ({"minimum": "1"}, "/minimum"),
        ({"$ref": "https://elsewhere.example/schema"}, "/$ref"),
        ({"$ref": "#/$defs/nobody"}, "/$ref"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/b/$ref"),
    ],
)
def test_a_schema_that_cannot_be_used_is_told_so(schema: Any, pointer: str) -> None:
    assert pointer in [place for place, _ in schema_mistakes(schema)]


def is_open(value: object) -> bool:
    return isinstance(value, str) and "${" in value


@pytest.mark.parametrize(
    ("value", "schema", "is_good"),
    [
        ("${x}", {"type": "integer"}, True),
        ("no ${x}", {"type": "integer"}, False),
        ("no ${x}", {"type": ["integer", "string"], "maxLength": 1}, True),
        (["${x}", 1], {"items": {"type": "string"}}, False),
        (["${x}", "${x}"], {"uniqueItems": True}, True),
        ({"a": "${x}"}, {"oneOf": [{"required": ["a"]}, {"required": ["a"]}]}, True),
        ({"a": "${x}"}, {"not": {"required": ["a"]}}, True),
    ],
)
def test_what_is_known_only_later_is_taken_as_good(value: Any, schema: Any, is_good: bool) -> None:
    assert (value_problems(value, schema, is_open) == []) is is_good


def test_a_schema_that_doubles_the_work_at_every_level_is_given_up() -> None:
    again = {"properties": {"x": {"$ref": "#/$defs/a"}}}
    schema = {"$defs": {"a": {"allOf": [again, again]}}, "$ref": "#/$defs/a"}
    value: Any = 1
    for _ in range(60):
        value = {"x": value}
    began = time.process_time()
    ((_, detail),) = value_problems(value, schema)
    assert "too much" in detail
    assert time.process_time() - began < 30, "2 to the power of 60 would take for ever"


def test_problems_are_counted_so_far_and_no_further() -> None:
    assert len(value_problems([1] * 1_000, {"items": {"type": "string"}})) == PROBLEMS_MAX


def test_a_pattern_takes_time_that_grows_with_the_text_alone() -> None:
    began = time.process_time()
    assert value_problems("a" * 20_000 + "b", {"pattern": "^(a+)+$"})
    assert time.process_time() - began < 30, "a matcher that goes back would take for ever"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 2.0, -1.5, "", "a", "ab"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
SMALL = st.integers(0, 3)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "number", "integer", "boolean", "object", "array", "null"]
            )
            | st.just(["object", "null"]),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner,
            "minProperties": SMALL,
            "maxProperties": SMALL,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": SMALL,
            "maxItems": SMALL,
            "uniqueItems": st.booleans(),
            "minLength": SMALL,
            "maxLength": SMALL,
            "pattern": st.sampled_from(["^a", "b$", "^(a|b)*$"]),
            "minimum": st.integers(-3, 3),
            "maximum": st.integers(-3, 3),
            "exclusiveMinimum": st.integers(-3, 3),
            "exclusiveMaximum": st.integers(-3, 3),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    )


@seed(SEED)
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=VALUES, schema=st.recursive(st.booleans(), schemas, max_leaves=6))
def test_a_second_opinion_agrees(value: Any, schema: Any) -> None:
    assert schema_mistakes(schema) == []
    ours = value_problems(value, schema) == []
    assert ours == jsonschema_rs.validator_for(schema).is_valid(value), (SEED, schema, value)
