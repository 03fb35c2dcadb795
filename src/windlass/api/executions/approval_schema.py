"""Approvals: decisions that people are asked for, and what they say."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema, wanted_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    INSTANT,
    TEXT,
    Named,
    Schema,
    nullable,
    record,
)
from windlass.engine.executions.read_approvals import STATES
from windlass.limits import COMMENT_CHARS_MAX

_ANY: Final[Schema] = {"description": "Any JSON value"}

DECISION: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"answer": _ANY, "comment": nullable(wanted_schema(COMMENT_CHARS_MAX))},
}

SCHEMAS: Final[Named] = {
    "Approval": record(
        id=id_schema("approval"),
        execution_id=id_schema("execution"),
        step=TEXT,
        job_id=id_schema("job"),
        title=TEXT,
        form=nullable(ANY_OBJECT),
        state={"type": "string", "enum": list(STATES)},
        answer=_ANY,
        comment=nullable(TEXT),
        decided_by=nullable(TEXT),
        created_at=INSTANT,
        until=nullable(INSTANT),
        decided_at=nullable(INSTANT),
    ),
}
