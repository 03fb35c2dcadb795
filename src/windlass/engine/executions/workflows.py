"""Workflows and their versions.

Owns: the only statements that write them.
Promises: a published version never changes, and its number is never given again. Publishing what
the newest version holds already gives that version and writes nothing. A deleted workflow takes no
new executions; its versions stay, so those that run go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from windlass.engine.audit.record import Entry, ask_and_record, record
from windlass.engine.jobs.request import Idempotency
from windlass.errors import Conflict, IdempotencyMismatch, NotFound
from windlass.model.json import strict as strict_json
from windlass.model.json.etag import UNCONDITIONAL, Precondition, tag_of
from windlass.model.workflow.definition import Definition
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

VERSION_MAX: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    name: str
    version: int  # the newest; 0: there is only a draft
    hash: bytes | None  # None: none is published
    definition: str | None  # JSON; None: none is published, or it was not asked for
    description: str | None
    published_by: str | None
    created_at: datetime
    changed_at: datetime
    published_at: datetime | None  # None: never
    has_draft: bool

    @property
    def etag(self) -> str:
        return _etag(self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    workflow: str
    version: int
    hash: bytes
    definition: str | None  # JSON; None: it was not asked for
    published_by: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    version: int
    is_new: bool  # False: it was the newest already
    is_replayed: bool = False  # True: the same Idempotency-Key was answered before


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptDraft:
    """What is being drawn; nobody has looked at it yet."""

    name: str
    text: str  # JSON
    version: int  # published beside it; 0: none
    changed_at: datetime

    @property
    def etag(self) -> str:
        """Of all that is shown."""
        return tag_of(self.version, self.changed_at, self.text)


class DraftChanged(Conflict):
    """Somebody else has changed the draft meanwhile."""

    code = "draft_changed"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the draft of {name!r} was changed meanwhile; look at it and try again")


async def publish(
    database: Database,
    definition: Definition,
    by: str | None,
    *,
    idempotency: Idempotency | None = None,
    draft: str | None = None,
    wanted: Precondition = UNCONDITIONAL,
) -> Published:
    """Make it the newest version. `draft` is the draft that it was made of, which goes with it.

    Raises PreconditionFailed.
    """
    whole = definition.document
    if definition.layout is not None:
        whole = {**whole, "layout": definition.layout}
    text = strict_json.write(whole)

    async def work(connection: Connection[Record]) -> Published:
        name = definition.name
        if idempotency is not None and not await _take(connection, idempotency):
            return await _answered(connection, definition)
        [row] = await connection.fetch(statement("workflow_lock"), name)
        newest: int = row["version"]
        wanted.check("workflow", name, _etag(newest) if row["is_there"] else None)
        if draft is not None:
            await _spend(connection, name, draft)
        held = await connection.fetch(statement("workflow_version_list"), name, newest + 1, 1)
        if held and held[0]["hash"] == definition.hash:
            await connection.fetch(statement("workflow_revive"), name)
            await record(connection, _published(name, newest, newest))
            return Published(version=newest, is_new=False)
        version = name, newest + 1, definition.hash, text, by
        await connection.fetch(statement("workflow_publish"), *version)
        await record(connection, _published(name, newest, newest + 1))
        return Published(version=newest + 1, is_new=True)

    return await database.ask(work)


def _published(name: str, before: int, after: int) -> Entry:
    """A version is kept as it is: its number says all of it."""
    known = {"version": before} if before else None
    return Entry(action="workflow.publish", name=name, before=known, after={"version": after})


async def _take(connection: Connection[Record], mark: Idempotency) -> bool:
    """True: nobody has used this key. Raises IdempotencyMismatch for another request's."""
    columns = [mark.owner], [mark.key], [mark.body_hash], [""]
    if await connection.fetch(statement("idempotency_take_many"), *columns):
        return True
    known = await connection.fetch(statement("idempotency_get_many"), [mark.owner], [mark.key])
    if known[0]["body_hash"] != mark.body_hash:
        raise IdempotencyMismatch(mark.key)
    return False


