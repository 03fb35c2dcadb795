"""End jobs: the fenced way out of `running`, and what it means to those that depend on them.

    settle_in -+- tried again: `queued`, by the fence
               '- over -> end_in: its terminal state, by the fence
                            |
                            v
                         advance -+- progress: the execution it is a step of goes on
                                  +- abandon: what a step that failed had waited for is cancelled
                                  +- _tell_children: they are due, or fall and tell theirs in turn
                                  '- _release_locks: the next waiter has its locks

All of it happens in the transaction that ends the job, which is the caller's: there is no instant
at which a child, a step or a lock could be forgotten. Attempts that no node performs end here too,
by their rows: steps that wait for a fan-out, a child execution, a signal or a decision
(`end_awaited`), and jobs whose time is up (`run_round`).

Owns: what follows from an end inside its transaction; the columns of `job_end_many` and
`job_requeue_many`.
Promises: a job ends once, by the attempt and claim of its row, whoever is first (G2). It never
becomes `queued` before every parent has ended as it requires (G5). A transaction tells
CHILDREN_TOLD_MAX children at most: parents that have more stand in `parent_end` from the same
commit on, until the rest was told in others (engine.jobs.notify_children). Executions that nobody
waits for any more are only asked to end: that is on record with the commit, and their jobs hear of
it afterwards, a bounded number at a time (engine.executions.upkeep), whoever dies meanwhile.
Never: calls the network, decides a retry (model.job.settle), or says anything before the commit
(see engine.follow).
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.executions.early_start import StepStarts
from windlass.engine.executions.progress import progress
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.locks.grant import release
from windlass.limits import CHILDREN_TOLD_MAX, UNHEARD_SECONDS
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Failed, Outcome
from windlass.model.job.settle import Settlement, settle
from windlass.model.job.states import TERMINAL
from windlass.model.json.storable import harmless_json
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import bind, statement

# Jobs that a round looks at.
ROUND_MAX: Final = 1_000
PROBLEMS_SHOWN_MAX: Final = 10
# How a child ends whose parent failed, by its rule.
_STOPPED: Final = {"skip": "skipped", "fail": "dead"}


async def settle_in(
    connection: Connection[Record], settled: Sequence[tuple[UUID, Settlement]]
) -> Effects:
    """Try again or end, as each settlement says; with it the node that ran the attempt."""
    effects = Effects()
    for node_id in {node for node, _ in settled}:
        mine = [s for node, s in settled if node == node_id and s.state == "queued"]
        if mine:
            columns = requeue_columns(mine, node_id)
            effects.requeue(await connection.fetch(statement("job_requeue_many"), *columns))
    done = {row["id"] for row in effects.requeued}
    # No tries left, quarantined, or asked to cancel in the meantime.
    ends = [s for _, s in settled if s.job_id not in done]
    if ends:
        effects.add(await end_in(connection, ends))
    return effects


async def end_in(
    connection: Connection[Record],
    ends: Sequence[Settlement],
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> Effects:
    """End jobs, and do all that follows from it. For `is_divisible` see progress.decide_boards."""
    rows = await connection.fetch(statement("job_end_many"), *end_columns(ends, parents_too=True))
    return await advance(connection, rows, starts, is_divisible=is_divisible)


def requeue_columns(again: Sequence[Settlement], node_id: UUID) -> tuple[object, ...]:
    columns = {
        "id": [settlement.job_id for settlement in again],
        "attempt": [settlement.attempt for settlement in again],
        "claim_id": [settlement.claim_id for settlement in again],
        "outcome": [settlement.outcome for settlement in again],
        "rest": [settlement.rest_seconds for settlement in again],
        "error": [settlement.error for settlement in again],
        "crashed": [settlement.crashed for settlement in again],
        "node_id": [node_id] * len(again),
        "detail": [settlement.detail for settlement in again],
    }
    return bind("job_requeue_many", columns)


def end_columns(ends: Sequence[Settlement], *, parents_too: bool) -> tuple[object, ...]:
    columns = {
        "id": [settlement.job_id for settlement in ends],
        "attempt": [settlement.attempt for settlement in ends],
        "claim_id": [settlement.claim_id for settlement in ends],
        # A retry or a wait that may not happen any more is here only because of a cancel request.
        "state": _unless_all(
            "succeeded", [s.state if s.state in TERMINAL else "cancelled" for s in ends]
        ),
        "outcome": _unless_all(
            "succeeded", [s.outcome if s.state in TERMINAL else "cancelled" for s in ends]
        ),
        "result": _unless_all(None, [settlement.result for settlement in ends]),
        "error": _unless_all(None, [settlement.error for settlement in ends]),
        "cause": _unless_all(None, [settlement.cause for settlement in ends]),
        "detail": _unless_all(None, [settlement.detail for settlement in ends]),
        "parents_too": parents_too,
    }
    return bind("job_end_many", columns)


def _unless_all(usual: str | None, values: list[str | None]) -> list[str | None]:
    """Nothing, if all are as usual: the statement fills up what is missing, and the driver looks at
    each value twice (ADR 0043).
    """
    return [] if values.count(usual) == len(values) else values


async def advance(
    connection: Connection[Record],
    ended: Sequence[Record],
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> Effects:
    """What follows from the ends of `ended`: rows of job_end_many or job_drop_many, ended in this
    transaction. Returns these ends, too. For `is_divisible` see progress.decide_boards.
    """
    effects = Effects(ended=_states(ended))
    steps = [row for row in ended if row["execution_id"] is not None]
    if steps:
        await progress(connection, steps, effects, starts, is_divisible=is_divisible)
        fallen = [row for row in steps if row["state"] != "succeeded"]
        effects.add(await abandon(connection, fallen))
    parents = {row["id"]: row["state"] for row in ended if row["has_children"]}
    leaving = list(ended)
    if parents:
        dropped, _ = await _tell_children(connection, parents, effects, waits=True)
        leaving += dropped
    await release(connection, leaving, effects)
    return effects


async def advance_rest(
    connection: Connection[Record], parents: dict[UUID, str]
) -> tuple[Effects, int]:
    """Tell more children of parents that had ended before, each as its state says. Children that
    somebody holds are left for later. Returns how many were told, too, whatever became of them.
    """
    effects = Effects()
    dropped, told = await _tell_children(connection, parents, effects, waits=False)
    await release(connection, dropped, effects)
    return effects, told


def _states(rows: Sequence[Record]) -> dict[UUID, str]:
    return {row["id"]: row["state"] for row in rows}


async def _tell_children(
    connection: Connection[Record], parents: dict[UUID, str], effects: Effects, *, waits: bool
) -> tuple[list[Record], int]:
    """Level by level, until nobody is left or CHILDREN_TOLD_MAX were told. Returns who ended on the
    way, and how many were told. `waits`: for children that somebody holds.
    """
    left, told_count, ended = CHILDREN_TOLD_MAX, 0, list[Record]()
    unnotified: dict[UUID, str] = {}
    while parents:
        if left <= 0:
            unnotified |= parents
            break
        columns = list(parents), list(parents.values()), left, waits
        rows = await connection.fetch(statement("child_advance"), *columns)
        told = [row for row in rows if row["verdict"] != "more"]
        if len(told) < len(rows) or not waits:
            # More than were looked at, or held: who has told all its children is not noted.
            unnotified |= parents
        left -= len(told)
        told_count += len(told)
        effects.due += [row for row in told if row["verdict"] == "ready"]
        effects.parked_for_lock += [row["child_id"] for row in told if row["verdict"] == "lock"]
        dropped = await _drop_children(connection, told, max(left, 0))
        left -= len(dropped)
        ended += dropped
        # Each round is at least a level down; there are no circles: parents precede children.
        parents = {row["id"]: row["state"] for row in dropped if row["has_children"]}
    if unnotified:
        noted = await connection.fetch(
            statement("parent_end_insert_many"), list(unnotified), list(unnotified.values())
        )
        effects.unnotified_parents |= {row["parent_id"] for row in noted}
    effects.ended |= _states(ended)
    return ended, told_count


async def _drop_children(
    connection: Connection[Record], told: Sequence[Record], more: int
) -> list[Record]:
    """End those whose rule is not to run, and up to so many of those who fall with them."""
    stopped = {row["child_id"]: row["verdict"] for row in told if row["verdict"] in _STOPPED}
    if not stopped:
        return []
    if more and any(row["has_children"] for row in told if row["child_id"] in stopped):
        columns = list(stopped), list(stopped.values()), len(stopped) + more
        rows = await connection.fetch(statement("child_fallen"), *columns)
        stopped |= {row["id"]: row["rule"] for row in rows}
    error = harmless_json(
        {"cause": "parent_failed", "message": "a job it depends on ended without success"}
    )
    return await connection.fetch(
        statement("job_drop_many"),
        list(stopped),
        [_STOPPED[rule] for rule in stopped.values()],
        [error] * len(stopped),
        ["parent_failed"] * len(stopped),
    )


async def abandon(connection: Connection[Record], ended: Sequence[Record]) -> Effects:
    """Cancel what steps waited for that have ended without it: they timed out, or were cancelled.
    Their child executions are asked to end, and items of their fan-outs that have not begun never
    do (engine.executions.fan_out). `ended` are steps, of whatever kind, that did not succeed: rows
    with id, execution_id, step and item.
    """
    if not ended:
        return Effects()
    steps = [row for row in ended if row["item"] is None]
    stopped = await connection.fetch(
        statement("fan_stop_many"),
        [row["execution_id"] for row in steps],
        [row["step"] for row in steps],
    )
    children = await connection.fetch(
        statement("execution_children_of"), [row["id"] for row in ended]
    )
    effects = await request_execution_cancel(
        connection,
        [row["id"] for row in children],
        cause="parent_ended",
        message="the step that waited for it has ended",
    )
    effects.upkeep.fan_outs |= {(row["execution_id"], row["step"]) for row in stopped}
    return effects


async def request_execution_cancel(
    connection: Connection[Record], execution_ids: Sequence[UUID], *, cause: str, message: str
) -> Effects:
    """Ask executions to end `cancelled`. One that waits for its turn has no jobs and ends at once;
    so does the step that waits for it. `upkeep.unheard` are those whose jobs are to be told; the
    others have ended, or were asked before.
    """
    if not execution_ids:
        return Effects()
    rows = await connection.fetch(
        statement("execution_cancel_many"), list(execution_ids), cause, message, UNHEARD_SECONDS
    )
    effects = Effects(ended={row["id"]: "cancelled" for row in rows if row["is_ended"]})
    effects.upkeep.unheard |= {row["id"] for row in rows if not row["is_ended"]}
    effects.urgent_marks |= effects.upkeep.unheard
    waiting = {
        row["parent_job_id"]: child_cancelled_early(row["id"], cause)
        for row in rows
        if row["is_ended"] and row["parent_job_id"] is not None
    }
    if waiting:
        effects.add(await end_awaited(connection, waiting))
    return effects


def child_cancelled_early(execution_id: UUID, cause: str) -> Failed:
    """How the step ends that waited for an execution which never began."""
    child = ids.show("execution", execution_id)
    said = f"its execution {child} was {cause} before it began"
    return Failed("child_cancelled", said, detail={"execution_id": child}, is_final=True)


async def end_awaited(connection: Connection[Record], outcomes: Mapping[UUID, Outcome]) -> Effects:
    """End steps that wait for what no node performs. Of `outcomes` only those that do wait: the
    others have ended, or were never there. `ended` says which.
    """
    if not outcomes:
        return Effects()
    rows = await connection.fetch(statement("job_callback_get_many"), list(outcomes))
    waiting = [row for row in rows if row["callback_until"] is not None]
    if not waiting:
        return Effects()
    return await end_in(
        connection, [settle(attempt_of(row), outcomes[row["id"]], 0) for row in waiting]
    )


async def bury(database: Database, job_id: UUID, outcome: Outcome) -> Effects:
    """End a step that waits for what it will never get, in a transaction of its own."""

    async def work(connection: Connection[Record]) -> Effects:
        return await end_awaited(connection, {job_id: outcome})

    return await database.settle_together(work)


async def bury_unstorable(database: Database, job_id: UUID, trouble: Exception) -> Effects:
    """The same, for one whose values PostgreSQL refuses."""
    return await bury(database, job_id, Failed("unstorable", str(trouble), is_final=True))


def invalid_input(problems: Sequence[tuple[str, str]]) -> Failed:
    """How a step ends whose expressions gave what its kind can do nothing with."""
    shown = problems[:PROBLEMS_SHOWN_MAX]
    said = "; ".join(f"{pointer or '/'} {detail}" for pointer, detail in shown)
    detail = {"errors": [{"pointer": f"/input{at}", "detail": why} for at, why in shown]}
    return Failed(
        "invalid_input", f"its input cannot be used: {said}", detail=detail, is_final=True
    )


async def run_round(
    database: Database,
    what: str,
    find: str,
    deed: Callable[[Connection[Record], Sequence[Record]], Awaitable[Effects]],
    backoff: ItemBackoff | None = None,
) -> Effects:
    """Settle jobs whose time is up, without having run them: do `deed` to all that the statement
    `find` finds, ROUND_MAX at most; to each apart, if need be.

    The statement takes `most` and ids (NULL: all), and leaves alone what somebody else holds. It is
    asked once more in the transaction of the deed, for what may have changed since.
    """
    effects = Effects()
    found = await database.settle(find, ROUND_MAX, None)

    async def do(job_ids: Sequence[UUID]) -> Effects:
        async def work(connection: Connection[Record]) -> Effects:
            rows = await connection.fetch(statement(find), ROUND_MAX, list(job_ids))
            return await deed(connection, rows) if rows else Effects()

        return await database.settle_together(work)

    apart = IsolatedRound(what=what, deed=do, tell=effects.add, backoff=backoff or ItemBackoff())
    await apart.each([row["id"] for row in found])
    return effects


def attempt_of(row: Record) -> Attempt:
    """The attempt of a job's row, as far as settling needs it; `detail` where the row has it."""
    detail = row.get("detail")
    return Attempt(
        job_id=row["id"],
        claim_id=row["claim_id"],
        number=row["attempt"],
        queue=row["queue"],
        kind=row["kind"],
        priority=row["priority"],
        max_attempts=row["max_attempts"],
        snoozes=row["snoozes"],
        crashes=row["crashes"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        timeout_ms=None,
        retry=row["retry"],
        correlation_id=None,
        trace_id=None,
        input="",
        target=row.get("target"),
        task=row.get("task"),
        detail=None if detail is None else json.loads(detail),
    )
