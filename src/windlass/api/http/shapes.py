"""The shapes that schemas are made of."""

from __future__ import annotations

from typing import Any, Final

from windlass.model.job.states import STATES
from windlass.model.json.value_schema import duration

__all__ = [
    "ANY_OBJECT",
    "BREAKER",
    "COUNT",
    "INSTANT",
    "STATE",
    "TEXT",
    "Named",
    "Schema",
    "duration",
    "listed",
    "nullable",
    "page_of",
    "record",
    "ref",
]

Schema = dict[str, Any]
Named = dict[str, Schema]  # by the name under which others refer to it

INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
TEXT: Final[Schema] = {"type": "string"}
ANY_OBJECT: Final[Schema] = {"type": "object", "additionalProperties": True}
STATE: Final[Schema] = {"type": "string", "enum": list(STATES)}
BREAKER: Final[Schema] = {"type": "string", "enum": ["closed", "open", "half_open"]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def record(**properties: Schema) -> Schema:
    """An object that always has all of these."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def listed(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def page_of(name: str) -> Schema:
    return record(data=listed(ref(name)), next_cursor=nullable(TEXT))
