"""Write entries of the audit log, in the transaction of what they are about.

The actor is whoever acts just now (model.identity.actor), unless an entry says another. One
statement, however many entries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.audit.redact import redacted, redacted_text, short
from windlass.limits import AUDIT_MEMBERS_MAX, AUDIT_NAME_CHARS_MAX, AUDIT_NOTE_CHARS_MAX
from windlass.model.identity.actor import Actor, acting
from windlass.model.identity.audited import ACTIONS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import bind, statement

_ADDRESS_CHARS_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What was done. Of many objects at once: one entry for each, or one with their `count`."""

    action: str  # noun.verb
    id: str | None = None  # of the object, as the API shows it; None: it has only a name
    name: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    note: str | None = None
    count: int | None = None  # of what it stands for; None: one
    actor: Actor | None = None  # None: whoever acts now

    def __post_init__(self) -> None:
        assert self.action in ACTIONS, f"{self.action} is no action; add it to the table"


async def record(connection: Connection[Record], *entries: Entry) -> None:
    """In the caller's transaction."""
    if entries:
        await connection.fetch(statement("audit_write_many"), *_values(entries))


async def record_alone(database: Database, *entries: Entry) -> None:
    """Of what changes nothing in PostgreSQL: an entry in a transaction of its own."""
    await database.run("audit_write_many", *_values(entries))


async def ask_and_record(
    database: Database,
    name: str,
    *args: Any,
    entries: Callable[[list[Record]], Iterable[Entry]],
    about: Hashable | None = None,
) -> list[Record]:
    """As Database.ask_for, with the entries that are made of the rows it returns. None: no row."""

    async def work(connection: Connection[Record]) -> list[Record]:
        rows = await connection.fetch(statement(name), *args)
        if rows:
            await record(connection, *entries(rows))
        return rows

    return await database.ask(work, about=about)


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of both only what is not the same."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return (
        {name: before[name] for name in names if name in before},
        {name: after[name] for name in names if name in after},
    )


def of_jobs(action: str, job_ids: Sequence[UUID], about: Mapping[str, Any] | None = None) -> Entry:
    """One entry for one job, or for as many as were done in one transaction."""
    shown = [ids.show("job", one) for one in job_ids[: AUDIT_MEMBERS_MAX + 1]]
    if len(job_ids) == 1:
        return Entry(action=action, id=shown[0], after=about)
    return Entry(action=action, after={**(about or {}), "jobs": shown}, count=len(job_ids))


def shown_id(noun: str, value: UUID | None) -> str | None:
    return None if value is None else ids.show(noun, value)


def _values(entries: tuple[Entry, ...]) -> tuple[Any, ...]:
    actors = [entry.actor or acting() for entry in entries]
    return bind(
        "audit_write_many",
        {
            "id": ids.uuid7_many(len(entries)),
            "actor_kind": [actor.kind for actor in actors],
            "actor_id": [short(actor.id, AUDIT_NAME_CHARS_MAX) for actor in actors],
            "actor_name": [short(actor.name, AUDIT_NAME_CHARS_MAX) for actor in actors],
            "credential_id": [actor.credential_id for actor in actors],
            "address": [short(actor.address, _ADDRESS_CHARS_MAX) for actor in actors],
            "request_id": [actor.request_id for actor in actors],
            "node_id": [actor.node_id for actor in actors],
            "action": [entry.action for entry in entries],
            "object_id": [short(entry.id, AUDIT_NAME_CHARS_MAX) for entry in entries],
            "object_name": [redacted_text(entry.name, AUDIT_NAME_CHARS_MAX) for entry in entries],
            "before": [redacted(entry.before) for entry in entries],
            "after": [redacted(entry.after) for entry in entries],
            "note": [redacted_text(entry.note, AUDIT_NOTE_CHARS_MAX) for entry in entries],
            "count": [entry.count for entry in entries],
        },
    )
