"""An operation on its way through its phases, as the node that carries it out writes it.

Promises: every write names the operation, the node and the phase that the writer believes in; one
that was ended by others is left alone, and the writer is told. What a node that is gone was in the
middle of is rolled back by whoever outlives it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Literal
from uuid import UUID

from windlass.limits import OPERATIONS_KEPT_SECONDS
from windlass.model.cluster.operation import Operation, Phase, operation_from
from windlass.store.database import Database

FORGET_BATCH: Final = 1_000
StepAnswer = Literal["go_on", "abort", "ended"]


async def next_operation(database: Database, node_id: UUID) -> Operation | None:
    """What is asked of a node; None: nothing."""
    rows = await database.run("operation_next", node_id)
    return operation_from(rows[0]) if rows else None


async def step(
    database: Database, operation: Operation, here: Phase, to: Phase, progress: Mapping[str, Any]
) -> StepAnswer:
    """Enter a phase, or stay in one and say how far it is. It may be repeated."""
    rows = await database.run(
        "operation_step", operation.id, operation.node_id, here, to, json.dumps(progress)
    )
    if not rows:
        return "ended"
    return "abort" if rows[0]["is_abort_asked"] else "go_on"


async def end(
    database: Database,
    operation: Operation,
    phase: Literal["done", "rolled_back"],
    progress: Mapping[str, Any],
    reason: str | None = None,
) -> bool:
    """Has it ended so? No, when others have ended it otherwise. It may be repeated."""
    rows = await database.run(
        "operation_end", operation.id, operation.node_id, phase, json.dumps(progress), reason
    )
    if rows:
        return True
    return any(row["phase"] == phase for row in await database.run("operation_get", operation.id))


async def end_orphans(database: Database) -> None:
    """Roll back what nodes that are gone were in the middle of; any node may, at any time."""
    await database.settle("operation_end_orphans")


async def forget_operations(database: Database) -> int:
    """Remove a batch of those that ended long ago; returns how many."""
    return len(await database.run("operation_forget", OPERATIONS_KEPT_SECONDS, FORGET_BATCH))
