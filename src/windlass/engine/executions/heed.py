"""Let the jobs of executions heed what was asked of these: to end, to pause, to go on.

    cancel, timeout, pause, resume -> `unheard_until` in the execution's row, committed
    -> rounds of so many jobs -> nobody is left, nobody is on the way -> `unheard_until` gone

What was asked is on record before any job hears of it, so a crash in between loses nothing: whoever
looks next (`engine.executions.untended`) goes on. A step that is being inserted at that very moment
may not know yet; hence the executions are looked at again until no such transaction can be under
way. Idempotent; any node may do it at any time.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from windlass.engine.finished import Finished
from windlass.engine.jobs.cancel import cancel
from windlass.limits import FINISH_BATCH_MAX
from windlass.store.database import Database


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
