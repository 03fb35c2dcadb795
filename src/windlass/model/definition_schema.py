"""The published JSON Schema of windlass/v1, in the same words as the readers beside it.

It says what fields there are and what each may hold, for editors and generators. What no schema can
say (that a step exists, that nothing waits in a circle, that an expression compiles) is said by
`definition_read`; whatever that takes, this takes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from windlass.limits import (
    ATTEMPTS_MAX,
    CASES_MAX,
    CONCURRENT_MAX,
    DESCRIPTION_CHARS_MAX,
    DURATION_SECONDS_MAX,
    LOCKS_MAX,
    NAME_CHARS_MAX,
    PARALLEL_MAX,
    STEP_ID_CHARS_MAX,
    STEPS_MAX,
    TITLE_CHARS_MAX,
)
from windlass.model.definition import AWAITED_KINDS, DECIDED_KINDS, POLICIES, SCHEMA, WHENS
from windlass.model.definition_step import fields_of
from windlass.model.definition_work import PLACE_KINDS
from windlass.model.priority import NAMES

Schema = dict[str, Any]

_OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
_NAME: Final[Schema] = {
    "type": "string",
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.:-]*$",
    "maxLength": NAME_CHARS_MAX,
}
_STEP_ID: Final[Schema] = {
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "maxLength": STEP_ID_CHARS_MAX,
}
_EXPRESSION: Final[Schema] = {
    "description": "CEL in ${ }; it sees inputs, vars, execution and the steps before",
    "type": "string",
    "pattern": r"^\s*\$\{[\s\S]*\}\s*$",
}
_DURATION: Final[Schema] = {
    "description": 'Seconds, or text such as "30s", "5m", "2h", "7d"',
    "anyOf": [
        {"type": "number", "minimum": 0, "maximum": DURATION_SECONDS_MAX},
        {"type": "string", "pattern": "^[0-9]{1,9}([.][0-9]{1,6})?(ms|s|m|h|d)$"},
    ],
}
_PRIORITY: Final[Schema] = {"type": "string", "enum": list(NAMES)}
_STEP_IDS: Final[Schema] = {"type": "array", "items": _STEP_ID}
_RETRY: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "max_attempts": {"type": "integer", "minimum": 1, "maximum": ATTEMPTS_MAX},
        "initial": _DURATION,
        "factor": {"type": "number", "minimum": 1, "maximum": 100},
        "max": _DURATION,
        "jitter": {"type": "boolean"},
    },
}
_WORK: Final[dict[str, Schema]] = {
    "input": {**_OBJECT, "description": "A template: texts may hold ${ }"},
    "retry": _RETRY,
    "timeout": _DURATION,
    "queue": _NAME,
    "priority": _PRIORITY,
    "locks": {"type": "array", "items": {"type": "string"}, "maxItems": LOCKS_MAX},
}
_CASE: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["if", "go"],
    "properties": {"if": _EXPRESSION, "go": _STEP_IDS},
}
_NEED: Final[Schema] = {
    "anyOf": [
        _STEP_ID,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["step"],
            "properties": {"step": _STEP_ID, "when": {"type": "string", "enum": list(WHENS)}},
        },
    ]
}
_STEP: Final[dict[str, Schema]] = {
    "id": _STEP_ID,
    "title": {"type": "string", "minLength": 1, "maxLength": TITLE_CHARS_MAX},
    "needs": {"type": "array", "items": _NEED},
    "join": {
        "description": "How many needs must be met",
        "anyOf": [
            {"type": "string", "enum": ["all", "any"]},
            {"type": "integer", "minimum": 1, "maximum": STEPS_MAX},
        ],
    },
    "if": _EXPRESSION,
    **_WORK,
    "items": _EXPRESSION,
    "max_parallel": {"type": "integer", "minimum": 1, "maximum": PARALLEL_MAX},
    "tolerance": {
        "description": "Places that may fail, or a share of them",
        "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]{1,3}([.][0-9]{1,3})?%$"},
        ],
    },
    "collect": {"type": "boolean"},
    "cases": {"type": "array", "items": _CASE, "minItems": 1, "maxItems": CASES_MAX},
    "default": _STEP_IDS,
}
# What must be there beside id and kind.
_REQUIRED: Final[Mapping[str, list[str]]] = {
    "map": ["items", "step"],
    "switch": ["cases", "default"],
    **{kind: ["input"] for kind in ("signal", "approval", "workflow", "transform", "fail")},
}
# The inputs of the kinds that the engine decides or awaits itself.
_INPUTS: Final[Mapping[str, Schema]] = {
    "signal": {"required": ["name"], "properties": {"name": {"type": "string"}}},
    "approval": {
        "required": ["title"],
        "properties": {"title": {"type": "string"}, "form": {}},
    },
    "workflow": {
        "required": ["workflow"],
        "properties": {
            "workflow": {"type": "string"},
            "version": {"type": ["integer", "string", "null"]},
            "input": {"type": ["object", "string", "null"], "additionalProperties": True},
        },
    },
    "transform": {"required": ["value"], "properties": {"value": {}}},
    "fail": {"required": ["message"], "properties": {"message": {"type": "string"}}},
}


def definition_schemas(performed: Collection[str], below: str) -> dict[str, Schema]:
    """The schemas by name; each refers to the others as `below` + name."""
    kinds = sorted({*performed, *AWAITED_KINDS, *DECIDED_KINDS})
    inner: Schema = {
        "description": "One place of a fan-out, or a compensation",
        **_closed({"kind": _one_of(performed), **_or_null(_WORK)}),
        "required": ["kind"],
    }
    of_place = {"kind": _one_of([*performed, *PLACE_KINDS])}
    place = inner | {"properties": inner["properties"] | of_place}
    return {
        "Definition": _definition(below),
        "DefinitionStep": {"anyOf": [_step(kind, below) for kind in kinds]},
        "DefinitionWork": inner,
        "DefinitionPlace": place,
    }


def published_schema(performed: Collection[str]) -> Schema:
    """The same as one document, at /schemas/workflow.json."""
    schemas = definition_schemas(performed, "#/$defs/")
    whole = schemas.pop("Definition")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A workflow of Windlass ({SCHEMA})",
        **whole,
        "$defs": schemas,
    }


def _definition(below: str) -> Schema:
    concurrency = {
        "type": "object",
        "additionalProperties": False,
        "required": ["key"],
        "properties": {
            "key": {"type": "string", "minLength": 1},
            "limit": {"type": "integer", "minimum": 1, "maximum": CONCURRENT_MAX},
            "policy": {"type": "string", "enum": list(POLICIES)},
        },
    }
    optional: dict[str, Schema] = {
        "schema": {"const": SCHEMA},
        "description": {"type": "string", "maxLength": DESCRIPTION_CHARS_MAX},
        "inputs": {"description": "JSON Schema of what an execution is given", **_OBJECT},
        "vars": {"description": "Constants", **_OBJECT},
        "queue": _NAME,
        "priority": _PRIORITY,
        "timeout": _DURATION,
        "concurrency": concurrency,
        "output": {"description": "A template over all steps"},
        "layout": {"description": "Where the canvas draws things; no part of the hash", **_OBJECT},
    }
    steps = {
        "type": "array",
        "items": {"$ref": f"{below}DefinitionStep"},
        "minItems": 1,
        "maxItems": STEPS_MAX,
    }
    return {
        **_closed({"name": _NAME, "steps": steps, **_or_null(optional)}),
        "required": ["name", "steps"],
    }


def _step(kind: str, below: str) -> Schema:
    place, work = ({"$ref": f"{below}Definition{name}"} for name in ("Place", "Work"))
    every = {**_STEP, "step": place, "undo": work}
    if kind in _INPUTS:
        every["input"] = {"type": "object", "additionalProperties": False, **_INPUTS[kind]}
    required = ["id", "kind", *_REQUIRED.get(kind, [])]
    properties: dict[str, Schema] = {
        name: {"const": kind} if name == "kind" else every[name] for name in fields_of(kind)
    }
    fixed = {name: schema for name, schema in properties.items() if name in required}
    free = {name: schema for name, schema in properties.items() if name not in required}
    return {
        "title": f"{kind} step",
        **_closed({**fixed, **_or_null(free)}),
        "required": required,
    }


def _one_of(kinds: Collection[str]) -> Schema:
    return {"type": "string", "enum": sorted(kinds)}


def _closed(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _or_null(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """A field that is null is as good as left out."""
    return {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in properties.items()}
