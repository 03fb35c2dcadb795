"""The graph of an execution: its steps with what became of each, and what leads from one to the
next.

The definition says which steps there are; those that have a job show its state, the others wait. A
compensation is a step of its own behind the one that it takes back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windlass.engine.executions.facts import facts_in
from windlass.errors import NotFound
from windlass.limits import OUTPUT_SHOWN_CHARS_MAX
from windlass.model.workflow.definition import Need
from windlass.model.workflow.plan import UNDO, Plan
from windlass.model.workflow.step_kinds import KINDS
from windlass.store.database import Database, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStep:
    id: str
    kind: str
    title: str | None = None
    needs: tuple[Need, ...] = ()
    row: Record | None = None  # of step_view_many; None: it has no job yet
    items: Record | None = None  # of fan_view_many; None: it is no fan-out, or has not begun


async def read_graph(database: Database, execution: Record) -> list[GraphStep]:
    """`execution` is a row of execution_list."""
    execution_id, since = execution["id"], execution["created_at"]
    async with database.side() as connection:
        facts = (await facts_in(connection, [execution_id])).get(execution_id)
    if facts is None:
        raise NotFound("execution", f"exe_{execution_id.hex}")
    rows = await database.read("step_view_many", execution_id, since, OUTPUT_SHOWN_CHARS_MAX)
    by_step = {row["step"]: row for row in rows}
    fans = [row["step"] for row in rows if KINDS[row["kind"]].awaits == "items"]
    items: Mapping[str, Record] = {}
    if fans:
        found = await database.read("fan_view_many", execution_id, since, fans)
        items = {row["step"]: row for row in found}
    return [*_steps(facts.plan, by_step, items), *_undone(by_step)]


def _steps(
    plan: Plan, by_step: Mapping[str, Record], items: Mapping[str, Record]
) -> list[GraphStep]:
    return [
        GraphStep(
            id=step.id,
            kind=step.kind,
            title=step.title,
            needs=step.needs,
            row=by_step.get(step.id),
            items=items.get(step.id),
        )
        for step in plan.definition.steps
    ]


def _undone(by_step: Mapping[str, Record]) -> list[GraphStep]:
    """Compensations in the order in which they began."""
    return [
        GraphStep(
            id=name,
            kind=row["kind"],
            needs=(Need(step=name.removesuffix(UNDO), when="ended"),),
            row=row,
        )
        for name, row in by_step.items()
        if name.endswith(UNDO)
    ]
