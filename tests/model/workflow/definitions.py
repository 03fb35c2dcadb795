"""Definitions to read, and a look at what is said of bad ones."""

from __future__ import annotations

from typing import Any

from windlass.model.workflow.definition import Definition
from windlass.model.workflow.known_kinds import KnownKinds
from windlass.model.workflow.read import read_definition
from windlass.strategies.builtin import INPUT_CHECKS

KINDS = KnownKinds(checks=INPUT_CHECKS)


def step(name: str, kind: str = "noop", **fields: Any) -> dict[str, Any]:
    # `condition` because `if` is no name in Python.
    condition = {"if": fields.pop("condition")} if "condition" in fields else {}
    return {"id": name, "kind": kind, **condition, **fields}


def document(*steps: Any, **fields: Any) -> dict[str, Any]:
    return {"name": "test", "steps": list(steps), **fields}


def read(given: Any, kinds: KnownKinds = KINDS) -> Definition:
    found = read_definition(given, kinds)
    assert isinstance(found, Definition), found
    return found


def problems(given: Any, kinds: KnownKinds = KINDS) -> list[tuple[str, str]]:
    """Every problem as (pointer, detail)."""
    found = read_definition(given, kinds)
    assert isinstance(found, list), "it was read without a problem"
    assert found
    return [(problem.pointer, problem.detail) for problem in found]


def problem(*steps: Any, **fields: Any) -> tuple[str, str]:
    """The only problem of a definition with these steps."""
    (found,) = problems(document(*steps, **fields))
    return found
