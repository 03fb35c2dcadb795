"""JSON Schema, the part that is used here; and a second opinion on it."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from windlass.model.json.schema import (
    PROBLEMS_MAX,
    Allowance,
    TooMuchToCheck,
    value_problems,
    with_defaults,
)
from windlass.model.json.schema_check import schema_mistakes

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
def test_what_is_not_as_the_schema_says_is_told_with_its_pointer(
    value: Any, expected: tuple[str, str] | None
) -> None:
    assert schema_mistakes(ORDER) == []
    assert value_problems(value, ORDER) == ([] if expected is None else [expected])


def test_defaults_are_filled_in_at_the_top_and_the_value_is_not_changed() -> None:
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
    assert pointer in [found for found, _ in schema_mistakes(schema)]


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


@pytest.mark.slow
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


@pytest.mark.slow
@seed(SEED)
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(value=VALUES, schema=st.recursive(st.booleans(), schemas, max_leaves=6))
def test_a_second_opinion_agrees(value: Any, schema: Any) -> None:
    assert schema_mistakes(schema) == []
    ours = value_problems(value, schema) == []
    assert ours == jsonschema_rs.validator_for(schema).is_valid(value), (SEED, schema, value)


# Each took seconds of a frozen loop; a busy machine takes its time too.
SECONDS_MAX = 5.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (["abc"] * 100_000, {"items": {"pattern": "^[a-z]{1,900}$"}}),
        (["abc"] * 20_000, {"items": {"pattern": r"^\w{1,30}$"}}),
        (list(range(20_000)), {"items": {"enum": list(range(-1_000, 20_000))}}),
        (["x"] * 20_000, {"items": {"enum": [{"a": [0.0] * 5_000}, "x"]}}),
        ([[0.0] * 500] * 500, {"uniqueItems": True}),
        ([{"a": [1] * 5_000}] * 50, {"items": {"anyOf": [{"const": {"b": 1}}] * 500}}),
        ([{}] * 100_000, {"items": {"required": [f"n{n}" for n in range(50_000)]}}),
        (
            [{"x": 1}] * 50_000,
            {
                "items": {
                    "not": {
                        "properties": {f"n{n}": {} for n in range(20_000)},
                        "additionalProperties": False,
                    }
                }
            },
        ),
        ({"k" * 300_000: [1] * 300_000}, {"additionalProperties": {"items": {"minimum": 0}}}),
        ([1] * 200_000, {"items": {"type": ["string"] * 50_000}}),
        ([0.3] * 100_000, {"items": {"multipleOf": 0.1}}),
    ],
)
def test_no_value_and_schema_take_long_together(value: Any, schema: Any) -> None:
    began = time.process_time()
    value_problems(value, schema)
    assert time.process_time() - began < SECONDS_MAX


@pytest.mark.parametrize(
    ("value", "part", "is_good"),
    [
        (10**400, 0.5, True),
        (10**400 + 1, 2, False),
        (1e308, 1e-308, True),
        (5e-324, 1e308, False),
        (10**400, 1e308, True),
        (0.3, 0.1, True),
        (0.35, 0.1, False),
        (1e-9, 1, False),
        (4.35, 0.01, True),
        (-7, 3.5, True),
        (0, 1e-300, True),
    ],
)
def test_multiples_are_exact_however_large_or_small(
    value: float, part: float, is_good: bool
) -> None:
    assert (value_problems(value, {"multipleOf": part}) == []) is is_good


def test_a_pattern_that_takes_long_to_compile_is_refused_with_another_way() -> None:
    [(pointer, detail)] = schema_mistakes({"pattern": r"^\w{1,255}$"})
    assert pointer == "/pattern"
    assert "[A-Za-z0-9_]" in detail
    assert schema_mistakes({"pattern": "^[A-Za-z0-9_]{1,255}$"}) == []


@pytest.mark.slow
def test_an_ordinary_schema_takes_the_largest_input() -> None:
    value = {"lines": [{"count": 1 + n % 9} for n in range(60_000)], "code": "AB12"}
    assert value_problems(value, ORDER) == []
    texts = [f"user{n}@shop.example" for n in range(30_000)]
    schema = {"items": {"type": "string", "pattern": r"^[\w.+-]+@[\w-]+(\.[\w-]+)+$"}}
    assert value_problems(texts, schema) == []
    assert value_problems(texts, {"uniqueItems": True, "items": {"enum": texts}}) == []


def test_constants_of_schemas_that_differ_are_told_apart() -> None:
    schema = {"items": {"anyOf": [{"const": n} for n in range(20)]}}
    assert value_problems(list(range(20)), schema) == []
    assert value_problems([20], schema)


def test_what_is_allowed_for_a_moment_is_no_judgement_when_it_is_too_little() -> None:
    allowance = Allowance(100)
    assert value_problems([1] * 10, {"items": {"type": "integer"}}, allowance=allowance) == []
    assert allowance.left < 100
    with pytest.raises(TooMuchToCheck):
        value_problems([1] * 1_000, {"items": {"type": "integer"}}, allowance=allowance)


BIG = int("7" * 4_000)
# Beside a visit of a value, which the allowance is made for.
TIMES_MAX = 25


def seconds_a_unit(value: Any, schema: Any) -> float:
    """The best of three."""
    found = []
    for _ in range(3):
        allowance, began = Allowance(2_000), time.process_time()
        with contextlib.suppress(TooMuchToCheck):
            value_problems(value, schema, allowance=allowance)
        found.append((time.process_time() - began) / (2_000 - allowance.left))
    return min(found)


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ([0] * 300_000, {"allOf": [{"minItems": 1}] * 2_000}),
        ([0] * 300_000, {"allOf": [{"items": True}] * 2_000}),
        ([0] * 300_000, {"allOf": [{"prefixItems": [True]}] * 2_000}),
        ([0] * 300_000, {"allOf": [{"prefixItems": [True], "items": {}}] * 2_000}),
        ({f"k{n}": 0 for n in range(60_000)}, {"allOf": [{"minProperties": 1}] * 2_000}),
        ({f"k{n}": 0 for n in range(60_000)}, {"allOf": [{"properties": {"a": {}}}] * 2_000}),
        (BIG, {"allOf": [{"multipleOf": 0.1}] * 2_000}),
        (BIG, {"allOf": [{"multipleOf": BIG // 10**2_000}] * 2_000}),
        (1.7e308, {"allOf": [{"multipleOf": 5e-324}] * 2_000}),
        (1, {"anyOf": [{"minimum": BIG, "multipleOf": BIG}] * 2_000}),
        ({}, {"anyOf": [{"required": ["n" * 500_000]}] * 2_000}),
        (
            {f"k{n}": 0 for n in range(100)},
            {"properties": {f"n{n}": {} for n in range(75_000)}, "additionalProperties": False},
        ),
        ([0] * 100, {"items": {"enum": [["x" * 1_000_000]]}}),
        ([0] * 100, {"items": {"const": {"x" * 1_000_000: 1}}}),
        ([1.0] * 200_000, {"allOf": [{"const": [1]}] * 2_000}),
        ([[1.0] * 200_000], {"uniqueItems": True}),
        ("\U0001f600" * 4_000, {"allOf": [{"pattern": ".?" * 240 + "x"}] * 2_000}),
        ("\U0001f600" * 4_000, {"pattern": "(?:" + ".?" * 20 + "){45}x"}),
        ("\U0001f600" * 4_000, {"pattern": "(?P<n>(?:.?){30}){3}x"}),
        ("\U0001f600" * 4_000, {"pattern": "(?x)(?:.?){ 900 }x"}),
    ],
)
def test_a_unit_of_work_takes_about_as_long_whatever_is_checked(value: Any, schema: Any) -> None:
    usual = seconds_a_unit([1] * 3_000, {"items": {"type": "integer", "minimum": 0}})
    assert seconds_a_unit(value, schema) < TIMES_MAX * usual


@pytest.mark.slow
def test_references_in_a_row_are_each_followed_once() -> None:
    """20,000 of them took minutes, one after the other from each."""
    row: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(20_000)}
    began = time.process_time()
    assert schema_mistakes({"$defs": {**row, "a20000": {"type": "string"}}}) == []
    assert len(schema_mistakes({"$defs": {**row, "a20000": {"$ref": "#/$defs/a7"}}})) == 20_001
    assert time.process_time() - began < SECONDS_MAX


@pytest.mark.parametrize("strange", [5, None, ["#"], {"$ref": "#"}])
def test_a_reference_to_what_only_looks_like_one_leads_nowhere(strange: Any) -> None:
    schema = {"$ref": "#/default", "default": {"$ref": strange}}
    assert [at for at, _ in schema_mistakes(schema)] == ["/$ref"]


def test_a_pattern_is_taken_as_it_looks() -> None:
    [(pointer, detail)] = schema_mistakes({"pattern": r"(?ix: \w{ 900 } )"})
    assert pointer == "/pattern"
    assert "flag x" in detail
    assert schema_mistakes({"pattern": "(?i:x)(?P<x>y)"}) == []
