"""The published JSON Schema says of definitions what a schema can say."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from tests.house.repository import ROOT
from tests.model.workflow.definitions import KINDS, document, step
from windlass.model.json import yaml as strict_yaml
from windlass.model.workflow.read import read_definition
from windlass.model.workflow.schema import published_schema
from windlass.strategies.input_schema import input_schemas

INPUTS = input_schemas(is_template=True)
SCHEMA = published_schema({kind: INPUTS[kind] for kind in KINDS.checks})
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "examples" / "workflows").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_example_is_as_the_schema_says(path: Any) -> None:
    found = strict_yaml.parse(path.read_bytes())
    assert list(VALIDATOR.iter_errors(found)) == []


@pytest.mark.parametrize(
    "given",
    [
        document(step("a", needs=None, timeout=None, title=None), vars=None),
        document(step("a", "map", items="${[1]}", step={"kind": "noop"}, tolerance="3%")),
        document(step("a", "wait", input={"duration": "${inputs.x}"}), schema="windlass/v1"),
    ],
)
def test_what_is_read_is_as_the_schema_says(given: Any) -> None:
    assert not isinstance(read_definition(given, KINDS), list)
    assert list(VALIDATOR.iter_errors(given)) == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"name": "x", "steps": []},
        {"name": "x y", "steps": [step("a")]},
        document(step("a", "strange")),
        document(step("a", retries=3)),
        document(step("a", "switch", cases=[{"if": "${true}", "go": []}])),
        document(step("a", "signal", input={})),
        document(step("a", "map", items="${[1]}", step={"kind": "map"})),
        document(step("a"), schema="windlass/v0"),
        document(step("a"), concurrency={"key": "x", "policy": "maybe"}),
    ],
)
def test_what_the_schema_refuses_is_not_read_either(given: Any) -> None:
    assert list(VALIDATOR.iter_errors(given))
    assert isinstance(read_definition(given, KINDS), list)
