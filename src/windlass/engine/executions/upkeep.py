"""Upkeep of executions: the background work that no node claims as a job, and its recovery after a
crash.

    run_upkeep      steps that nobody performs: child executions are begun, fan-outs go on, steps
                    that wait for a signal or a decision are served; and jobs are told (below)
    tell_jobs       what was asked of an execution reaches its jobs: to end, to pause, to go on
    find_neglected  what time or a crash has left undone, for the next round

What follows a commit is done by the process that made it (`engine.follow`). When that dies in
between, a fan-out has no items, a child was never begun, a question never asked, and jobs have not
heard that their execution was cancelled; and nobody but the clock says that an execution is out of
time. So the leader looks every few seconds: one transaction when there is nothing to do.

How jobs are told:

    cancel, timeout, pause, resume -> `unheard_until` in the execution's row, committed
    -> rounds of so many jobs -> nobody is left, nobody is on the way -> `unheard_until` gone

What was asked is on record before any job hears of it, so a crash in between loses nothing. A step
that is being inserted at that very moment may not know yet; hence the executions are looked at
again until no such transaction can be under way.

Promises: every deed is idempotent, and any node may do it at any time; its own ends may call for
more. Nobody waits for one that cannot be looked after, or whose row somebody holds
(`engine.isolated_round`); a step whose mistake is permanent ends `dead` with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from windlass.engine.effects import Effects, Upkeep
from windlass.engine.executions.children import begin_children
from windlass.engine.executions.concurrency import Key, begin_next
from windlass.engine.executions.fan_out import drive_fan_outs, find_locked_steps
from windlass.engine.executions.refresh import find_locked_executions
from windlass.engine.executions.signals import answer_waiting_steps
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.end import bury_unstorable
from windlass.engine.locks.grant import Change, grant_next, take_locks
from windlass.errors import Unavailable
from windlass.limits import (
    EXECUTION_TREE_MAX,
    FINISH_BATCH_MAX,
    TURNS_MAX,
    UNHEARD_SECONDS,
    UNTENDED_BATCH,
    UNTENDED_SECONDS,
)
from windlass.store.database import BadValue, Connection, Database, Record
from windlass.store.statements import statement

log = structlog.get_logger()
T = TypeVar("T", bound=Hashable)


async def run_upkeep(
    database: Database,
    due: Upkeep,
    backoff: ItemBackoff | None = None,
    tree_max: int = EXECUTION_TREE_MAX,
    held: Upkeep | None = None,
) -> Effects:
    """One round; what came of it may need another. Never fails: what could not be looked after is
    left to those who look again. What somebody holds goes to `held`, to be tried soon.
    """
    effects = Effects()
    later = Upkeep() if held is None else held
    backoff = backoff or ItemBackoff()

    async def each(
        what: str,
        items: Collection[T],
        deed: Callable[[Database, Collection[T]], Awaitable[Effects]],
        find_held: Callable[[Database, list[T]], Awaitable[set[UUID]]],
        put_off: Callable[[T], None],
        bury: Callable[[T, BadValue], Awaitable[Effects]] | None = None,
    ) -> None:
        round_ = IsolatedRound(
            what=what,
            deed=partial(deed, database),
            tell=effects.add,
            backoff=backoff,
            bury=bury,
            held=partial(find_held, database),
            put_off=put_off,
        )
        await round_.each(items)

    async def give_up(job_id: UUID, trouble: BadValue) -> Effects:
        return await bury_unstorable(database, job_id, trouble)

    try:
        begin = partial(begin_children, tree_max=tree_max)
        steps, answer, locked = due.waiting_steps, answer_waiting_steps, find_locked_steps
        await each("begin children", due.children, begin, locked, later.children.add, give_up)
        await each("ask", steps, answer, locked, later.waiting_steps.add, give_up)
        # The word is a label of the counter, and stays.
        await each("heed", due.unheard, tell_jobs, find_locked_executions, later.unheard.add)
        if due.fan_outs:
            await drive_fan_outs(database, due.fan_outs, effects.add, backoff, later.fan_outs.add)
    except Unavailable as trouble:
        # Not kept for later: the net finds it when PostgreSQL is back.
        log.warning("tending_put_off", what="going on with workflows", reason=str(trouble))
    return effects


async def find_neglected(database: Database, backoff: ItemBackoff | None = None) -> Effects:
    """What is to be looked after is in `upkeep`; who rests after a failure is left out."""
    backoff = backoff or ItemBackoff()

    async def look(connection: Connection[Record]) -> tuple[Effects, list[Key]]:
        return await _find(connection, backoff.resting_ids)

    effects, keys = await database.together(look)
    turns = IsolatedRound(
        what="begin turns",
        deed=partial(_begin_turns, database),
        tell=effects.add,
        backoff=backoff,
    )
    try:
        await turns.each(keys)
    except Unavailable as trouble:  # what was found is looked after nevertheless
        log.warning("turns_put_off", reason=str(trouble))
    return effects


async def _find(connection: Connection[Record], resting: list[UUID]) -> tuple[Effects, list[Key]]:
    effects = Effects()
    found = effects.upkeep
    columns = UNTENDED_SECONDS, UNTENDED_BATCH, resting
    for row in await connection.fetch(statement("untended_find"), *columns):
        match row["what"]:
            case "fan":
                found.fan_outs.add((row["execution_id"], row["step"]))
            case "child":
                found.children.add(row["id"])
            case _:
                found.waiting_steps.add(row["id"])
    late = await connection.fetch(statement("execution_time_out"), UNTENDED_BATCH, UNHEARD_SECONDS)
    effects.urgent_marks |= {row["id"] for row in late}
    unheard = await connection.fetch(statement("execution_unheard_find"), UNTENDED_BATCH, resting)
    found.unheard |= {row["id"] for row in unheard}
    await connection.fetch(statement("approval_void"), UNTENDED_BATCH)
    due = await connection.fetch(statement("turn_due_find"), TURNS_MAX)
    return effects, [(row["workflow"], row["key"]) for row in due]


async def _begin_turns(database: Database, keys: Sequence[Key]) -> Effects:
    async def work(connection: Connection[Record]) -> Effects:
        effects = await begin_next(connection, keys)
        await take_locks(connection, effects)
        return effects

    return await database.settle_together(work)


async def tell_jobs(database: Database, execution_ids: Collection[UUID]) -> Effects:
    """One round for executions that were cancelled, timed out, paused or resumed. Those that need
    another are in `upkeep.unheard` of the answer.
    """
    wishes: dict[str, list[UUID]] = {"end": [], "pause": [], "go": []}
    for row in await database.run("execution_wish_many", list(execution_ids)):
        wishes[row["wish"]].append(row["id"])
    effects = Effects()
    if wishes["end"]:
        effects.add(await _cancel_jobs(database, wishes["end"]))
    if wishes["pause"]:
        effects.add(await _park_jobs(database, wishes["pause"]))
    if wishes["go"]:
        effects.add(await _unpark_jobs(database, wishes["go"]))
    heard = set(execution_ids) - effects.upkeep.unheard
    await database.settle("execution_heard_many", sorted(heard))
    return effects


async def _cancel_jobs(database: Database, execution_ids: list[UUID]) -> Effects:
    rows = await database.run("step_unheard_get_many", execution_ids, FINISH_BATCH_MAX)
    if not rows:
        return Effects()
    effects = await cancel(database, [row["id"] for row in rows])
    return _again_if(len(rows), execution_ids, effects)


async def _park_jobs(database: Database, execution_ids: list[UUID]) -> Effects:
    async def work(connection: Connection[Record]) -> tuple[int, Effects]:
        columns = execution_ids, FINISH_BATCH_MAX
        (row,) = await connection.fetch(statement("step_park_many"), *columns)
        effects = Effects()
        if row["freed"]:
            await grant_next(connection, Change(freed=row["freed"]), effects)
        return row["parked"], effects

    parked, effects = await database.settle_together(work)
    return _again_if(parked, execution_ids, effects)


async def _unpark_jobs(database: Database, execution_ids: list[UUID]) -> Effects:
    rows = await database.settle("step_unpark_many", execution_ids, FINISH_BATCH_MAX)
    effects = Effects(due=[row for row in rows if row["parked_for"] is None])
    if len(effects.due) < len(rows):
        effects.look_in(0.0)
    return _again_if(len(rows), execution_ids, effects)


def _again_if(count: int, execution_ids: list[UUID], effects: Effects) -> Effects:
    """A full round means that there may be more."""
    if count >= FINISH_BATCH_MAX:
        effects.upkeep.unheard |= set(execution_ids)
    return effects
