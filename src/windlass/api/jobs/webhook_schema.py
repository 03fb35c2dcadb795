"""The deliveries of an `http` job."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    BREAKER,
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

HEADERS: Final[Schema] = {"type": "object", "additionalProperties": TEXT}
SCHEMAS: Final[Named] = {
    "Delivery": record(
        attempt=COUNT,
        fence=COUNT,
        node_id=nullable(id_schema("node")),
        started_at=INSTANT,
        duration_ms=nullable({"type": "number"}),
        outcome=nullable(TEXT),
        status_code=nullable({"type": "integer"}),
        error=nullable(ref("Error")),
        method=nullable(TEXT),
        request_headers=HEADERS,
        response_headers=HEADERS,
        response_excerpt=nullable(TEXT),
        timings_ms={"type": "object", "additionalProperties": {"type": "number"}},
        address=nullable(TEXT),
        is_reused=nullable({"type": "boolean"}),
        redirects=listed(TEXT),
    ),
    "WebhookStatus": record(
        state=STATE,
        deliveries=listed(ref("Delivery")),
        next_attempt_at=nullable(INSTANT),
        target=record(host=nullable(TEXT), breaker=BREAKER),
    ),
}
