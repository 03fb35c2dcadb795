"""What happened to a job, and what holds it back."""

from __future__ import annotations

from typing import Final

from windlass import ids
from windlass.api.query import id_schema
from windlass.api.schemas.shape import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    STATE,
    TEXT,
    Named,
    listed,
    nullable,
    record,
)
from windlass.model.note import LEVELS

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
        error=nullable(ANY_OBJECT),
        detail=nullable(ANY_OBJECT),
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
        data=ANY_OBJECT,
    ),
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
