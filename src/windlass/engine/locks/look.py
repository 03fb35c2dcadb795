"""See to what time brings about at locks: holds that run out, callers that give up, jobs that are
due later, and whoever could not be given its turn because somebody had its row in hand.

Idempotent; any node may do it at any time. A node looks when it knows that there is something to
see (runtime.lock_keeper), and along with its rescue (engine.jobs.rescue), which is how it comes to
know. A lock whose row somebody holds keeps neither the others nor the rescue waiting: a round waits
for SIFT_WAITS_MAX of them at most, and the next one begins behind the last that was looked at.
"""

from __future__ import annotations

from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

import structlog

from windlass.engine.lock_passed import Passed
from windlass.engine.locks.grant import Change, pass_on
from windlass.limits import (
    HELD_REST_SECONDS_MAX,
    LOCK_LINE_MAX,
    LOCK_LOOK_SECONDS,
    LOCKS_LATE_MAX,
    SIFT_WAITS_MAX,
)
from windlass.store.database import Connection, Database, Held, Record
from windlass.store.statements import statement

log = structlog.get_logger()

# The lock that was looked at last, where they are looked at one by one.
_last: Final[WeakKeyDictionary[Database, str]] = WeakKeyDictionary()


async def look(database: Database) -> Passed:
    """One round alone."""
    try:
        return await database.settle_together(look_in, lock_seconds=LOCK_LOOK_SECONDS)
    except Held:
        return await _look_at_each(database)


async def _look_at_each(database: Database) -> Passed:
    """Somebody holds one of them: the others by themselves."""
    late = await database.settle("lock_late_names", _last.get(database, ""), LOCKS_LATE_MAX)
    passed, held = Passed(), 0
    for name in [row["lock"] for row in late]:
        _last[database] = name
        try:
            work = partial(look_in, name=name)
            passed.add(await database.settle_together(work, lock_seconds=LOCK_LOOK_SECONDS))
        except Held:
            held += 1
            if held == SIFT_WAITS_MAX:
                break
    log.info("locks_held", count=held)
    passed.look_in(HELD_REST_SECONDS_MAX)
    return passed


async def look_in(connection: Connection[Record], name: str | None = None) -> Passed:
    """With a name, at this lock alone. `look_seconds` of the answer says when there is something to
    see again; None: never.
    """
    (late,) = await connection.fetch(statement("lock_late"), LOCKS_LATE_MAX, name)
    lapsed, locks = late["lapsed"], late["locks"]
    passed = Passed()
    if lapsed or locks:
        change = Change(
            freed={*lapsed, *locks},
            entered=locks,
            lapsed=lapsed,
            late=late["waiters"],
            line=LOCK_LINE_MAX + len(late["waiters"]),
        )
        passed = await pass_on(connection, change)
    passed.look_in(late["next_seconds"])
    return passed
