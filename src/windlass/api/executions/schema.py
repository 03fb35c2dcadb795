"""Executions: what starts one, what is shown of it, its graph, and why it has not ended."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
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
from windlass.engine.executions.read import STATES
from windlass.limits import KEY_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX
from windlass.model.job.priority import NAMES
from windlass.model.json.value_schema import text_schema
from windlass.model.workflow.definition import WHENS

VERSION_MAX: Final = 2**31 - 1
_ERROR: Final = nullable(ref("Error"))
_STATE: Final[Schema] = {"type": "string", "enum": list(STATES)}
_PRIORITY: Final[Schema] = {"type": "string", "enum": list(NAMES)}
_WHEN: Final[Schema] = {"type": "string", "enum": list(WHENS)}
_ANY: Final[Schema] = {"description": "Any JSON value"}

START: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "input": nullable(ANY_OBJECT),
        "version": nullable({"type": "integer", "minimum": 1, "maximum": VERSION_MAX}),
        "priority": nullable(_PRIORITY),
        "correlation_id": nullable(text_schema(KEY_CHARS_MAX)),
        "tags": nullable(
            {"type": "array", "items": text_schema(TAG_CHARS_MAX), "maxItems": TAGS_MAX}
        ),
    },
}

SCHEMAS: Final[Named] = {
    "Execution": record(
        id=id_schema("execution"),
        workflow=TEXT,
        version=COUNT,
        state=_STATE,
        counts={"type": "object", "additionalProperties": COUNT},
        input=ANY_OBJECT,
        output=_ANY,
        error=_ERROR,
        created_at=INSTANT,
        started_at=nullable(INSTANT),
        finished_at=nullable(INSTANT),
        deadline=nullable(INSTANT),
        parent=nullable(
            record(execution_id=nullable(id_schema("execution")), job_id=id_schema("job"))
        ),
        depth=COUNT,
        priority=_PRIORITY,
        concurrency_key=nullable(TEXT),
        correlation_id=nullable(TEXT),
        trace_id=nullable(TEXT),
        tags=listed(TEXT),
        paused_at=nullable(INSTANT),
        cancel_requested_at=nullable(INSTANT),
        refreshed_at=INSTANT,
    ),
    "ExecutionGraph": record(
        execution_id=id_schema("execution"),
        workflow=TEXT,
        version=COUNT,
        state=_STATE,
        steps=listed(
            record(
                id=TEXT,
                kind=TEXT,
                title=nullable(TEXT),
                needs=listed(record(step=TEXT, when=_WHEN)),
                state={"type": "string", "enum": ["waiting", "unreached", *STATE["enum"]]},
                job_id=nullable(id_schema("job")),
                created_at=nullable(INSTANT),
                started_at=nullable(INSTANT),
                finished_at=nullable(INSTANT),
                attempt=COUNT,
                max_attempts=nullable(COUNT),
                until=nullable(INSTANT),
                child_id=nullable(id_schema("execution")),
                counts=nullable(
                    record(total=COUNT, expanded=COUNT, succeeded=COUNT, failed=COUNT, open=COUNT)
                ),
                output=_ANY,
                output_excerpt=nullable(TEXT),
                error=_ERROR,
            )
        ),
        edges=listed(record(**{"from": TEXT, "to": TEXT, "when": _WHEN, "cases": listed({})})),
    ),
    "WhyExecution": record(
        execution_id=id_schema("execution"),
        state=_STATE,
        summary=TEXT,
        reasons=listed(
            record(
                gate=TEXT,
                reason=TEXT,
                since=nullable(INSTANT),
                until=nullable(INSTANT),
                step=nullable(TEXT),
                item=nullable(COUNT),
                job_id=nullable(id_schema("job")),
            )
        ),
        has_more={"type": "boolean"},
    ),
}
