"""Find what time or a crash has left undone about executions, and look after it.

What follows a commit is done by the process that made it (`engine.follow`). When that dies in
between, a fan-out has no places, a child was never begun, a question never asked, and jobs have not
heard that their execution was cancelled. And nobody but the clock says that an execution is out of
time. All of it idempotent, and one transaction when there is nothing to do; the leader looks every
few seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

import structlog

from windlass.engine.apart import Apart, Troubled
from windlass.engine.executions.concurrency import Key, begin_next
from windlass.engine.finished import Finished
from windlass.engine.locks.release import take_locks
from windlass.errors import Unavailable
from windlass.limits import TURNS_MAX, UNHEARD_SECONDS, UNTENDED_BATCH, UNTENDED_SECONDS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

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
