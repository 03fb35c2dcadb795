"""Read the audit log: filters and pages, newest first; forget what is older than the retention."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.conditions import Conditions
from windlass.limits import AUDIT_FORGET_BATCH
from windlass.model.identity.actor import ActorKind
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

_ID: Final = re.compile(f"({'|'.join(ids.PREFIXES.values())})[0-9a-f]{{32}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    """Which entries. None: any."""

    actor: str | None = None  # its id, or its name
    actor_kind: tuple[ActorKind, ...] | None = None
    action: tuple[str, ...] | None = None
    noun: tuple[str, ...] | None = None  # of the action
    object: str | None = None  # its id, or its name
    address: str | None = None
    request_id: str | None = None
    created_after: datetime | None = None  # at it or later
    created_before: datetime | None = None  # and not at it


async def list_entries(
    database: Database, which: AuditFilter, limit: int, before: UUID | None = None
) -> list[Record]:
    """Up to `limit` entries with ids below `before`, newest first."""
    wanted = Conditions()
    wanted.add(_named("actor", which.actor), which.actor)
    wanted.add(_named("object", which.object), which.object)
    wanted.add("actor_kind = ANY ({}::text[])", which.actor_kind and list(which.actor_kind))
    wanted.add("action = ANY ({}::text[])", which.action and list(which.action))
    wanted.add("noun = ANY ({}::text[])", which.noun and list(which.noun))
    wanted.add("address = {}", which.address)
    wanted.add("request_id = {}", which.request_id)
    wanted.add("at >= {}", which.created_after)
    wanted.add("at < {}", which.created_before)
    wanted.ids_made(which.created_after, which.created_before)
    wanted.add("id < {}", before)
    return await wanted.page(database, "audit_list", limit)


def _named(column: str, text: str | None) -> str:
    """By its name alone, unless it looks as an id does: then a name is not likely, and may be."""
    by_name = f"{column}_name = {{0}}"
    is_id = text is not None and _ID.fullmatch(text) is not None
    return f"({column}_id = {{0}} OR {by_name})" if is_id else by_name


async def forget_entries(database: Database, days: int, most: int = AUDIT_FORGET_BATCH) -> int:
    """Remove up to so many that are older than so many days; returns how many there were. That is
    recorded, too.
    """

    async def work(connection: Connection[Record]) -> int:
        forgotten: int = await connection.fetchval(statement("audit_forget"), days, most)
        if forgotten:
            note = f"entries older than {days} days"
            await record(connection, Entry(action="audit.forget", note=note, count=forgotten))
        return forgotten

    return await database.together(work)
