"""Verbs on executions: what a rerun and a signal say."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema, wanted_schema
from windlass.api.http.shapes import TEXT, Named, Schema, nullable, record
from windlass.limits import STEP_ID_CHARS_MAX

RERUN: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"from_step": nullable(wanted_schema(STEP_ID_CHARS_MAX))},
}
SIGNAL: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"payload": {"description": "Any JSON value"}},
}

SCHEMAS: Final[Named] = {
    "ExecutionSignal": record(
        id=id_schema("signal"),
        execution_id=id_schema("execution"),
        name=TEXT,
        taken_by=nullable(id_schema("job")),
    ),
}
