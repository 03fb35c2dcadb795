"""Look after steps that nobody performs: fan-outs, child executions, those who wait for a signal;
and let jobs heed what was asked of their executions.

Done after the commit that made them or ended parts of them. Each deed is idempotent, and its own
ends may call for more; what a crash left undone is found by `engine.executions.upkeep`.
Promises: nobody waits for one that cannot be looked after, or whose row somebody holds
(engine.apart); a step whose mistake is permanent ends `dead` with the reason.

Find what time or a crash has left undone about executions, and look after it.

What follows a commit is done by the process that made it (`engine.follow`). When that dies in
between, a fan-out has no places, a child was never begun, a question never asked, and jobs have not
heard that their execution was cancelled. And nobody but the clock says that an execution is out of
time. All of it idempotent, and one transaction when there is nothing to do; the leader looks every
few seconds.

Let the jobs of executions heed what was asked of these: to end, to pause, to go on.

    cancel, timeout, pause, resume -> `unheard_until` in the execution's row, committed
    -> rounds of so many jobs -> nobody is left, nobody is on the way -> `unheard_until` gone

What was asked is on record before any job hears of it, so a crash in between loses nothing: whoever
looks next (`engine.executions.upkeep`) goes on. A step that is being inserted at that very moment
may not know yet; hence the executions are looked at again until no such transaction can be under
way. Idempotent; any node may do it at any time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from functools import partial
from typing import TypeVar
from uuid import UUID

import structlog

from windlass.engine.apart import Apart, Troubled
from windlass.engine.effects import Finished, Progressed
from windlass.engine.executions.children import begin_children
from windlass.engine.executions.concurrency import Key, begin_next
from windlass.engine.executions.fan_out import held_steps, tend_fans
from windlass.engine.executions.refresh import held_executions
from windlass.engine.executions.signals import ask
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


def needs_tending(progressed: Progressed) -> bool:
    return bool(progressed.fans or progressed.unbegun or progressed.asked or progressed.unheard)


async def tend(
    database: Database,
    progressed: Progressed,
    troubled: Troubled | None = None,
    tree_max: int = EXECUTION_TREE_MAX,
    held: Progressed | None = None,
) -> Finished:
    """One round; what came of it may need another. Never fails: what could not be looked after is
    left to those who look again. What somebody holds goes to `held`, to be tried soon.
    """
    finished = Finished()
    later = Progressed() if held is None else held
    troubled = troubled or Troubled()

    async def each(
        what: str,
        items: Collection[T],
        deed: Callable[[Database, Collection[T]], Awaitable[Finished]],
        find_held: Callable[[Database, list[T]], Awaitable[set[UUID]]],
        put_off: Callable[[T], None],
        bury: Callable[[T, BadValue], Awaitable[Finished]] | None = None,
    ) -> None:
        round_ = Apart(
            what=what,
            deed=partial(deed, database),
            tell=finished.add,
            troubled=troubled,
            bury=bury,
            held=partial(find_held, database),
            put_off=put_off,
        )
        await round_.each(items)

    async def give_up(job_id: UUID, trouble: BadValue) -> Finished:
        return await bury_unstorable(database, job_id, trouble)

    try:
        begin = partial(begin_children, tree_max=tree_max)
        unbegun, asked = progressed.unbegun, progressed.asked
        await each("begin children", unbegun, begin, held_steps, later.unbegun.add, give_up)
        await each("ask", asked, ask, held_steps, later.asked.add, give_up)
        await each("heed", progressed.unheard, heed, held_executions, later.unheard.add)
        if progressed.fans:
            await tend_fans(database, progressed.fans, finished.add, troubled, later.fans.add)
    except Unavailable as trouble:
        # Not kept for later: the net finds it when PostgreSQL is back.
        log.warning("tending_put_off", reason=str(trouble))
    return finished


log = structlog.get_logger()


async def find_untended(database: Database, troubled: Troubled | None = None) -> Finished:
    """What is to be looked after is in `progressed`; who rests after a failure is left out."""
    troubled = troubled or Troubled()

    async def look(connection: Connection[Record]) -> tuple[Finished, list[Key]]:
        return await _look(connection, troubled.resting_ids)

    finished, keys = await database.together(look)
    turns = Apart(
        what="begin turns",
        deed=partial(_begin, database),
        tell=finished.add,
        troubled=troubled,
    )
    try:
        await turns.each(keys)
    except Unavailable as trouble:  # what was found is looked after nevertheless
        log.warning("turns_put_off", reason=str(trouble))
    return finished


async def _look(connection: Connection[Record], resting: list[UUID]) -> tuple[Finished, list[Key]]:
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


async def _begin(database: Database, keys: Sequence[Key]) -> Finished:
    async def work(connection: Connection[Record]) -> Finished:
        finished = await begin_next(connection, keys)
        finished.ready += await take_locks(connection, finished.progressed)
        return finished

    return await database.settle_together(work)


async def heed(database: Database, execution_ids: Collection[UUID]) -> Finished:
    """One round. `progressed.unheard` of the answer are those that need another."""
    wishes: dict[str, list[UUID]] = {"end": [], "pause": [], "go": []}
    for row in await database.run("execution_wish_many", list(execution_ids)):
        wishes[row["wish"]].append(row["id"])
    finished = Finished()
    if wishes["end"]:
        finished.add(await _end(database, wishes["end"]))
    if wishes["pause"]:
        finished.add(await _pause(database, wishes["pause"]))
    if wishes["go"]:
        finished.add(await _go(database, wishes["go"]))
    heard = set(execution_ids) - finished.progressed.unheard
    await database.settle("execution_heard_many", sorted(heard))
    return finished


async def _end(database: Database, execution_ids: list[UUID]) -> Finished:
    rows = await database.run("step_unheard_get_many", execution_ids, FINISH_BATCH_MAX)
    if not rows:
        return Finished()
    done = await cancel(database, [row["id"] for row in rows])
    finished = Finished(
        ended=done.ended, ready=done.ready, stopping=done.asked, progressed=done.progressed
    )
    return _again_if(len(rows), execution_ids, finished)


async def _pause(database: Database, execution_ids: list[UUID]) -> Finished:
    (row,) = await database.settle("step_park_many", execution_ids, FINISH_BATCH_MAX)
    return _again_if(row["parked"], execution_ids, Finished())


async def _go(database: Database, execution_ids: list[UUID]) -> Finished:
    rows = await database.settle("step_unpark_many", execution_ids, FINISH_BATCH_MAX)
    return _again_if(len(rows), execution_ids, Finished(ready=rows))


def _again_if(count: int, execution_ids: list[UUID], finished: Finished) -> Finished:
    """A full round means that there may be more."""
    if count >= FINISH_BATCH_MAX:
        finished.progressed.unheard |= set(execution_ids)
    return finished
