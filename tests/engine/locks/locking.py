"""Locks by hand: jobs that want them, and what the tables say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from tests.engine.hands import noop, sql, submit_one, value
from windlass.model.job.draft import Draft
from windlass.model.job.lock import LockAsk
from windlass.store.database import Database

PARKED = "SELECT parked_for FROM windlass.job WHERE id = $1"
HOLDS = "SELECT lock, job_id, token FROM windlass.lock_hold ORDER BY lock, token"
# No lock has more holds than its capacity, and nobody both holds and waits.
WRONG = """
    SELECT count(*) FROM windlass.lock l
    WHERE l.capacity < (SELECT count(*) FROM windlass.lock_hold h WHERE h.lock = l.name)
       OR EXISTS (SELECT FROM windlass.lock_hold h JOIN windlass.lock_wait w ON w.waiter = h.job_id
                  WHERE h.lock = l.name)"""


def asks(locks: Sequence[str | tuple[str, int]]) -> tuple[LockAsk, ...]:
    return tuple(
        LockAsk(name=ask) if isinstance(ask, str) else LockAsk(name=ask[0], capacity=ask[1])
        for ask in locks
    )


def locking(*locks: str | tuple[str, int], **fields: Any) -> Draft:
    return noop(locks=asks(locks), **fields)


async def submit_locking(database: Database, *locks: str | tuple[str, int], **fields: Any) -> UUID:
    return await submit_one(database, locks=asks(locks), **fields)


async def parked_for(database: Database, job_id: UUID) -> str | None:
    found: str | None = await value(database, PARKED, job_id)
    return found


async def holders(database: Database, lock: str) -> list[UUID]:
    return [row["job_id"] for row in await sql(database, HOLDS) if row["lock"] == lock]


async def waiters(database: Database, lock: str) -> list[UUID]:
    """In the order of their turn."""
    found = "SELECT waiter FROM windlass.lock_wait WHERE lock = $1 ORDER BY rank, waiter"
    return [row["waiter"] for row in await sql(database, found, lock)]


async def nothing_left(database: Database) -> bool:
    held = await value(database, "SELECT count(*) FROM windlass.lock_hold")
    waiting = await value(database, "SELECT count(*) FROM windlass.lock_wait")
    return (held, waiting) == (0, 0)
