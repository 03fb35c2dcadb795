"""A schema that says what JSON Schema does not allow is refused, by the door and by our schema."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.model.json.schema import value_problems
from windlass.model.json.schema_check import schema_mistakes, schema_of_schemas


@pytest.mark.parametrize("part", [0, 0.0, -0.0, -1, -0.5, True, "2", None])
def test_a_multiple_is_one_of_something_above_zero(part: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "multipleOf": part}}}
    pointer = "/properties/n/multipleOf"
    assert schema_mistakes(schema) == [(pointer, "must be a number above 0")]
    assert told_by_our_schema(schema)


@pytest.mark.parametrize("part", [1, 0.01, 5e-324, 10**400])
def test_any_multiple_of_something_above_zero_is_taken(part: float) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "number", "multipleOf": part}}}
    assert schema_mistakes(schema) == []
    assert not told_by_our_schema(schema)


def told_by_our_schema(schema: Any) -> bool:
    ours = {"$defs": {"Schema": schema_of_schemas("#/$defs/Schema")}, "$ref": "#/$defs/Schema"}
    return bool(value_problems(schema, ours))
