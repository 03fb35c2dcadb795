"""See to what time brings about at locks: holds that run out, callers that give up, jobs that are
due later, and whoever could not be given its turn because somebody had its row in hand.

Idempotent; any node may do it at any time. A node looks when it knows that there is something to
see (runtime.lock_keeper), and along with its rescue (engine.rescue), which is how it comes to know.
"""

from __future__ import annotations

from windlass.engine.lock_pass import Change, pass_on
from windlass.engine.lock_passed import Passed
from windlass.limits import LOCK_LINE_MAX, LOCKS_LATE_MAX
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def look(database: Database) -> Passed:
    """One round alone."""
    return await database.together(look_in)


async def look_in(connection: Connection[Record]) -> Passed:
    """`look_seconds` of the answer says when there is something to see again; None: never."""
    (late,) = await connection.fetch(statement("lock_late"), LOCKS_LATE_MAX)
    passed = Passed()
    if late["lapsed"] or late["locks"]:
        change = Change(
            freed={*late["lapsed"], *late["locks"]},
            entered=late["locks"],
            lapsed=late["lapsed"],
            late=late["waiters"],
            line=LOCK_LINE_MAX + len(late["waiters"]),
        )
        passed = await pass_on(connection, change)
    passed.look_in(late["next_seconds"])
    return passed
