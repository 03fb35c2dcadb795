"""Tell children that their parents have ended, and their children in turn; go on with executions.

Promises: a job never becomes `queued` before every parent has ended as it requires (G5). Runs in
the transaction that ended the parents, so there is no instant at which a child could be forgotten.
A transaction tells CHILDREN_TOLD_MAX at most: parents that have more stand in `parent_end` from the
same commit on, until the rest was told in others (engine.jobs.notify_children).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from windlass.engine.executions.early_start import StepStarts
from windlass.engine.executions.progress import progress
from windlass.engine.jobs.abandon import abandon
from windlass.engine.locks.release import release
from windlass.engine.progressed import Progressed
from windlass.limits import CHILDREN_TOLD_MAX
from windlass.model.json.storable import harmless_json
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

# How a child ends whose parent failed, by its rule.
_STOPPED: Final = {"skip": "skipped", "fail": "dead"}


@dataclass(slots=True)
class Advanced:
    """What came of it, for wake-ups and waiting callers."""

    ready: list[Record] = field(default_factory=list)  # queue, priority, run_at
    ended: list[Record] = field(default_factory=list)  # id, state, queue
    progressed: Progressed = field(default_factory=Progressed)  # of executions
    told: int = 0  # children, whatever became of them


async def advance(
    connection: Connection[Record],
    ended: Sequence[Record],
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> Advanced:
    """`ended` are rows of job_end_many or job_drop_many, ended in this transaction. For
    `is_divisible` see progress.play.
    """
    advanced = Advanced()
    steps = [row for row in ended if row["execution_id"] is not None]
    if steps:
        advanced.progressed = await progress(connection, steps, starts, is_divisible=is_divisible)
        advanced.ready += advanced.progressed.ready
        advanced.ended += advanced.progressed.ended
        fallen = [row for row in steps if row["state"] != "succeeded"]
        advanced.progressed.add((await abandon(connection, fallen)).progressed)
    parents = {row["id"]: row["state"] for row in ended if row["has_children"]}
    leaving = [row for row in ended if row["locks"]]
    if parents:
        dropped = await _tell(connection, parents, advanced, waits=True)
        leaving += [row for row in dropped if row["locks"]]
    await _release(connection, leaving, advanced)
    return advanced


async def advance_rest(connection: Connection[Record], parents: dict[UUID, str]) -> Advanced:
    """Tell more children of parents that had ended before, each as its state says. Children that
    somebody holds are left for later.
    """
    advanced = Advanced()
    dropped = await _tell(connection, parents, advanced, waits=False)
    await _release(connection, [row for row in dropped if row["locks"]], advanced)
    return advanced


async def _release(
    connection: Connection[Record], leaving: Sequence[Record], advanced: Advanced
) -> None:
    locked = advanced.progressed.locked
    passed = await release(connection, leaving, locked)
    locked.clear()
    advanced.ready += passed.ready
    advanced.progressed.locks.add(passed)


async def _tell(
    connection: Connection[Record], parents: dict[UUID, str], advanced: Advanced, *, waits: bool
) -> list[Record]:
    """Returns who ended on the way."""
    left, ended = CHILDREN_TOLD_MAX, list[Record]()
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
        advanced.told += len(told)
        advanced.ready += [row for row in told if row["verdict"] == "ready"]
        advanced.progressed.locked += [row["child_id"] for row in told if row["verdict"] == "lock"]
        dropped = await _drop(connection, told, max(left, 0))
        left -= len(dropped)
        ended += dropped
        # Each round is at least a level down; there are no circles: parents precede children.
        parents = {row["id"]: row["state"] for row in dropped if row["has_children"]}
    if unnotified:
        noted = await connection.fetch(
            statement("parent_end_insert_many"), list(unnotified), list(unnotified.values())
        )
        advanced.progressed.unnotified |= {row["parent_id"] for row in noted}
    advanced.ended += ended
    return ended


async def _drop(connection: Connection[Record], told: Sequence[Record], more: int) -> list[Record]:
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
