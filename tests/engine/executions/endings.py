"""How executions end, and the children they wait for: what several tests ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from tests.engine.executions.flow import Flow
from tests.engine.hands import sql, value
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.refresh import refresh
from windlass.engine.executions.workflows import publish
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

# Compensations follow one another: so many rounds are enough for these tests.
_ROUNDS: Final = 10
CHILD: Final[dict[str, Any]] = {"id": "child", "kind": "workflow", "input": {"workflow": "inner"}}


async def ended_as(flow: Flow) -> str:
    """Its state, after a refresh and whatever that calls for."""
    for _ in range(_ROUNDS):
        done = await refresh(flow.database, [flow.execution_id])
        if not done.unconcluded:
            break
        await flow.look_after(await conclude(flow.database, done.unconcluded))
        await flow.run()
    return str((await row_of(flow))["state"])


async def row_of(flow: Flow) -> Any:
    [row] = await sql(
        flow.database, "SELECT * FROM windlass.execution WHERE id = $1", flow.execution_id
    )
    return row


async def inner(
    database: Database, steps: Sequence[Mapping[str, Any]], name: str = "inner", **fields: Any
) -> None:
    """A workflow that others have as a step."""
    read = trust_definition({"name": name, "steps": list(steps), **fields})
    await publish(database, read, by=None)


async def child_of(flow: Flow, step: str = "child") -> UUID:
    [row] = [row for row in await flow.rows() if row["step"] == step]
    found: UUID = await value(
        flow.database, "SELECT id FROM windlass.execution WHERE parent_job_id = $1", row["id"]
    )
    return found
