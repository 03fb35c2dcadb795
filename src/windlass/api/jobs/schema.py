"""A job as it is shown: taken from the structure that is sent (`api.view`)."""

from __future__ import annotations

from typing import Final

import msgspec

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    Schema,
    listed,
    nullable,
    record,
    ref,
)
from windlass.api.jobs.view import JobView
from windlass.model.job.priority import NAMES

NUMBER: Final[Schema] = {"type": "number"}


def _job() -> Schema:
    schema = msgspec.json.schema_components([JobView])[1]["JobView"]
    properties: dict[str, Schema] = schema["properties"]
    told: dict[str, Schema] = {
        "id": id_schema("job"),
        "state": STATE,
        "priority": {"type": "string", "enum": list(NAMES)},
        "input": ANY_OBJECT,
        "result": {"description": "What it returned"},
        "error": nullable(ref("Error")),
        "depends_on": listed(id_schema("job")),
        "tags": listed(TEXT),
        "locks": listed(TEXT),
        "retry": nullable(ref("RetryPolicy")),
        "execution_id": nullable(id_schema("execution")),
        "node_id": nullable(id_schema("node")),
        "progress": nullable(
            record(done=NUMBER, total=nullable(NUMBER), message=nullable(TEXT), at=INSTANT)
        ),
    }
    shown = {
        name: told.get(name, {k: v for k, v in found.items() if k != "default"})
        for name, found in properties.items()
    }
    return {"type": "object", "properties": shown, "required": list(shown)}


def _policy() -> Schema:
    """As it was given, or as its kind has it."""
    seconds = {
        "description": 'Seconds, or text such as "30s"',
        "anyOf": [{"type": "number"}, {"type": "string"}],
    }
    return {
        "type": "object",
        "properties": {
            "max_attempts": {"type": "integer", "minimum": 1},
            "initial": {**seconds, "description": "The first rest, in seconds or as text"},
            "factor": NUMBER,
            "max": {**seconds, "description": "The longest rest, in seconds or as text"},
            "jitter": {"type": "boolean"},
        },
        "additionalProperties": True,
    }


SCHEMAS: Final[Named] = {"Job": _job(), "RetryPolicy": _policy()}
