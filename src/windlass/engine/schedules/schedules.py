"""Schedules: put, read, list, delete, pause and resume.

Promises: an edit loses no instant and doubles none, be it made at the very instant. Under the lock
that a leader's round takes as well, what is due by the old rule is decided first, and the new rule
begins after that.
Beside this: engine.schedules.trigger (fire one now), engine.schedules.backfill (a stretch of the
past, counted first), engine.schedules.ledger (what became of each instant), engine.schedules.fire
(the leader's rounds). What they hand out is in engine.schedules.schedule. Whoever changes one says
`announcer.schedules(names)` afterwards.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, ask_and_record, differences, record
from windlass.engine.idempotency import recall
from windlass.engine.jobs.request import Idempotency
from windlass.engine.schedules.decide import Fired, FireOptions
from windlass.engine.schedules.fire import fire_rows
from windlass.engine.schedules.fire_together import group_key
from windlass.engine.schedules.known_rules import rule_of
from windlass.engine.schedules.schedule import (
    Schedule,
    ScheduleDraft,
    ScheduleFilter,
    schedule_from,
)
from windlass.errors import Conflict, NotFound
from windlass.limits import FIRE_ASKED_LOCK_SECONDS
from windlass.model.json.etag import UNCONDITIONAL, Precondition
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# So many schedules that are paused at once have an entry each in the audit log.
_ENTRIES_MAX: Final = 100


class EditionConflict(Conflict):
    """Somebody else changed it since it was read."""

    code = "edition_conflict"

    def __init__(self, name: str, asked: int, edition: int) -> None:
        self.name, self.asked, self.edition = name, asked, edition
        said = f"is at edition {edition}" if edition else "does not exist"
        super().__init__(
            f"schedule {name!r} {said}, and edition {asked} was to be changed; read it again"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"name": self.name, "asked": self.asked, "edition": self.edition}


async def make_schedule(
    database: Database, draft: ScheduleDraft, mark: Idempotency | None = None
) -> tuple[Schedule, bool]:
    """Make it; and whether this Idempotency-Key made it before.

    The key is taken with the name, or neither is. Raises EditionConflict when there is one of its
    name, IdempotencyMismatch, NotFound when what the key made is gone.
    """

    async def work(connection: Connection[Record]) -> tuple[Schedule, bool]:
        schedule_id = ids.uuid7()
        if known := await recall(connection, mark, [schedule_id]):
            row = await lock_schedule(connection, known[0])
            if row is None:
                raise schedule_not_found(known[0])
            return schedule_from(row), True
        while True:
            made = await _make(connection, schedule_id, draft, await database_time(connection))
            if made is not None:
                return made, False
            row = await lock_schedule(connection, draft.name)
            if row is not None:
                raise EditionConflict(draft.name, 0, row["edition"])

    return await database.ask(work, lock_seconds=FIRE_ASKED_LOCK_SECONDS)


async def put_schedule(
    database: Database,
    draft: ScheduleDraft,
    *,
    edition: int | None = None,
    options: FireOptions | None = None,
    wanted: Precondition = UNCONDITIONAL,
) -> tuple[Schedule, bool, Fired]:
    """Make it, or change the one of its name; whether it is new; and what was due by the old rule.

    `edition`: refuse (EditionConflict) unless the stored one has it; 0: unless there is none.
    Raises PreconditionFailed.
    The caller hands its effects to `follower.follow`.
    """

    async def work(connection: Connection[Record]) -> tuple[Schedule, bool, Fired]:
        while True:
            row = await lock_schedule(connection, draft.name)
            wanted.check("schedule", draft.name, None if row is None else schedule_from(row).etag)
            known = 0 if row is None else row["edition"]
            if edition is not None and edition != known:
                raise EditionConflict(draft.name, edition, known)
            now = await database_time(connection)
            if row is not None:
                return await _change(connection, row, draft, now, options or FireOptions())
            made = await _make(connection, ids.uuid7(), draft, now)
            if made is not None:
                return made, True, Fired()

    return await database.ask(work, lock_seconds=FIRE_ASKED_LOCK_SECONDS)


async def _make(
    connection: Connection[Record], schedule_id: UUID, draft: ScheduleDraft, now: datetime
) -> Schedule | None:
    """None: somebody else was first to use the name."""
    next_at, fire_at = _next(schedule_id, draft, now, now)
    rows = await connection.fetch(
        statement("schedule_insert"),
        schedule_id,
        draft.name,
        now,
        next_at,
        fire_at,
        *_columns(draft),
    )
    if not rows:
        return None
    made = schedule_from(rows[0])
    await record(connection, replace(_entry("schedule.add", made), after=_audited(made)))
    return made


async def _change(
    connection: Connection[Record],
    row: Record,
    draft: ScheduleDraft,
    now: datetime,
    options: FireOptions,
) -> tuple[Schedule, bool, Fired]:
    fired = await fire_overdue(connection, row, now, options)
    after = max(now, row["last_at"] or now)
    next_at, fire_at = _next(row["id"], draft, row["created_at"], after)
    [changed] = await connection.fetch(
        statement("schedule_update"), row["id"], now, next_at, fire_at, *_columns(draft)
    )
    was, becomes = schedule_from(row), schedule_from(changed)
    before, after = differences(_audited(was), _audited(becomes))
    entry = replace(_entry("schedule.change", becomes), before=before, after=after)
    await record(connection, entry)
    return becomes, False, fired


async def fire_overdue(
    connection: Connection[Record], row: Record, now: datetime, options: FireOptions
) -> Fired:
    """Decide what is due of a schedule that is held, before anything else is done with it.

    Of one that is paused, too: what came since then is skipped, and what was due before is not.
    """
    is_due = row["next_at"] is not None and row["next_at"] <= now
    return await fire_rows(connection, [row], now, options, is_hasty=True) if is_due else Fired()


def _next(
    schedule_id: UUID, draft: ScheduleDraft, created_at: datetime, after: datetime
) -> tuple[datetime | None, datetime | None]:
    known = rule_of(draft.rule_json, draft.name, created_at)
    next_at = known.next_after(after)
    return next_at, None if next_at is None else known.fire_at(schedule_id, next_at)


def _columns(draft: ScheduleDraft) -> list[Any]:
    return [
        draft.catchup_seconds,
        draft.priority,
        draft.overlap,
        draft.misfire,
        draft.owner,
        draft.source,
        list(draft.tags) or None,
        draft.rule_json,
        draft.job,
        draft.workflow,
        group_key(draft),
    ]


async def lock_schedule(connection: Connection[Record], ref: UUID | str) -> Record | None:
    """Locked until the commit; None: there is none."""
    rows = await connection.fetch(statement("schedule_hold"), *_ref(ref))
    return rows[0] if rows else None


async def database_time(connection: Connection[Record]) -> datetime:
    """The database's. Asked when a lock is won, so that it is later than whoever had it."""
    now: datetime = await connection.fetchval(statement("database_now"))
    return now


