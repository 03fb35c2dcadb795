"""Take steps of an execution back to where they were before they ran, in the caller's transaction.

The caller holds the execution's row, and has said `windlass.verb = 'replay'`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass.engine.executions.plans import Facts
from windlass.limits import FORGET_STEPS_MAX
from windlass.model.json import strict as strict_json
from windlass.model.workflow.plan import UNDO, End
from windlass.model.workflow.redo import StepEnd
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How far the steps of an execution are."""

    ends: dict[str, StepEnd]  # compensations among them
    known: dict[str, End]  # as a board wants them; of results only where a switch went


async def read_ends(connection: Connection[Record], facts: Facts) -> Ends:
    rows = await connection.fetch(statement("step_list"), facts.execution_id, facts.created_at)
    return Ends(
        ends={
            row["step"]: StepEnd(state=row["state"], is_foreseen=row["is_foreseen"]) for row in rows
        },
        known={row["step"]: End(state=row["state"], result=row["result"]) for row in rows},
    )


async def forget_steps(
    connection: Connection[Record], facts: Facts, steps: Collection[str]
) -> Counter[str]:
    """Ended steps, with their places and compensations; returns how many of each state."""
    names = sorted({*steps, *(step + UNDO for step in steps)})
    gone: Counter[str] = Counter()
    while True:
        rows = await connection.fetch(
            statement("step_forget_many"),
            facts.execution_id,
            names,
            facts.created_at,
            FORGET_STEPS_MAX,
        )
        gone.update({row["state"]: row["count"] for row in rows})
        if sum(row["count"] for row in rows) < FORGET_STEPS_MAX:
            break
    await connection.fetch(statement("fan_forget_many"), [facts.execution_id] * len(names), names)
    return gone


async def reopen(
    connection: Connection[Record],
    execution_id: UUID,
    timeout_seconds: float | None,
    *,
    keeps_doom: bool = False,
    event: str,
    data: dict[str, Any],
) -> None:
    """The execution goes on; what it is about is kept as an event."""
    await connection.fetch(
        statement("execution_reopen"),
        execution_id,
        timeout_seconds,
        keeps_doom,
        event,
        strict_json.write(data),
    )
