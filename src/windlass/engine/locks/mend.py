"""Repair orphaned holds and waiters of locks, and forget locks that nobody uses.

A node of an earlier version ends jobs without a word to their locks, and a defect may do anything:
the leader looks for holds of jobs that are over and for jobs that are in no wait list. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from windlass.engine.effects import Effects
from windlass.engine.isolated_round import IsolatedRound, ItemBackoff
from windlass.engine.locks.grant import Change, enter_wait_lists, grant_next
from windlass.limits import LOCK_KEPT_SECONDS, LOCK_WAITERS_READ_MAX
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

log = structlog.get_logger()

BATCH: Final = 500


async def mend_locks(database: Database, backoff: ItemBackoff | None = None) -> Effects:
    """One round; a stray that cannot be mended keeps no other from it."""
    effects = Effects()
    strays = await database.run("lock_strays", BATCH)
    if strays:
        log.warning("locks_mended", count=len(strays), first=dict(strays[0]))
    round_ = IsolatedRound(
        what="mend locks",
        deed=partial(_mend, database),
        tell=effects.add,
        backoff=backoff or ItemBackoff(),
        key=lambda row: row["job_id"],
    )
    await round_.each(strays)
    return effects


async def _mend(database: Database, strays: Sequence[Record]) -> Effects:
    async def work(connection: Connection[Record]) -> Effects:
        over = [row for row in strays if row["problem"] != "in_no_line"]
        lost = [row["job_id"] for row in strays if row["problem"] == "in_no_line"]
        entered = await enter_wait_lists(connection, lost)
        freed = {row["lock"] for row in over}
        change = Change(
            freed=freed,
            entered=entered.due | freed,  # waiters may be there without their lock
            leaving=list({row["job_id"] for row in over}),
            waiters_max=LOCK_WAITERS_READ_MAX + len(strays),
        )
        effects = Effects()
        await grant_next(connection, change, effects)
        effects.look_in(entered.look_seconds)
        return effects

    return await database.together(work)


async def forget_locks(database: Database, kept_seconds: float = LOCK_KEPT_SECONDS) -> int:
    """One batch; returns how many are gone. A lock made again goes on with larger tokens."""

    async def work(connection: Connection[Record]) -> int:
        idle = await connection.fetch(statement("lock_idle"), kept_seconds, BATCH)
        names = [row["name"] for row in idle]
        if not names:
            return 0
        return len(await connection.fetch(statement("lock_forget_many"), names))

    return await database.together(work)
