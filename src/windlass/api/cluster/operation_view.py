"""Operations as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.cluster.operations import Estimate
from windlass.model.cluster.operation import Operation, phase_of_all


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
