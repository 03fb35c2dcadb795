"""Upkeep of executions: the background work that no node claims as a job, and its recovery after a
crash.

    run_upkeep      steps that nobody performs: child executions are begun, fan-outs go on, steps
                    that wait for a signal or a decision are served; and jobs are told (below)
    tell_jobs       what was asked of an execution reaches its jobs: to end, to pause, to go on
    find_neglected  what time or a crash has left undone, for the next round

What follows a commit is done by the process that made it (`engine.follow`). When that dies in
between, a fan-out has no places, a child was never begun, a question never asked, and jobs have not
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

from windlass.engine.effects import Finished, Progressed
from windlass.engine.executions.children import begin_children
from windlass.engine.executions.concurrency import Key, begin_next
from windlass.engine.executions.fan_out import drive_fan_outs, find_locked_steps
from windlass.engine.executions.refresh import find_locked_executions
from windlass.engine.executions.signals import answer_waiting_steps
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.end import bury_unstorable
from windlass.engine.locks.grant import take_locks
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


def needs_upkeep(progressed: Progressed) -> bool:
    return bool(progressed.fans or progressed.unbegun or progressed.asked or progressed.unheard)


async def run_upkeep(
    database: Database,
    progressed: Progressed,
    backoff: ItemBackoff | None = None,
    tree_max: int = EXECUTION_TREE_MAX,
    held: Progressed | None = None,
) -> Finished:
    """One round; what came of it may need another. Never fails: what could not be looked after is
    left to those who look again. What somebody holds goes to `held`, to be tried soon.
    """
    finished = Finished()
    later = Progressed() if held is None else held
    backoff = backoff or ItemBackoff()

    async def each(
        what: str,
        items: Collection[T],
        deed: Callable[[Database, Collection[T]], Awaitable[Finished]],
        find_held: Callable[[Database, list[T]], Awaitable[set[UUID]]],
        put_off: Callable[[T], None],
        bury: Callable[[T, BadValue], Awaitable[Finished]] | None = None,
    ) -> None:
        round_ = IsolatedRound(
            what=what,
            deed=partial(deed, database),
            tell=finished.add,
            backoff=backoff,
            bury=bury,
            held=partial(find_held, database),
            put_off=put_off,
        )
        await round_.each(items)

    async def give_up(job_id: UUID, trouble: BadValue) -> Finished:
        return await bury_unstorable(database, job_id, trouble)

    try:
        begin = partial(begin_children, tree_max=tree_max)
        unbegun, asked, unheard = progressed.unbegun, progressed.asked, progressed.unheard
        answer, locked = answer_waiting_steps, find_locked_steps
        await each("begin children", unbegun, begin, locked, later.unbegun.add, give_up)
        await each("ask", asked, answer, locked, later.asked.add, give_up)
        # The word is a label of the counter, and stays.
        await each("heed", unheard, tell_jobs, find_locked_executions, later.unheard.add)
        if progressed.fans:
            await drive_fan_outs(database, progressed.fans, finished.add, backoff, later.fans.add)
    except Unavailable as trouble:
        # Not kept for later: the net finds it when PostgreSQL is back.
        log.warning("tending_put_off", reason=str(trouble))
    return finished


async def find_neglected(database: Database, backoff: ItemBackoff | None = None) -> Finished:
    """What is to be looked after is in `progressed`; who rests after a failure is left out."""
    backoff = backoff or ItemBackoff()

    async def look(connection: Connection[Record]) -> tuple[Finished, list[Key]]:
        return await _find(connection, backoff.resting_ids)

    finished, keys = await database.together(look)
    turns = IsolatedRound(
        what="begin turns",
        deed=partial(_begin_turns, database),
        tell=finished.add,
        backoff=backoff,
    )
    try:
        await turns.each(keys)
    except Unavailable as trouble:  # what was found is looked after nevertheless
        log.warning("turns_put_off", reason=str(trouble))
    return finished


async def _find(connection: Connection[Record], resting: list[UUID]) -> tuple[Finished, list[Key]]:
    finished = Finished()
    found = finished.progressed
    columns = UNTENDED_SECONDS, UNTENDED_BATCH, resting
    for row in await connection.fetch(statement("untended_find"), *columns):
        match row["what"]:
            case "fan":
                found.fans.add((row["execution_id"], row["step"]))
            case "child":
                found.unbegun.add(row["id"])
            case _:
                found.asked.add(row["id"])
    late = await connection.fetch(statement("execution_time_out"), UNTENDED_BATCH, UNHEARD_SECONDS)
    found.marks |= {row["id"] for row in late}
    unheard = await connection.fetch(statement("execution_unheard_find"), UNTENDED_BATCH, resting)
    found.unheard |= {row["id"] for row in unheard}
    await connection.fetch(statement("approval_void"), UNTENDED_BATCH)
    due = await connection.fetch(statement("turn_due_find"), TURNS_MAX)
    return finished, [(row["workflow"], row["key"]) for row in due]


async def _begin_turns(database: Database, keys: Sequence[Key]) -> Finished:
    async def work(connection: Connection[Record]) -> Finished:
        finished = await begin_next(connection, keys)
        finished.ready += await take_locks(connection, finished.progressed)
        return finished

    return await database.settle_together(work)


async def tell_jobs(database: Database, execution_ids: Collection[UUID]) -> Finished:
    """One round for executions that were cancelled, timed out, paused or resumed. Those that need
    another are in `progressed.unheard` of the answer.
    """
    wishes: dict[str, list[UUID]] = {"end": [], "pause": [], "go": []}
    for row in await database.run("execution_wish_many", list(execution_ids)):
        wishes[row["wish"]].append(row["id"])
    finished = Finished()
    if wishes["end"]:
        finished.add(await _cancel_jobs(database, wishes["end"]))
    if wishes["pause"]:
        finished.add(await _park_jobs(database, wishes["pause"]))
    if wishes["go"]:
        finished.add(await _unpark_jobs(database, wishes["go"]))
    heard = set(execution_ids) - finished.progressed.unheard
    await database.settle("execution_heard_many", sorted(heard))
    return finished


async def _cancel_jobs(database: Database, execution_ids: list[UUID]) -> Finished:
    rows = await database.run("step_unheard_get_many", execution_ids, FINISH_BATCH_MAX)
    if not rows:
        return Finished()
    done = await cancel(database, [row["id"] for row in rows])
    finished = Finished(
        ended=done.ended, ready=done.ready, stopping=done.asked, progressed=done.progressed
    )
    return _again_if(len(rows), execution_ids, finished)


async def _park_jobs(database: Database, execution_ids: list[UUID]) -> Finished:
    (row,) = await database.settle("step_park_many", execution_ids, FINISH_BATCH_MAX)
    return _again_if(row["parked"], execution_ids, Finished())


async def _unpark_jobs(database: Database, execution_ids: list[UUID]) -> Finished:
    rows = await database.settle("step_unpark_many", execution_ids, FINISH_BATCH_MAX)
    return _again_if(len(rows), execution_ids, Finished(ready=rows))


def _again_if(count: int, execution_ids: list[UUID], finished: Finished) -> Finished:
    """A full round means that there may be more."""
    if count >= FINISH_BATCH_MAX:
        finished.progressed.unheard |= set(execution_ids)
    return finished
