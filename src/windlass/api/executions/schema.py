"""JSON Schemas of executions: what starts one, what is shown of it, its verbs, and approvals."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema, short_text_schema
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
from windlass.engine.executions.approvals import STATES as APPROVAL_STATES
from windlass.engine.executions.read import STATES
from windlass.limits import (
    COMMENT_CHARS_MAX,
    KEY_CHARS_MAX,
    STEP_ID_CHARS_MAX,
    TAG_CHARS_MAX,
    TAGS_MAX,
)
from windlass.model.job.states import PRIORITY_NAMES
from windlass.model.json.value_schema import text_schema
from windlass.model.workflow.definition import WHENS

VERSION_MAX: Final = 2**31 - 1
_ERROR: Final = nullable(ref("Error"))
_STATE: Final[Schema] = {"type": "string", "enum": list(STATES)}
_PRIORITY: Final[Schema] = {"type": "string", "enum": list(PRIORITY_NAMES)}
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


RERUN: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"from_step": nullable(short_text_schema(STEP_ID_CHARS_MAX))},
}
SIGNAL: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"payload": _ANY},
}


DECISION: Final[Schema] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"answer": _ANY, "comment": nullable(short_text_schema(COMMENT_CHARS_MAX))},
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
    "ExecutionSignal": record(
        id=id_schema("signal"),
        execution_id=id_schema("execution"),
        name=TEXT,
        taken_by=nullable(id_schema("job")),
    ),
    "Approval": record(
        id=id_schema("approval"),
        execution_id=id_schema("execution"),
        step=TEXT,
        job_id=id_schema("job"),
        title=TEXT,
        form=nullable(ANY_OBJECT),
        state={"type": "string", "enum": list(APPROVAL_STATES)},
        answer=_ANY,
        comment=nullable(TEXT),
        decided_by=nullable(TEXT),
        created_at=INSTANT,
        until=nullable(INSTANT),
        decided_at=nullable(INSTANT),
    ),
}