async def _answered(connection: Connection[Record], definition: Definition) -> Published:
    row = await connection.fetchrow(
        statement("workflow_version_by_hash"), definition.name, definition.hash
    )
    if row is None:
        raise NotFound("version of the workflow", definition.name)
    return Published(version=row["version"], is_new=False, is_replayed=True)


async def _spend(connection: Connection[Record], name: str, draft: str) -> None:
    kept = await connection.fetchrow(statement("workflow_draft_get"), name)
    if kept is None or kept["draft"] != draft:
        raise DraftChanged(name)
    await connection.fetch(statement("workflow_draft_clear"), name)


async def list_workflows(database: Database, limit: int, after: str = "") -> list[Workflow]:
    """Up to `limit` workflows by name, from the one that follows `after`, without definitions."""
    rows = await database.read("workflow_list", after, limit)
    return [_workflow(row, None) for row in rows]


async def read_workflow(database: Database, name: str, version: int | None = None) -> Workflow:
    """With its newest definition, or that of a version."""
    rows = await database.read("workflow_get", name, version)
    if not rows:
        raise NotFound("workflow", name)
    return _workflow(rows[0], rows[0]["definition"])


async def delete_workflow(database: Database, name: str) -> None:
    entry = Entry(action="workflow.delete", name=name)
    if not await ask_and_record(database, "workflow_delete", name, entries=lambda _rows: [entry]):
        raise NotFound("workflow", name)


async def list_versions(
    database: Database, name: str, limit: int, before: int = VERSION_MAX
) -> list[Version]:
    """Newest first, without definitions. Raises NotFound for a workflow that has none."""
    rows = await database.read("workflow_version_list", name, before, limit)
    if not rows and not await database.read("workflow_version_get", name, None):
        raise NotFound("workflow", name)
    return [_version(name, row, None) for row in rows]


async def read_version(database: Database, name: str, version: int | None = None) -> Version:
    """None: the newest."""
    rows = await database.read("workflow_version_get", name, version)
    if not rows:
        raise NotFound("workflow", name if version is None else f"{name} version {version}")
    return _version(name, rows[0], rows[0]["definition"])


async def put_draft(
    database: Database, name: str, text: str, wanted: Precondition = UNCONDITIONAL
) -> KeptDraft:
    """Raises PreconditionFailed."""

    async def work(connection: Connection[Record]) -> KeptDraft:
        if wanted.is_given:
            await connection.fetch(statement("workflow_lock"), name)
            kept = await connection.fetchrow(statement("workflow_draft_get"), name)
            known = None if kept is None else _draft(name, kept).etag
            wanted.check("draft of the workflow", name, known)
        [row] = await connection.fetch(statement("workflow_draft_put"), name, text)
        return _draft(name, row)

    return await database.ask(work)


async def read_draft(database: Database, name: str) -> KeptDraft:
    rows = await database.read("workflow_draft_get", name)
    if not rows:
        raise NotFound("draft of the workflow", name)
    return _draft(name, rows[0])


async def discard_draft(database: Database, name: str) -> None:
    entry = Entry(action="workflow.discard_draft", name=name)
    if not await ask_and_record(
        database, "workflow_draft_discard", name, entries=lambda _rows: [entry]
    ):
        raise NotFound("draft of the workflow", name)


def _etag(version: int) -> str:
    # A draft beside it, or one that is discarded, is no change of what is published.
    return tag_of(version)


def _workflow(row: Any, definition: str | None) -> Workflow:
    return Workflow(
        name=row["name"],
        version=row["version"],
        hash=row["hash"],
        definition=definition,
        description=row["description"],
        published_by=row["published_by"],
        created_at=row["created_at"],
        changed_at=row["changed_at"],
        published_at=row["published_at"],
        has_draft=row["has_draft"],
    )


def _version(name: str, row: Any, definition: str | None) -> Version:
    return Version(
        workflow=name,
        version=row["version"],
        hash=row["hash"],
        definition=definition,
        published_by=row["published_by"],
        created_at=row["created_at"],
    )


def _draft(name: str, row: Any) -> KeptDraft:
    return KeptDraft(
        name=name, text=row["draft"], version=row["version"], changed_at=row["changed_at"]
    )
