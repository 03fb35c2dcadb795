"""JSON Schemas: the shapes that they are made of, and those that belong to no noun."""

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


def _problem() -> Schema:
    error = record(pointer=TEXT, detail=TEXT)
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "request_id"],
        "properties": {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": TEXT,
            "code": TEXT,
            "request_id": TEXT,
            "errors": listed(error),
            "queue": TEXT,
            "subject": TEXT,
            "quota": TEXT,
            "limit": {"type": "number"},
            "burst": {"type": "integer"},
            "current": {"type": "integer"},
            "remaining": {"type": "integer"},
            "requested": {"type": "integer"},
            "unit": TEXT,
            "reset": {"type": "integer"},
        },
    }


def _error() -> Schema:
    """What went wrong with an attempt; a strategy may say more than these."""
    return {
        "type": "object",
        "required": ["cause", "message"],
        "properties": {
            "cause": TEXT,
            "message": TEXT,
            "type": {**TEXT, "description": "The class of the exception"},
            "traceback": {"description": "Where it was raised, in the code of the task"},
            "status": {"description": "What the receiver answered"},
        },
        "additionalProperties": True,
    }


SCHEMAS: Final[Named] = {
    "Problem": _problem(),
    "Error": _error(),
    "Counts": record(**dict.fromkeys(STATES, COUNT)),
}
