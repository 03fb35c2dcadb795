"""Signals to executions, and the steps that wait for them.

A signal is written before anybody is looked for, under the execution's lock; a step that begins to
wait looks for it under the same lock. So whichever comes first, they meet, and exactly once: a
signal ends one step, a step takes one signal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.executions.approvals import open_approvals
from windlass.engine.executions.checkpoint_waits import wake_for_signal
from windlass.engine.executions.decide_apart import filled_apart
from windlass.engine.idempotency import recall
from windlass.engine.jobs.end import end_awaited, invalid_input
from windlass.engine.jobs.request import Idempotency
from windlass.errors import Conflict, NotFound, WindlassError
from windlass.limits import SIGNALS_KEPT_MAX
from windlass.model.job.outcome import Outcome, Succeeded
from windlass.model.workflow.step_kinds import ASKED_KINDS, complete
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


class ExecutionEnded(Conflict):
    """The execution has ended, and nothing more can be asked of it but a rerun."""

    code = "execution_ended"

    def __init__(self, execution_id: UUID, state: str) -> None:
        self.execution_id, self.state = ids.show("execution", execution_id), state
        super().__init__(f"{self.execution_id} has ended as {state}; rerun it from a step instead")


class SignalsFull(WindlassError):
    """Nobody asks for them, and they come and come."""

    code = "signals_full"
    status = 429
    retry_after_seconds: ClassVar[int] = 5

    def __init__(self, execution_id: UUID) -> None:
        self.execution_id = ids.show("execution", execution_id)
        super().__init__(
            f"{self.execution_id} keeps {SIGNALS_KEPT_MAX} signals that no step has asked for, and "
            "takes no more until one does"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"limit": SIGNALS_KEPT_MAX, "current": SIGNALS_KEPT_MAX, "unit": "signals"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    signal_id: UUID
    taken_by: UUID | None  # the job of the step that got it; None: it is kept until one asks
    effects: Effects
    is_replayed: bool = False  # the same Idempotency-Key was answered before


async def send_signal(
    database: Database,
    execution_id: UUID,
    name: str,
    payload: str,
    sent_by: str | None,
    mark: Idempotency | None = None,
) -> Sent:
    """`payload` is JSON. Raises NotFound, ExecutionEnded, SignalsFull, IdempotencyMismatch."""

    async def work(connection: Connection[Record]) -> Sent:
        signal_id = ids.uuid7()
        if known := await recall(connection, mark, [signal_id]):
            return await _sent_before(connection, known[0])
        held = await hold_open(connection, execution_id)
        await _check_room(connection, execution_id)
        await connection.fetch(
            statement("execution_signal_insert"), signal_id, execution_id, name, payload, sent_by
        )
        # Without what it brings: that is somebody's data, and the signal has it.
        entry = Entry(
            action="execution.signal",
            id=ids.show("execution", execution_id),
            name=held["workflow"],
            after={"signal": name, "signal_id": ids.show("signal", signal_id)},
        )
        await record(connection, entry)
        # One that ends just now is waited for, and found no more: then it is the next one's turn.
        while waiting := await connection.fetch(
            statement("step_waiting_for_signal"), execution_id, name
        ):
            job_id = waiting[0]["id"]
            effects = await _give(connection, execution_id, name, job_id)
            if effects is not None:
                return Sent(signal_id=signal_id, taken_by=job_id, effects=effects)
        woken = await wake_for_signal(connection, execution_id, name)
        sent = Sent(signal_id=signal_id, taken_by=None, effects=Effects())
        sent.effects.requeue(woken)
        return sent

    return await database.ask(work)


async def _sent_before(connection: Connection[Record], signal_id: UUID) -> Sent:
    rows = await connection.fetch(statement("execution_signal_get"), signal_id)
    taken_by = rows[0]["taken_by"] if rows else None
    return Sent(signal_id=signal_id, taken_by=taken_by, effects=Effects(), is_replayed=True)


async def _check_room(connection: Connection[Record], execution_id: UUID) -> None:
    (row,) = await connection.fetch(
        statement("execution_signal_count"), execution_id, SIGNALS_KEPT_MAX
    )
    if row["kept"] >= SIGNALS_KEPT_MAX:
        raise SignalsFull(execution_id)


async def hold_open(connection: Connection[Record], execution_id: UUID) -> Record:
    """Hold an execution that has not ended. Raises NotFound, ExecutionEnded."""
    rows = await connection.fetch(statement("execution_hold_many"), [execution_id])
    if not rows:
        raise NotFound("execution", ids.show("execution", execution_id))
    if rows[0]["finished_at"] is not None:
        raise ExecutionEnded(execution_id, rows[0]["state"])
    return rows[0]


async def answer_waiting_steps(database: Database, job_ids: Collection[UUID]) -> Effects:
    """Give steps that have begun to wait what was kept for them; ask people what they decide.

    What the steps ask is checked first, as that may take a while; it does not change any more.
    """
    before = await database.settle("step_asked_get_many", list(job_ids))
    checked, found = {row["id"] for row in before}, await _wrong(before)

    async def work(connection: Connection[Record]) -> Effects:
        rows = await connection.fetch(statement("step_asked_get_many"), list(job_ids))
        late = await _wrong([row for row in rows if row["id"] not in checked])
        asked = {row["id"] for row in rows}
        wrong = {job_id: how for job_id, how in (found | late).items() if job_id in asked}
        effects = Effects()
        effects.add(await end_awaited(connection, wrong))
        rows = [row for row in rows if row["id"] not in wrong]
        for kind, answer in _ANSWERS.items():
            if asking := [row for row in rows if row["kind"] == kind]:
                effects.add(await answer(connection, asking))
        return effects

    return await database.settle_together(work)


async def _ask_people(connection: Connection[Record], asking: Sequence[Record]) -> Effects:
    await open_approvals(connection, asking)
    return Effects()


async def _give_kept(connection: Connection[Record], asking: Sequence[Record]) -> Effects:
    """The signals that came before somebody waited."""
    held = sorted({row["execution_id"] for row in asking})
    await connection.fetch(statement("execution_lock_many"), held)
    effects = Effects()
    for row in asking:
        name = msgspec.json.decode(row["input"])["name"]
        given = await _give(connection, row["execution_id"], name, row["id"])
        effects.add(given or Effects())
    return effects


# In this order: people are asked before an execution is locked for its signals.
_ANSWERS: Final = complete(ASKED_KINDS, {"approval": _ask_people, "signal": _give_kept})


async def _wrong(rows: Sequence[Record]) -> dict[UUID, Outcome]:
    """Those whose expressions gave what nobody can wait for."""
    found = {row["id"]: await filled_apart(row["kind"], row["input"]) for row in rows}
    return {job_id: invalid_input(problems) for job_id, problems in found.items() if problems}


async def _give(
    connection: Connection[Record], execution_id: UUID, name: str, job_id: UUID
) -> Effects | None:
    """The oldest signal that waits, to this step. None: it waits no more, having timed out or been
    cancelled, be it a moment ago. Held first: nobody else may end it between the two.
    """
    if not await connection.fetch(statement("step_hold_waiting"), [job_id]):
        return None
    taken = await connection.fetch(statement("execution_signal_take"), execution_id, name, job_id)
    if not taken:
        return Effects()
    return await end_awaited(connection, {job_id: Succeeded(taken[0]["payload"].encode())})
