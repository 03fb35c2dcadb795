"""Steps of an execution as expressions see them, read from the database."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from windlass.engine.executions.board import seen
from windlass.engine.executions.plans import Facts
from windlass.model.workflow.plan import End
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def steps_seen(
    connection: Connection[Record], facts: Facts, names: Collection[str]
) -> dict[str, Any]:
    if not names:
        return {}
    ordered = sorted(names)
    count = len(ordered)
    rows = await connection.fetch(
        statement("step_end_get_many"),
        [facts.execution_id] * count,
        ordered,
        [True] * count,
        [facts.created_at] * count,
    )
    ends = {
        row["step"]: End(state=row["state"], result=row["result"], error=row["error"])
        for row in rows
    }
    return {name: seen(ends.get(name)) for name in ordered}
