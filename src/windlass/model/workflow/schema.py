"""The published JSON Schema of windlass/v1, in the same words as the readers beside it.

It says what fields there are and what each may hold, for editors and generators. What no schema can
say (that a step exists, that nothing waits in a circle, that an expression compiles) is said by
`read_definition`, which also takes a few rare spellings that this does not name (docs/http.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from windlass.limits import (
    CASES_MAX,
    CONCURRENT_MAX,
    DESCRIPTION_CHARS_MAX,
    DURATION_SECONDS_MAX,
    KEY_CHARS_MAX,
    LOCKS_MAX,
    PARALLEL_MAX,
    STEPS_MAX,
    TIMEOUT_SECONDS_MAX,
    TITLE_CHARS_MAX,
)
from windlass.model.job.limit import LIMITS_SCHEMA
from windlass.model.json.schema_check import schema_of_schemas
from windlass.model.json.value_schema import (
    KEPT_SCHEMA,
    NAME_SCHEMA,
    PRIORITY_SCHEMA,
    SECONDS_MIN,
    STEP_ID_SCHEMA,
    Schema,
    duration,
    retry_schema,
    text_schema,
)
from windlass.model.workflow.definition import POLICIES, SCHEMA, WHENS
from windlass.model.workflow.fields import TOLERANCE_MAX
from windlass.model.workflow.read import RESERVED
from windlass.model.workflow.step_kinds import ENGINE_KINDS, ITEM_KINDS, KINDS, InputField

_OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
_NAME: Final[Schema] = {**NAME_SCHEMA, "not": {"enum": sorted(RESERVED)}}
_EXPRESSION: Final[Schema] = {
    "description": "CEL in ${ }; it sees inputs, vars, execution and the steps before",
    "type": "string",
    "pattern": r"^[ \t\r\n]*\$\{[\s\S]*[!-~][\s\S]*\}[ \t\r\n]*$",
}
_TIMEOUT: Final = duration(TIMEOUT_SECONDS_MAX, SECONDS_MIN)
_PATIENCE: Final = duration(DURATION_SECONDS_MAX, SECONDS_MIN)
_STEP_IDS: Final[Schema] = {"type": "array", "items": STEP_ID_SCHEMA}
_WORK: Final[dict[str, Schema]] = {
    "input": {**_OBJECT, "description": "A template: texts may hold ${ }"},
    "retry": retry_schema(),
    "timeout": _TIMEOUT,
    "queue": NAME_SCHEMA,
    "priority": PRIORITY_SCHEMA,
    "locks": {"type": "array", "items": text_schema(KEY_CHARS_MAX), "maxItems": LOCKS_MAX},
    "limits": LIMITS_SCHEMA,
}
_CASE: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["if", "go"],
    "properties": {"if": _EXPRESSION, "go": _STEP_IDS},
}
_NEED: Final[Schema] = {
    "anyOf": [
        STEP_ID_SCHEMA,
        {
            "type": "object",
            "additionalProperties": False,
            "required": ["step"],
            "properties": {
                "step": STEP_ID_SCHEMA,
                "when": {"type": "string", "enum": list(WHENS)},
            },
        },
    ]
}
_STEP: Final[dict[str, Schema]] = {
    "id": STEP_ID_SCHEMA,
    "title": text_schema(TITLE_CHARS_MAX),
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
        "description": "Items that may fail, or a share of them",
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": TOLERANCE_MAX},
            {
                "type": "string",
                "pattern": "^(0{0,2}100([.]0{1,3})?|0?[0-9]{1,2}([.][0-9]{1,3})?)%$",
            },
        ],
    },
    "collect": {"type": "boolean"},
    "cases": {"type": "array", "items": _CASE, "minItems": 1, "maxItems": CASES_MAX},
    "default": _STEP_IDS,
}
# Whatever else it says of them.
_OF_OBJECTS: Final[Schema] = {
    "type": "object",
    "additionalProperties": True,
    "properties": {
        "type": {
            "description": "An input is an object",
            "anyOf": [{"const": "object"}, {"type": "array", "contains": {"const": "object"}}],
        }
    },
}
# It could never start.
_JOINS_NOTHING: Final[Schema] = {
    "required": ["join"],
    "properties": {
        "join": {"anyOf": [{"type": "integer"}, {"const": "any"}]},
        "needs": {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]},
    },
}


def _input(fields: Collection[InputField], below: str) -> Schema:
    """The input of a kind that no node performs."""
    form: Schema = {"$ref": f"{below}DefinitionForm"}
    properties = {one.name: form if one.schema is None else one.schema for one in fields}
    required = [one.name for one in fields if one.missing is not None]
    return _some_required(required, properties)


def definition_schemas(inputs: Mapping[str, Schema], below: str) -> dict[str, Schema]:
    """The schemas by name; each refers to the others as `below` + name. `inputs` has the kinds that
    are performed, and of each what its input may be as a template.
    """
    kinds = sorted({*inputs, *ENGINE_KINDS})
    named = {kind: f"Definition{kind.capitalize()}Input" for kind in _with_fields(inputs)}
    known = {
        **{kind: schema for kind, schema in inputs.items() if kind not in named},
        **{kind: {"$ref": below + name} for kind, name in named.items()},
        **{kind: _input(row.input, below) for kind, row in KINDS.items() if row.input is not None},
    }

    def work(kinds: Collection[str]) -> Schema:
        return {"anyOf": [_work(kind, known[kind]) for kind in sorted(kinds)]}

    return {
        "Definition": _definition(below),
        "DefinitionStep": {"anyOf": [_step(kind, known.get(kind), below) for kind in kinds]},
        "DefinitionWork": work(inputs),
        "DefinitionPlace": work([*inputs, *ITEM_KINDS]),
        **{
            name: {"description": f"What a step of kind {kind} takes", **inputs[kind]}
            for kind, name in named.items()
        },
        "DefinitionForm": {
            "description": "JSON Schema of the answer; texts may hold ${ }",
            **schema_of_schemas(f"{below}DefinitionForm", is_template=True),
        },
        "JsonSchema": {
            "description": "JSON Schema, as far as it is understood",
            **schema_of_schemas(f"{below}JsonSchema"),
        },
    }


def published_schema(inputs: Mapping[str, Schema]) -> Schema:
    """The same as one document, at /schemas/workflow.json."""
    schemas = definition_schemas(inputs, "#/$defs/")
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
        "description": {**KEPT_SCHEMA, "maxLength": DESCRIPTION_CHARS_MAX},
        "inputs": {
            "description": "JSON Schema of what an execution is given: an object",
            "allOf": [{"$ref": f"{below}JsonSchema"}, _OF_OBJECTS],
        },
        "vars": {"description": "Constants", **_OBJECT},
        "queue": NAME_SCHEMA,
        "priority": PRIORITY_SCHEMA,
        "timeout": _PATIENCE,
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


def _step(kind: str, given: Schema | None, below: str) -> Schema:
    """`given` is what its input may be; None: it has none."""
    item, work = ({"$ref": f"{below}Definition{name}"} for name in ("Place", "Work"))
    every = {**_STEP, "step": item, "undo": work, "input": given or _WORK["input"]}
    row = KINDS[kind]
    if row.awaits is not None:
        every["timeout"] = _PATIENCE
    required = ["id", "kind", *(_needed(given) if row.is_performed else row.required_fields())]
    properties: dict[str, Schema] = {
        name: {"const": kind} if name == "kind" else every[name] for name in row.all_fields()
    }
    return {
        "title": f"{kind} step",
        **_some_required(required, properties),
        "not": _JOINS_NOTHING,
    }


def _work(kind: str, given: Schema) -> Schema:
    properties = {"kind": {"const": kind}, **_WORK, "input": given}
    return {"title": f"{kind} work", **_some_required(["kind", *_needed(given)], properties)}


def _needed(given: Schema | None) -> list[str]:
    """Whether an input must be there: unless nothing is known of it."""
    return [] if given is None or given == _OBJECT else ["input"]


def _with_fields(inputs: Mapping[str, Schema]) -> list[str]:
    """Kinds of which it is known what fields they take: worth a name of their own."""
    return [kind for kind, schema in inputs.items() if schema != _OBJECT]


def _some_required(required: list[str], properties: dict[str, Schema]) -> Schema:
    fixed = {name: schema for name, schema in properties.items() if name in required}
    free = {name: schema for name, schema in properties.items() if name not in required}
    return {**_closed({**fixed, **_or_null(free)}), "required": required}


def _closed(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _or_null(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """A field that is null is as good as left out."""
    return {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in properties.items()}
