"""Changes of nodes, and what they would cost."""

from __future__ import annotations

from typing import Final

from windlass.api.http.query import id_schema
from windlass.api.http.shapes import (
    ANY_OBJECT,
    COUNT,
    INSTANT,
    TEXT,
    Named,
    listed,
    nullable,
    record,
    ref,
)
from windlass.model.cluster.operation import PHASES

SCHEMAS: Final[Named] = {
    "Operation": record(
        id=id_schema("operation"),
        kind={"type": "string", "enum": ["resize", "pause", "resume", "drain"]},
        node_id=id_schema("node"),
        parent_id=nullable(id_schema("operation")),
        phase={"type": "string", "enum": list(PHASES)},
        from_workers=COUNT,
        to_workers=nullable(COUNT),
        drain_seconds={"type": "number"},
        on_timeout={"type": "string", "enum": ["hand_back", "finish"]},
        progress=ANY_OBJECT,
        reason=nullable(TEXT),
        asked_by=nullable(TEXT),
        is_abort_asked={"type": "boolean"},
        created_at=INSTANT,
        changed_at=INSTANT,
        ended_at=nullable(INSTANT),
    ),
    "ClusterOperation": record(
        id=id_schema("operation"),
        kind={"type": "string", "enum": ["resize"]},
        phase={"type": "string", "enum": list(PHASES)},
        operations=listed(ref("Operation")),
    ),
    "Estimate": record(
        node_id=id_schema("node"),
        from_workers=COUNT,
        to_workers=COUNT,
        in_flight=COUNT,
        would_drain=COUNT,
        estimated_seconds=nullable({"type": "number"}),
    ),
}