def schedule_not_found(ref: UUID | str) -> NotFound:
    return NotFound("schedule", ref if isinstance(ref, str) else ids.show("schedule", ref))


def _ref(ref: UUID | str) -> tuple[UUID | None, str | None]:
    return (None, ref) if isinstance(ref, str) else (ref, None)


async def read_schedule(database: Database, ref: UUID | str) -> Schedule:
    """By id or by name. Raises NotFound."""
    rows = await database.run("schedule_get", *_ref(ref))
    if not rows:
        raise schedule_not_found(ref)
    return schedule_from(rows[0])


async def list_schedules(
    database: Database, limit: int, after: str = "", *, where: ScheduleFilter | None = None
) -> list[Schedule]:
    """By name, from the one that follows `after`."""
    where = where or ScheduleFilter()
    names, prefix, tags, source, *about = _filter(where)
    given = (names, prefix, tags, source, where.is_paused, *about)
    rows = await database.read("schedule_list", after, limit, *given)
    return [schedule_from(row) for row in rows]


async def delete_schedule(database: Database, ref: UUID | str) -> Schedule:
    """What it has made goes on, and its ledger goes with the retention. Raises NotFound."""

    def entries(rows: list[Record]) -> list[Entry]:
        gone = schedule_from(rows[0])
        return [replace(_entry("schedule.delete", gone), before=_audited(gone))]

    rows = await ask_and_record(database, "schedule_delete", *_ref(ref), entries=entries)
    if not rows:
        raise schedule_not_found(ref)
    return schedule_from(rows[0])


async def pause_many(
    database: Database, where: ScheduleFilter, *, note: str | None = None
) -> list[str]:
    """Names of those that were not paused and now are; one: names=(name,)."""
    return await _ask_many(database, where, "schedule.pause", note, "schedule_pause_many", note)


async def resume_many(database: Database, where: ScheduleFilter) -> list[str]:
    """Names of those that were paused. What fell due meanwhile is skipped."""
    return await _ask_many(database, where, "schedule.resume", None, "schedule_resume_many")


async def _ask_many(
    database: Database,
    where: ScheduleFilter,
    action: str,
    note: str | None,
    name: str,
    *args: Any,
) -> list[str]:
    """Each has an entry of its own; of very many there is one for all."""

    def entries(rows: list[Record]) -> list[Entry]:
        names = sorted(row["name"] for row in rows)
        if len(names) <= _ENTRIES_MAX:
            return [Entry(action=action, name=each, note=note) for each in names]
        after = {"filter": asdict(where), "names": names}
        return [Entry(action=action, after=after, note=note, count=len(names))]

    rows = await ask_and_record(database, name, *args, *_filter(where), entries=entries)
    return sorted(row["name"] for row in rows)


def _entry(action: str, schedule: Schedule) -> Entry:
    return Entry(action=action, id=ids.show("schedule", schedule.id), name=schedule.name)


def _audited(schedule: Schedule) -> dict[str, Any]:
    """What somebody can say of it."""
    return {
        "rule": json.loads(schedule.rule_json),
        "job": None if schedule.job is None else json.loads(schedule.job),
        "workflow": None if schedule.workflow is None else json.loads(schedule.workflow),
        "overlap": schedule.overlap,
        "misfire": schedule.misfire,
        "catchup_seconds": schedule.catchup_seconds,
        "priority": schedule.priority,
        "owner": schedule.owner,
        "tags": schedule.tags,
    }


def _filter(where: ScheduleFilter) -> list[Any]:
    return [
        None if where.names is None else list(where.names),
        where.prefix,
        None if where.tags is None else list(where.tags),
        where.source,
        where.workflow,
        where.queue,
    ]
