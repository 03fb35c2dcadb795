"""What the examples say in YAML can be said in Python, and is the same definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.house.repository import ROOT
from tests.sdk.workflow import examples_as_code
from windlass.duration import parse_seconds
from windlass.model.job.retry import DEFAULT, read_retry, to_json
from windlass.model.json import yaml as strict_yaml

FILES = sorted((ROOT / "examples" / "workflows").glob("*.yaml"))


def settled(document: Any) -> Any:
    """The same however durations and policies are spelt."""
    match document:
        case dict():
            return {name: _settled_field(name, value) for name, value in document.items()}
        case list():
            return [settled(one) for one in document]
        case _:
            return document


def _settled_field(name: str, value: Any) -> Any:
    if name == "retry":
        policy, problems = read_retry(value, DEFAULT)
        assert problems == []
        return to_json(policy)
    return parse_seconds(value) if name == "timeout" else settled(value)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_the_same_definition_in_python(path: Path) -> None:
    written = strict_yaml.parse(path.read_bytes())
    traced = getattr(examples_as_code, path.stem).definition()
    assert settled(traced) == settled(written)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_order_of_fields_is_that_in_which_a_person_writes_them(path: Path) -> None:
    traced = getattr(examples_as_code, path.stem).definition()
    assert list(traced) == [name for name in _ORDER if name in traced]
    assert {next(iter(step)) for step in traced["steps"]} == {"id"}


_ORDER = (
    *("name", "description", "inputs", "vars", "queue", "priority", "timeout", "concurrency"),
    *("steps", "output"),
)
