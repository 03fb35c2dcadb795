"""Rerun an execution that has ended, from a step on.

    hold it -> which steps -> forget how they ended, and all that followed -> decide them anew

Promises: what did not follow from these steps stays as it is, with its results; the others are done
as if for the first time, by the same version of the definition. A step that was compensated is done
again in any case: what it did was taken back. What was forgotten is on record as an event.

`read_ends`, `forget_steps` and `reopen` are shared with `replay_steps`. Their caller holds the
execution's row, and has said `windlass.verb = 'replay'`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.executions.board import Board
from windlass.engine.executions.concurrency import check_room
from windlass.engine.executions.facts import Facts, facts_in
from windlass.engine.executions.progress import decide_boards
from windlass.engine.locks.grant import take_locks
from windlass.errors import Conflict, InvalidInput, NotFound
from windlass.limits import FORGET_STEPS_MAX, NAMED_STEPS_MAX
from windlass.model.json import strict as strict_json
from windlass.model.workflow.plan import UNDO, End, Plan
from windlass.model.workflow.redo import StepEnd, compensated, descendants, unsuccessful
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


class ExecutionOpen(Conflict):
    """Asked of one that has not ended."""

    code = "execution_open"

    def __init__(self, execution_id: UUID, state: str) -> None:
        self.execution_id, self.state = ids.show("execution", execution_id), state
        super().__init__(f"{self.execution_id} is {state}; cancel it, or wait until it has ended")


class NothingToRerun(Conflict):
    """No step has failed, so it is not clear where to begin."""

    code = "nothing_to_rerun"

    def __init__(self, execution_id: UUID) -> None:
        self.execution_id = ids.show("execution", execution_id)
        super().__init__(
            f"no step of {self.execution_id} has failed; name the one to begin with as `from_step`"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    steps: frozenset[str]  # those that are done again
    effects: Effects


async def rerun(database: Database, execution_id: UUID, from_step: str | None = None) -> Rerun:
    """From this step on; None: from those that did not succeed. Raises NotFound, InvalidInput,
    ExecutionOpen, NothingToRerun, ConcurrencyLimit.
    """

    async def work(connection: Connection[Record]) -> Rerun:
        await connection.fetch(statement("turn_hold_of"), [execution_id])
        row = await _hold_ended(connection, execution_id)
        facts = (await facts_in(connection, [execution_id]))[execution_id]
        ends = await read_ends(connection, facts)
        first = _first(facts, ends, from_step)
        again = first | descendants(facts.plan, first)
        await check_room(connection, row)
        await connection.fetch(statement("verb_set"), "replay")
        gone = await forget_steps(connection, facts, again)
        await reopen(
            connection,
            execution_id,
            facts.plan.definition.timeout_seconds,
            event="rerun",
            data={"from_step": from_step, "steps": len(again), "forgotten": dict(gone)},
        )
        effects = await _decide(connection, facts, ends, again)
        entry = Entry(
            action="execution.rerun",
            id=ids.show("execution", execution_id),
            name=row["workflow"],
            before={"state": row["state"]},
            after={"from_step": from_step},
            count=len(again),
        )
        await record(connection, entry)
        return Rerun(steps=again, effects=effects)

    return await database.ask(work)


async def _hold_ended(connection: Connection[Record], execution_id: UUID) -> Record:
    rows = await connection.fetch(statement("execution_hold_many"), [execution_id])
    if not rows:
        raise NotFound("execution", ids.show("execution", execution_id))
    if rows[0]["finished_at"] is None:
        raise ExecutionOpen(execution_id, rows[0]["state"])
    return rows[0]


def _first(facts: Facts, ends: Ends, from_step: str | None) -> frozenset[str]:
    """The steps that are done again for their own sake."""
    if from_step is None:
        found = unsuccessful(facts.plan, ends.ends) | compensated(ends.ends)
        if not found:
            raise NothingToRerun(facts.execution_id)
        return found
    if from_step not in facts.plan.vertices:
        raise InvalidInput.at("/from_step", _unknown(facts.plan, from_step))
    return frozenset({from_step}) | compensated(ends.ends)


def _unknown(plan: Plan, step: str) -> str:
    known = list(plan.vertices)
    more = f" and {len(known) - NAMED_STEPS_MAX} more" if len(known) > NAMED_STEPS_MAX else ""
    return f"{step!r} is no step of it; known are {' '.join(known[:NAMED_STEPS_MAX])}{more}"


async def _decide(
    connection: Connection[Record], facts: Facts, ends: Ends, again: frozenset[str]
) -> Effects:
    board = Board(facts)
    kept = {step: end for step, end in ends.known.items() if step not in again}
    board.again(kept, [step for step in facts.plan.vertices if step in again])
    effects = Effects(urgent_marks={facts.execution_id})
    await decide_boards(connection, {facts.execution_id: board}, effects)
    # Even if it ends at once, all that is left being skipped.
    effects.urgent_marks.add(facts.execution_id)
    await take_locks(connection, effects)
    return effects


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
    """Ended steps, with their items and compensations; returns how many of each state."""
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
