"""Operations (resize, pause, resume, drain) as the API shows them, and what one would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from windlass import ids
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
from windlass.engine.cluster.operations import Estimate
from windlass.model.cluster.operation import PHASES, Operation, phase_of_all


def operation_view(operation: Operation) -> dict[str, Any]:
    parent = operation.parent_id
    return {
        **asdict(operation),
        "id": ids.show("operation", operation.id),
        "node_id": ids.show("node", operation.node_id),
        "parent_id": None if parent is None else ids.show("operation", parent),
    }


def cluster_view(parent_id: UUID, operations: Sequence[Operation]) -> dict[str, Any]:
    """One for each node, and how far the slowest is."""
    return {
        "id": ids.show("operation", parent_id),
        "kind": "resize",
        "phase": phase_of_all(operations),
        "operations": [operation_view(operation) for operation in operations],
    }


def estimate_view(found: Estimate) -> dict[str, Any]:
    return {**asdict(found), "node_id": ids.show("node", found.node_id)}


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
