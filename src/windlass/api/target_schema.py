"""A target with its limits and breaker, and the secret it verifies with."""

from __future__ import annotations

from typing import Final

from windlass.api.http.shapes import (
    BREAKER,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    record,
)

SCHEMAS: Final[Named] = {
    "Target": record(
        host=TEXT,
        state={"type": "string", "enum": ["enabled", "disabled"]},
        disabled_at=nullable(INSTANT),
        disabled_reason=nullable(TEXT),
        rate=nullable({"type": "number"}),
        max_running=nullable(COUNT),
        breaker=record(
            state=BREAKER,
            opened_at=nullable(INSTANT),
            open_until=nullable(INSTANT),
            opens=COUNT,
            reason=nullable(TEXT),
            failures=COUNT,
            rest={"type": "number"},
            rest_max={"type": "number"},
        ),
        parked=COUNT,
        parked_more={"type": "boolean"},
        running=nullable(COUNT),
        succeeded=COUNT,
        failed=COUNT,
        last_answer_at=nullable(INSTANT),
        last_failure_at=nullable(INSTANT),
        created_at=INSTANT,
    ),
    "TargetSecret": record(host=TEXT, secrets=listed(TEXT), name=TEXT),
}
