"""Replays of jobs that are steps: their executions go on from there, in the same transaction.

    hold the executions -> may it be brought back? -> forget what followed from it -> go on

What followed from the end that is taken back is forgotten, whether it was skipped or ran: it is
decided anew when the job ends again. A step that no node performed cannot be tried again, and one
whose execution took back what it did would stand alone: for those there is
`engine.executions.rerun`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.executions.concurrency import check_room
from windlass.engine.executions.facts import Facts, facts_in
from windlass.engine.executions.rerun import Ends, forget_steps, read_ends, reopen
from windlass.errors import Conflict
from windlass.model.workflow.plan import UNDO
from windlass.model.workflow.redo import compensated, descendants
from windlass.model.workflow.step_kinds import KINDS
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


class NotReplayable(Conflict):
    """A step that cannot be brought back by itself."""

    code = "not_replayable"

    def __init__(self, row: Record, why: str) -> None:
        self.job_id = ids.show("job", row["id"])
        self.execution_id = ids.show("execution", row["execution_id"])
        self.step = row["step"].removesuffix(UNDO)
        super().__init__(
            f"{self.job_id} is step {self.step!r} of {self.execution_id}: {why}; rerun the "
            f'execution instead (POST /v1/executions/{self.execution_id}/rerun {{"from_step": '
            f'"{self.step}"}})'
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEnd:
    """The ends that a caller saw and means (an optimistic lock): a job that was brought back since,
    and has ended again, is none of them. None: any.
    """

    state: str | None = None
    by: datetime | None = None  # by the database's clock

    def covers(self, state: str, finished_at: datetime) -> bool:
        return (self.state is None or state == self.state) and (
            self.by is None or finished_at <= self.by
        )


ANY_END: Final = SeenEnd()


async def reopen_executions(
    connection: Connection[Record], job_ids: Sequence[UUID], seen: SeenEnd = ANY_END
) -> dict[UUID, Conflict]:
    """Let the executions go on of which these are steps that ended so; returns why some must stay
    as they are.
    The caller has said `windlass.verb = 'replay'`, and brings the others back.
    """
    found = await connection.fetch(statement("step_ended_get_many"), list(job_ids))
    if not found:
        return {}
    executions = sorted({row["execution_id"] for row in found})
    await connection.fetch(statement("turn_hold_of"), executions)
    rows = await connection.fetch(statement("execution_hold_many"), executions)
    held = {row["id"]: row for row in rows}
    facts = await facts_in(connection, list(held))
    # Again, now that nobody else can bring them back meanwhile.
    steps: dict[UUID, list[Record]] = defaultdict(list)
    for row in await connection.fetch(statement("step_ended_get_many"), list(job_ids)):
        if seen.covers(row["state"], row["finished_at"]):
            steps[row["execution_id"]].append(row)
    refused: dict[UUID, Conflict] = {}
    for execution_id, rows in steps.items():
        if execution_id in held:
            known = facts.get(execution_id)
            refused |= await _go_on(connection, held[execution_id], known, rows)
    return refused


async def _go_on(
    connection: Connection[Record], held: Record, facts: Facts | None, rows: Sequence[Record]
) -> dict[UUID, Conflict]:
    """One execution; `facts` is None when its definition is gone."""
    is_ended = held["finished_at"] is not None
    if is_ended:
        try:
            await check_room(connection, held)
        except Conflict as refusal:
            return {row["id"]: refusal for row in rows}
    ends = Ends(ends={}, known={}) if facts is None else await read_ends(connection, facts)
    refused: dict[UUID, Conflict] = {
        row["id"]: NotReplayable(row, why) for row in rows if (why := _refusal(row, held, ends))
    }
    refused |= await _reopen_items(connection, [row for row in rows if row["id"] not in refused])
    if facts is not None:
        left = [row for row in rows if row["id"] not in refused]
        refused |= await _take_back(connection, facts, ends, left)
    back = [row for row in rows if row["id"] not in refused]
    if back and is_ended:
        await reopen(
            connection,
            held["id"],
            None if facts is None else facts.plan.definition.timeout_seconds,
            keeps_doom=all(row["step"].endswith(UNDO) for row in back),
            event="replayed",
            data={"jobs": [ids.show("job", row["id"]) for row in back[:100]]},
        )
    return refused


def _refusal(row: Record, held: Record, ends: Ends) -> str | None:
    if not KINDS[row["kind"]].is_performed or row["state"] == "skipped":
        return "no node performed it, so there is nothing to try again"
    if row["cause"] == "expression":
        return "its input could not be made"
    if held["finished_at"] is None and (held["cancel_requested_at"] or held["doom"]):
        return "its execution is ending"
    if compensated(ends.ends) and not row["step"].endswith(UNDO):
        return "what its execution did was taken back"
    return None


async def _reopen_items(
    connection: Connection[Record], rows: Sequence[Record]
) -> dict[UUID, NotReplayable]:
    """Items of fan-outs may be tried again while the others go on: they count as open."""
    items = [row for row in rows if row["item"] is not None]
    keys = sorted({(row["execution_id"], row["step"]) for row in items})
    if not keys:
        return {}
    columns = [execution_id for execution_id, _ in keys], [step for _, step in keys]
    await connection.fetch(statement("fan_lock_many"), *columns)
    fans = await connection.fetch(statement("fan_tally_many"), *columns)
    going = {fan["step"] for fan in fans if not fan["is_stopped"]}
    back = [row for row in items if row["step"] in going]
    succeeded = Counter(row["step"] for row in back if row["state"] == "succeeded")
    failed = Counter(row["step"] for row in back if row["state"] != "succeeded")
    await connection.fetch(
        statement("fan_delta_insert_many"),
        *columns,
        [-succeeded[step] for _, step in keys],
        [-failed[step] for _, step in keys],
    )
    return {
        row["id"]: NotReplayable(row, "its fan-out has ended")
        for row in items
        if row["step"] not in going
    }


async def _take_back(
    connection: Connection[Record], facts: Facts, ends: Ends, rows: Sequence[Record]
) -> dict[UUID, NotReplayable]:
    """Forget what followed from these steps, unless some of it runs."""
    roots = {row["step"]: row for row in rows if row["step"] in facts.plan.vertices}
    roots = {step: row for step, row in roots.items() if row["item"] is None}
    later = descendants(facts.plan, roots)
    open_ones = [step for step in later if step in ends.known and ends.known[step].is_open]
    items = await connection.fetch(statement("step_open_items"), facts.execution_id, sorted(later))
    if open_ones or items:
        return {
            row["id"]: NotReplayable(row, "what follows from it runs") for row in roots.values()
        }
    if later:
        await forget_steps(connection, facts, later)
    return {
        roots[step]["id"]: NotReplayable(roots[step], "it follows from another of these")
        for step in later & roots.keys()
    }
