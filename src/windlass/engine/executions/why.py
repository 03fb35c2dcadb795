"""Why has this execution not ended? Every reason there is: its turn, a pause, and what each of its
open jobs waits for or does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.executions.read import read_execution
from windlass.engine.jobs.why import Gate, explain
from windlass.errors import NotFound
from windlass.limits import CHILD_DEPTH_MAX, EXECUTION_TREE_MAX, WHY_JOBS_MAX
from windlass.model.workflow.execution import ENDED
from windlass.store.database import Database, Record

_AHEAD_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Gate):
    step: str | None = None  # None: it concerns the whole execution
    item: int | None = None
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyExecution:
    state: str
    summary: str
    reasons: list[Reason]
    # More jobs are open than are told of here.
    has_more: bool = False


async def explain_execution(
    database: Database, execution_id: UUID, tree_max: int = EXECUTION_TREE_MAX
) -> WhyExecution:
    """Raises NotFound."""
    execution = await read_execution(database, execution_id)
    if execution["state"] in ENDED:
        return _ended(execution)
    reasons = [*_whole(execution), *await _tree(database, execution_id, tree_max)]
    reasons += await _turn(database, execution)
    jobs = await database.read("execution_open_jobs", execution_id, WHY_JOBS_MAX + 1)
    for job in jobs[:WHY_JOBS_MAX]:
        reasons += await _of_job(database, job)
    if not jobs and execution["begun_at"] is not None:
        said = "all its jobs have ended; its end is being written"
        reasons.append(Reason(gate="concluding", reason=said, since=execution["refreshed_at"]))
    return WhyExecution(
        state=execution["state"],
        summary=_summary(reasons),
        reasons=reasons,
        has_more=len(jobs) > WHY_JOBS_MAX,
    )


def _ended(execution: Record) -> WhyExecution:
    said = f"it has ended as {execution['state']}"
    reason = Reason(gate="ended", reason=said, since=execution["finished_at"])
    return WhyExecution(state=execution["state"], summary=said, reasons=[reason])


def _whole(execution: Record) -> Iterator[Reason]:
    """What holds for all of it."""
    if execution["cancel_requested_at"] is not None:
        since = execution["cancel_requested_at"]
        yield Reason(gate="cancel_requested", reason="it was asked to cancel", since=since)
    if execution["doom"] is not None:
        said = f"it is given up ({execution['doom']}); what runs is let end"
        yield Reason(gate="given_up", reason=said, since=execution["deadline"])
    if execution["paused_at"] is not None:
        said = "it is paused, and no step starts; resume it to go on"
        yield Reason(gate="paused", reason=said, since=execution["paused_at"])


async def _tree(database: Database, execution_id: UUID, tree_max: int) -> list[Reason]:
    """What holds for the tree that it belongs to."""
    ancestry = await database.read("execution_ancestry", execution_id, 2 * CHILD_DEPTH_MAX)
    reasons = [
        Reason(
            gate="ancestor_ended",
            reason=f"{ids.show('execution', row['id'])}, above it, {row['over']}: it ends with it",
        )
        for row in ancestry[1:]
        if row["over"] is not None
    ][:1]
    if ancestry:
        root_id = ancestry[0]["root_id"] or ancestry[-1]["id"]
        (tree,) = await database.read("execution_tree_get", root_id)
        if tree["born"] >= tree_max:
            root = ids.show("execution", root_id)
            said = f"{tree['born']} executions were begun below {root}, as many as may be"
            reasons.append(Reason(gate="tree_full", reason=f"{said}: no further child begins"))
    return reasons


async def _turn(database: Database, execution: Record) -> list[Reason]:
    """How many wait before it for its concurrency key."""
    if execution["begun_at"] is not None:
        return []
    (row,) = await database.read("execution_why", execution["id"], _AHEAD_MAX)
    key, limit = execution["concurrency_key"], execution["concurrency_limit"]
    named = ", ".join(ids.show("execution", one) for one in row["running_ids"])
    more = f"{row['ahead']}{' or more' if row['ahead'] >= _AHEAD_MAX else ''}"
    said = (
        f"it waits for its turn: {limit} of {execution['workflow']!r} with the key {key!r} may run"
    )
    said += f", which {named or 'nobody'} {'do' if len(row['running_ids']) > 1 else 'does'}"
    said += f"; {more} wait before it" if row["ahead"] else ""
    return [Reason(gate="turn", reason=said, since=execution["created_at"])]


async def _of_job(database: Database, job: Record) -> list[Reason]:
    try:
        why = await explain(database, job["id"])
    except NotFound:
        return []  # forgotten in between
    gates = why.gates or [Gate(gate="due", reason=why.summary)]
    return [
        Reason(
            gate=gate.gate,
            reason=gate.reason,
            since=gate.since,
            until=gate.until,
            step=job["step"],
            item=job["item"],
            job_id=job["id"],
        )
        for gate in gates
        if gate.gate != "ended"
    ]


def _summary(reasons: list[Reason]) -> str:
    """The first that is no running attempt, for that is what somebody may do something about."""
    if not reasons:
        return "its next steps are being decided"
    first = next((one for one in reasons if one.gate != "running"), reasons[0])
    return first.reason if first.step is None else f"step {first.step}: {first.reason}"
