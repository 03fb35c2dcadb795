"""Conclude executions whose jobs have all ended: output, state, and before those the compensation
(saga) of what has failed.

    hold the keys and rows -> nothing unfinished? -> a compensation to go, or else:
    output and state -> the step that waits for it ends -> the next of its key begins

For executions whose end is more than a state; the others are ended by `refresh`.
Promises: an execution's end is written once, with its output, by whoever holds its row; a child's
end and that of the step which waits for it are one commit.

When an execution has failed, what its steps did is taken back, last step first and one at a time:
each compensation is a job like any other, and when it has ended, well or badly, the next one
begins. One that ends badly is a dead letter to be looked at; the others still run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg
import structlog

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.executions.board import step_in_scope
from windlass.engine.executions.concurrency import Key, begin_next
from windlass.engine.executions.decide_apart import TooMuchAtOnce, output_apart, undo_apart
from windlass.engine.executions.facts import Facts, facts_in
from windlass.engine.executions.step_rows import StepJob, dead_columns, job_columns, steps_in_scope
from windlass.engine.jobs.end import end_awaited
from windlass.engine.locks.grant import take_locks
from windlass.errors import WindlassError
from windlass.limits import EXPRESSION_BATCH_WORK_MAX, EXPRESSION_WORK_MAX
from windlass.model.expression import Spent, Unanswerable
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.json.storable import harmless_json
from windlass.model.workflow.plan import UNDO, End, Vertex
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Conclusion:
    row: Record  # of execution_tally_many
    facts: Facts
    state: str
    output: str | None = None  # JSON
    error: str | None = None  # JSON


async def conclude(
    database: Database, execution_ids: Sequence[UUID], *, is_patient: bool = True
) -> Effects:
    """Those that are not at their end yet, or have been concluded, are left alone. `ended` holds
    executions beside jobs: whoever waits for either hears of it. Who is not patient raises
    RowLocked rather than wait for a row that somebody keeps.
    """

    async def work(connection: Connection[Record]) -> Effects:
        await connection.fetch(statement("turn_hold_of"), list(execution_ids))
        await connection.fetch(statement("execution_lock_many"), sorted(execution_ids))
        rows = await connection.fetch(statement("execution_tally_many"), list(execution_ids))
        over = [row for row in rows if not row["unfinished"] and row["last_at"] is not None]
        facts = await facts_in(connection, [row["id"] for row in over])
        effects, conclusions = Effects(), []
        for row in over:
            conclusion = Conclusion(row=row, facts=facts[row["id"]], state=_state_of(row))
            # Whoever cancels it wants it to end, not to take back what it did.
            is_cancelled = row["cancel_requested_at"] is not None
            known, state = conclusion.facts, conclusion.state
            if is_cancelled or not await begin_compensation(connection, known, state, effects):
                conclusions.append(conclusion)
        await _find_outputs(connection, conclusions)
        await _write(connection, conclusions, effects)
        await take_locks(connection, effects)
        return effects

    try:
        return await (database.together if is_patient else database.settle_together)(work)
    except TooMuchAtOnce:
        effects, half = Effects(), len(execution_ids) // 2
        for part in (execution_ids[:half], execution_ids[half:]):
            effects.add(await conclude(database, part, is_patient=is_patient))
        return effects


def _state_of(row: Record) -> str:
    if row["doom"] is not None or row["is_failed"]:
        return "failed"
    return "cancelled" if row["is_cancelled"] else "succeeded"


async def _find_outputs(connection: Connection[Record], conclusions: Sequence[Conclusion]) -> None:
    wanted = [c for c in conclusions if c.state == "succeeded" and c.facts.plan.output is not None]
    named = [(c.facts, step) for c in wanted for step in sorted(c.facts.plan.output_steps)]
    found: dict[UUID, dict[str, End]] = {}
    if named:
        rows = await connection.fetch(
            statement("step_end_get_many"),
            [facts.execution_id for facts, _ in named],
            [step for _, step in named],
            [True] * len(named),
            [facts.created_at for facts, _ in named],
        )
        for row in rows:
            end = End(state=row["state"], result=row["result"], error=row["error"])
            found.setdefault(row["execution_id"], {})[row["step"]] = end
    work = 0
    for conclusion in wanted:
        if work > EXPRESSION_BATCH_WORK_MAX:
            raise TooMuchAtOnce(len(wanted))
        work += await _fill(conclusion, found.get(conclusion.facts.execution_id, {}))


async def _fill(conclusion: Conclusion, ends: dict[str, End]) -> int:
    """Answers the work that it was."""
    plan = conclusion.facts.plan
    assert plan.output is not None
    scope: dict[str, Any] = conclusion.facts.scope()
    try:
        scope["steps"] = {name: step_in_scope(ends.get(name)) for name in plan.output_steps}
        conclusion.output, work = await output_apart(conclusion.facts, scope)
        return work
    except Unanswerable as trouble:
        _fail(conclusion, str(trouble))
        return EXPRESSION_WORK_MAX if isinstance(trouble, Spent) else 0
    except Exception as trouble:  # it would come again with every look
        _fail(conclusion, f"could not be evaluated: {type(trouble).__name__}: {trouble}")
        return 0


def _fail(conclusion: Conclusion, message: str) -> None:
    conclusion.state, conclusion.output = "failed", None
    conclusion.error = harmless_json({"cause": "output", "message": message})


async def _write(
    connection: Connection[Record], conclusions: Sequence[Conclusion], effects: Effects
) -> None:
    if not conclusions:
        return
    for conclusion in conclusions:
        if conclusion.state == "failed" and conclusion.error is None:
            conclusion.error = _error_of(conclusion.row)
    written = await connection.fetch(statement("execution_end_many"), *_columns(conclusions))
    effects.ended |= {row["id"]: row["state"] for row in written}
    waiting = {
        c.row["parent_job_id"]: _outcome(c)
        for c in conclusions
        if c.row["parent_job_id"] is not None
    }
    effects.add(await end_awaited(connection, waiting))
    keys = {
        (c.row["workflow"], c.row["concurrency_key"])
        for c in conclusions
        if c.row["concurrency_key"] is not None
    }
    if keys:
        effects.add(await _begin_next(connection, keys))


async def _begin_next(connection: Connection[Record], keys: Collection[Key]) -> Effects:
    """One that cannot begin keeps nobody from ending: upkeep finds the room."""
    try:
        async with connection.transaction():  # a savepoint
            return await begin_next(connection, keys)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, WindlassError):
        raise
    except Exception:
        log.exception("next_not_begun", keys=[list(key) for key in sorted(keys)[:10]])
        return Effects()


def _columns(conclusions: Sequence[Conclusion]) -> list[list[Any]]:
    return [
        [c.row["id"] for c in conclusions],
        [c.state for c in conclusions],
        [c.row["last_at"] for c in conclusions],
        [c.row["first_at"] for c in conclusions],
        [c.row["counts"] for c in conclusions],
        [c.output for c in conclusions],
        [c.error for c in conclusions],
    ]


def _error_of(row: Record) -> str:
    if row["doom"] == "timeout":
        said = "it did not end in the time its definition gives it"
        return harmless_json({"cause": "timeout", "message": said})
    if row["first_error"] is not None:
        error: str = row["first_error"]
        return error
    return harmless_json({"cause": row["doom"] or "failed", "message": "it was given up"})


def _outcome(conclusion: Conclusion) -> Outcome:
    """What the step that waits for it sees."""
    if conclusion.state == "succeeded":
        output = conclusion.output
        return Succeeded(None if output is None else output.encode())
    child = ids.show("execution", conclusion.facts.execution_id)
    said = f"its execution {child} ended {conclusion.state}"
    return Failed(f"child_{conclusion.state}", said, detail={"execution_id": child}, is_final=True)


async def begin_compensation(
    connection: Connection[Record], facts: Facts, state: str, effects: Effects
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
            decision=await undo_apart(
                facts, vertex, await _compensation_scope(connection, facts, vertex)
            ),
            is_foreseen=True,
        )
        if job.decision.state == "dead":
            await connection.fetch(statement("step_end_many"), *dead_columns([job]))
            continue
        inserted = await connection.fetch(
            statement("step_insert_many"), *job_columns([job], is_undo=True)
        )
        effects.due += [row for row in inserted if row["parked_for"] is None]
        effects.parked_for_lock += [row["id"] for row in inserted if row["parked_for"] == "lock"]
        effects.lazy_marks.add(facts.execution_id)
        return True
    return False


async def _compensation_scope(
    connection: Connection[Record], facts: Facts, vertex: Vertex
) -> dict[str, Any]:
    return facts.scope() | {"steps": await steps_in_scope(connection, facts, vertex.undo_named)}
