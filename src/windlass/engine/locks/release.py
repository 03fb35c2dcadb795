"""Release the locks of jobs that have ended, and take those of jobs that come to want theirs.

Both at once, because a transaction that ends one step of an execution often inserts the next: rows
of locks are asked for by one statement, in one order (engine.locks.grant).
Promises: what a job held goes to the next in line in the very transaction that ends it. Costs
nothing where nobody has locks.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.lock_passed import Passed
from windlass.engine.locks.enter import enter
from windlass.engine.locks.grant import Change, pass_on
from windlass.engine.progressed import Progressed
from windlass.limits import LOCK_LINE_MAX
from windlass.store.database import Connection, Record


async def release(
    connection: Connection[Record], ended: Sequence[Record], entering: Sequence[UUID] = ()
) -> Passed:
    """`ended` are rows with id and locks; `entering` are jobs that were parked for `lock`."""
    leaving = [row for row in ended if row["locks"]]
    if not leaving and not entering:
        return Passed()
    entered = await enter(connection, entering)
    change = Change(
        freed={name for row in leaving for name in row["locks"]},
        entered=entered.due,
        leaving=[row["id"] for row in leaving],
        line=LOCK_LINE_MAX + len(leaving) + len(entering),
    )
    passed = await pass_on(connection, change)
    passed.look_in(entered.look_seconds)
    return passed


async def take_locks(connection: Connection[Record], progressed: Progressed) -> list[Record]:
    """Let those who were parked for `lock` take their turn, at the end of the transaction that
    parked them; returns those that may start. Where jobs end, `engine.jobs.advance` does it.
    """
    if not progressed.locked:
        return []
    passed = await release(connection, [], progressed.locked)
    progressed.locked.clear()
    progressed.locks.add(passed)
    return passed.ready
