"""Distributed locks and semaphores as people see and set them: capacity, holders, waiters.

Owns: reading them, and what capacity one has. Resizing grants what became free.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.locks.grant import Change, grant_next
from windlass.errors import NotFound
from windlass.limits import LOCK_COUNTED_MAX, LOCK_SHOWN_MAX
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    token: int
    job_id: UUID | None  # None: a caller of the API
    owner: str | None
    taken_at: datetime
    expires_at: datetime | None  # None: when its job ends


@dataclass(frozen=True, slots=True, kw_only=True)
class LockWaiter:
    job_id: UUID | None  # None: a caller of the API
    owner: str | None
    priority: int
    since: datetime
    until: datetime | None  # None: for as long as it takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    name: str
    capacity: int
    token: int  # of the newest grant
    changed_at: datetime
    held: int
    waiting: int  # counted to LOCK_COUNTED_MAX
    has_more_waiting: bool
    holders: list[Holder]  # the first LOCK_SHOWN_MAX
    waiters: list[LockWaiter]  # the first LOCK_SHOWN_MAX, in order

    @property
    def etag(self) -> str:
        return _etag(self.capacity)


async def list_locks(database: Database, limit: int, after: str = "") -> list[Lock]:
    """Up to `limit` locks by name, from the one that follows `after`."""
    return await _read(database, after, limit, None)


async def read_lock(database: Database, name: str) -> Lock:
    found = await _read(database, "", 1, [name])
    if not found:
        raise NotFound("lock", name)
    return found[0]


async def resize_lock(
    database: Database, name: str, capacity: int, wanted: Precondition = UNCONDITIONAL
) -> Effects:
    """Let so many hold it; a lock that is not known yet is made. Raises PreconditionFailed."""

    async def work(connection: Connection[Record]) -> Effects:
        row = await connection.fetchrow(statement("lock_row_hold"), name)
        assert row is not None, "it is made if need be"
        before = None if row["is_made"] else {"capacity": row["capacity"]}
        wanted.check("lock", name, None if before is None else _etag(row["capacity"]))
        await connection.fetch(statement("lock_resize"), name, capacity)
        after = {"capacity": capacity}
        await record(connection, Entry(action="lock.resize", name=name, before=before, after=after))
        effects = Effects()
        await grant_next(connection, Change(freed=[name], lapsed=[name]), effects)
        return effects

    return await database.ask(work, about=("lock", name))


async def _read(database: Database, after: str, limit: int, names: list[str] | None) -> list[Lock]:
    rows = await database.read(
        "lock_list", after, limit, names, LOCK_SHOWN_MAX, LOCK_COUNTED_MAX + 1
    )
    return [_lock(row) for row in rows]


def _etag(capacity: int) -> str:
    return tag_of(capacity)


def _lock(row: Record) -> Lock:
    return Lock(
        name=row["name"],
        capacity=row["capacity"],
        token=row["token"],
        changed_at=row["changed_at"],
        held=row["held"],
        waiting=min(row["waiting"], LOCK_COUNTED_MAX),
        has_more_waiting=row["waiting"] > LOCK_COUNTED_MAX,
        holders=[_holder(one) for one in json.loads(row["holders"])],
        waiters=[_waiter(one) for one in json.loads(row["waiters"])],
    )


def _holder(found: dict[str, Any]) -> Holder:
    return Holder(
        token=found["token"],
        job_id=_uuid(found["job_id"]),
        owner=found["owner"],
        taken_at=datetime.fromisoformat(found["taken_at"]),
        expires_at=_instant(found["expires_at"]),
    )


def _waiter(found: dict[str, Any]) -> LockWaiter:
    return LockWaiter(
        job_id=_uuid(found["job_id"]),
        owner=found["owner"],
        priority=found["priority"],
        since=datetime.fromisoformat(found["since"]),
        until=_instant(found["until"]),
    )


def _uuid(text: str | None) -> UUID | None:
    return None if text is None else UUID(text)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
