"""Compensation: when an execution has failed, what its steps did is taken back, last step first.

One at a time: each compensation is a job like any other, and when it has ended, well or badly, the
next one begins. One that ends badly is a dead letter to be looked at; the others still run.
"""

from __future__ import annotations

from typing import Any

from windlass import ids
from windlass.engine.executions.decide_apart import undo_apart
from windlass.engine.executions.plans import Facts
from windlass.engine.executions.step_rows import StepJob, dead_columns, job_columns
from windlass.engine.executions.step_scope import steps_seen
from windlass.engine.finished import Finished
from windlass.model.workflow.plan import UNDO, Vertex
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def begin_undo(
    connection: Connection[Record], facts: Facts, state: str, finished: Finished
) -> bool:
    """Begin the next compensation of an execution that the caller holds. False: none is left."""
    if state != "failed" or not facts.plan.has_undo:
        return False
    undoable = [v.id for v in facts.plan.vertices.values() if v.undo is not None]
    rows = await connection.fetch(
        statement("step_undone_get_many"), facts.execution_id, undoable, UNDO
    )
    for row in rows:
        vertex = facts.plan.vertices[row["step"]]
        work = vertex.undo
        assert work is not None
        job = StepJob(
            job_id=ids.uuid7(),
            execution_id=facts.execution_id,
            step=row["step"] + UNDO,
            work=work,
            turn=await undo_apart(facts, vertex, await _scope(connection, facts, vertex)),
            is_foreseen=True,
        )
        if job.turn.state == "dead":
            await connection.fetch(statement("step_end_many"), *dead_columns([job]))
            continue
        inserted = await connection.fetch(
            statement("step_insert_many"), *job_columns([job], is_undo=True)
        )
        finished.ready += [row for row in inserted if row["parked_for"] is None]
        finished.progressed.locked += [row["id"] for row in inserted if row["parked_for"] == "lock"]
        finished.progressed.touched.add(facts.execution_id)
        return True
    return False


async def _scope(connection: Connection[Record], facts: Facts, vertex: Vertex) -> dict[str, Any]:
    return facts.scope() | {"steps": await steps_seen(connection, facts, vertex.undo_named)}
