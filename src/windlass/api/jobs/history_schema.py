"""What happened to a job, and what holds it back."""

from __future__ import annotations

from typing import Final

from windlass import ids
from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    listed,
    nullable,
    record,
    ref,
)
from windlass.model.job.task_log import LEVELS

# Whom events are of.
NOUNS: Final = ("job", "execution", "workflow", "queue", "node", "target", "secret")
SCHEMAS: Final[Named] = {
    "Attempt": record(
        attempt=COUNT,
        node_id=nullable(id_schema("node")),
        started_at=INSTANT,
        ended_at=nullable(INSTANT),
        duration_ms=nullable({"type": "number"}),
        outcome=nullable(TEXT),
        next_run_at=nullable(INSTANT),
        error=nullable(ref("Error")),
        detail=nullable({**ANY_OBJECT, "description": "What its strategy keeps of it"}),
    ),
    "Event": record(
        id={"type": "string", "pattern": f"^{ids.PREFIXES['event']}[0-9a-f]+$"},
        at=INSTANT,
        type=TEXT,
        noun={"type": "string", "enum": list(NOUNS)},
        subject=TEXT,
        job_id=nullable(id_schema("job")),
        execution_id=nullable(id_schema("execution")),
        queue=nullable(TEXT),
        data=ref("EventData"),
    ),
    # What an event of a job, a node or an execution says; others, and later ones, say more.
    "EventData": {
        "type": "object",
        "properties": {
            "state": TEXT,
            "outcome": nullable(TEXT),
            "attempt": COUNT,
            "cause": nullable(TEXT),
            "error": nullable(ref("Error")),
            "node_id": nullable(TEXT),
            "run_at": nullable(INSTANT),
            "from_run_at": {**nullable(INSTANT), "description": "When it was due before"},
            "reason": nullable(TEXT),
            "workflow": nullable(TEXT),
            "version": {"description": "Of the workflow, or of Windlass"},
        },
        "additionalProperties": True,
    },
    "LogLine": record(
        attempt=COUNT,
        at=INSTANT,
        level={"type": "string", "enum": list(LEVELS)},
        message=TEXT,
        fields=ANY_OBJECT,
    ),
    "Why": record(
        job_id=id_schema("job"),
        state=STATE,
        summary=TEXT,
        gates=listed(
            record(gate=TEXT, reason=TEXT, since=nullable(INSTANT), until=nullable(INSTANT))
        ),
        estimated_start=nullable(INSTANT),
    ),
}
