"""Approvals: decisions that people are asked for (human in the loop), taken and listed.

Promises: a decision is taken once. The step that waits for it ends in the same transaction; when it
waits no more (it timed out, or was cancelled) nobody can decide for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.conditions import Conditions
from windlass.engine.effects import Effects
from windlass.engine.executions.decide_apart import check_apart
from windlass.engine.jobs.end import end_awaited
from windlass.errors import Conflict, FieldProblem, InvalidInput, NotFound
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.json import strict as strict_json
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# `void`: its step waits no more; it timed out, or was cancelled.
STATES: Final = ("open", "approved", "rejected", "void")


class AlreadyDecided(Conflict):
    """Somebody has decided it already."""

    code = "already_decided"

    def __init__(self, approval_id: UUID, state: str, by: str | None) -> None:
        self.approval_id, self.state = ids.show("approval", approval_id), state
        who = f" by {by}" if by else ""
        said = "nobody waits for it any more" if state == "void" else f"it is {state}{who}"
        super().__init__(f"{self.approval_id} cannot be decided: {said}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    is_approved: bool
    by: str | None
    answer: Any = None  # as its form asks for
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    approval: Record
    effects: Effects


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFilter:
    """Which. None or empty: any."""

    states: tuple[str, ...] = ()
    execution_id: UUID | None = None


async def decide(database: Database, approval_id: UUID, decision: Decision) -> Decided:
    """Raises NotFound, AlreadyDecided, InvalidInput."""

    async def work(connection: Connection[Record]) -> Decided:
        rows = await connection.fetch(statement("approval_hold"), approval_id)
        if not rows:
            raise NotFound("approval", ids.show("approval", approval_id))
        row = rows[0]
        if row["state"] != "open" or not row["is_waiting"]:
            state = row["state"] if row["state"] != "open" else "void"
            raise AlreadyDecided(approval_id, state, row["decided_by"])
        if decision.is_approved:
            await _check_answer(row, decision.answer, decision.by)
        effects = await end_awaited(connection, {row["job_id"]: _outcome(decision)})
        if row["job_id"] not in effects.ended:
            raise AlreadyDecided(approval_id, "void", None)
        answer = None if decision.answer is None else strict_json.write(decision.answer)
        (decided,) = await connection.fetch(
            statement("approval_decide"),
            approval_id,
            "approved" if decision.is_approved else "rejected",
            answer,
            decision.comment,
            decision.by,
        )
        await record(connection, _entry(decided, decision))
        return Decided(approval=decided, effects=effects)

    return await database.ask(work)


def _entry(row: Record, decision: Decision) -> Entry:
    """Without the answer, which is somebody's data: the approval has it."""
    return Entry(
        action="approval.approve" if decision.is_approved else "approval.reject",
        id=ids.show("approval", row["id"]),
        name=row["title"],
        after={"execution_id": ids.show("execution", row["execution_id"]), "step": row["step"]},
        note=decision.comment,
    )


async def _check_answer(row: Record, answer: Any, by: str | None) -> None:
    if row["form"] is None:
        return
    form = msgspec.json.decode(row["form"])
    if problems := await check_apart(answer, form, by):
        raise InvalidInput(
            *(FieldProblem(pointer=f"/answer{at}", detail=detail) for at, detail in problems)
        )


def _outcome(decision: Decision) -> Outcome:
    if not decision.is_approved:
        said = f"rejected by {decision.by or 'somebody'}"
        detail = {"by": decision.by, "comment": decision.comment, "answer": decision.answer}
        return Failed("rejected", said, detail=detail, is_final=True)
    shown = {
        "approved": True,
        "by": decision.by,
        "answer": decision.answer,
        "comment": decision.comment,
    }
    return Succeeded(strict_json.write(shown).encode())


async def open_approvals(connection: Connection[Record], steps: Sequence[Record]) -> None:
    """Ask, for steps of step_asked_get_many; one that has asked already is left alone."""
    if not steps:
        return
    given = [msgspec.json.decode(step["input"]) for step in steps]
    await connection.fetch(
        statement("approval_open_many"),
        ids.uuid7_many(len(steps)),
        [step["id"] for step in steps],
        [step["execution_id"] for step in steps],
        [step["step"] for step in steps],
        [str(one.get("title") or step["step"]) for one, step in zip(given, steps, strict=True)],
        [strict_json.write(one["form"]) if one.get("form") else None for one in given],
        [step["callback_until"] for step in steps],
    )


async def list_approvals(
    database: Database, which: ApprovalFilter, limit: int, before: UUID | None = None
) -> list[Record]:
    """Up to `limit` with ids below `before`, newest first."""
    wanted = Conditions("a.")
    if which.states == ("open",):
        wanted.plain("state = 'open'")  # as the index has it
    elif which.states:
        wanted.add("state = ANY ({}::text[])", list(which.states))
    wanted.add("execution_id = {}", which.execution_id)
    wanted.add("id < {}", before)
    return await wanted.page(database, "approval_list", limit)
