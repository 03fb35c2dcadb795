"""Bulk operations: ask for a verb on all jobs that match a filter, look what it would touch, watch
it, abort it. Batches of it are done in engine.jobs.bulk_batch, by any node.

Owns: the rows of `bulk` but for their batches; how a filter becomes the conditions of a batch.
Promises: a filter means what it means in a list of jobs (engine.jobs.read). What came to match only
after it was asked is left alone, as far as a row can tell: a job that was made since, or has ended
since. No look reads more than a window of rows, however rarely the filter matches: a preview says
"at least so many" rather than count for long. What is aborted is over at once; what was done stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, ask_and_record
from windlass.engine.conditions import Conditions
from windlass.engine.jobs.history import database_now
from windlass.engine.jobs.read import JobFilter, add_conditions
from windlass.errors import Conflict, FieldProblem, InvalidInput, NotFound, WindlassError
from windlass.limits import (
    BULK_FORGET_BATCH,
    BULK_GROUPS_MAX,
    BULK_LOOK_MAX,
    BULK_OPEN_MAX,
    BULK_SAMPLES_MAX,
    OPERATIONS_KEPT_SECONDS,
)
from windlass.model.job.bulk import VERBS, BulkOperation, BulkVerb, bulk_from
from windlass.store.database import Database, Record
from windlass.store.statements import bind, statement

# What only jobs have that have ended.
_OF_ENDED: Final = ("cause", "finished_after", "finished_before")
# How the values of a filter are read again that JSON has no words for.
_READ_AGAIN: Final[dict[str, Callable[[Any], Any]]] = {
    "states": tuple,
    "execution_id": UUID,
    **dict.fromkeys(
        ("created_after", "created_before", "finished_after", "finished_before"),
        datetime.fromisoformat,
    ),
}


class BulkFull(WindlassError):
    """Too many bulk operations are open; wait for the end of one, or abort one."""

    code = "too_many_operations"
    status = 429
    retry_after = 5.0

    def __init__(self) -> None:
        super().__init__(
            f"{BULK_OPEN_MAX} bulk operations are open; wait for the end of one, or abort one "
            "(GET /v1/jobs/bulk?phase=pending,working)"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"limit": BULK_OPEN_MAX, "unit": "operations"}


class BulkEnded(Conflict):
    """It has ended, so there is nothing to abort."""

    code = "not_abortable"

    def __init__(self, operation: BulkOperation) -> None:
        super().__init__(f"{ids.show('operation', operation.id)} has ended as {operation.phase}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """One verb on many jobs."""

    verb: BulkVerb
    which: JobFilter
    job_ids: Sequence[UUID] | None = None  # these, if they match; None: all that match
    most: int | None = None  # None: as many as there are
    rate: float | None = None  # jobs a second; None: as fast as it goes
    asked_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPreview:
    """What a request would touch now."""

    matching: int
    is_exact: bool  # False: there are at least so many
    groups: list[Record]  # state, queue, kind, task, cause, count: the largest
    samples: list[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkConditions:
    """Where a batch begins to look (`walk`), and what it takes (`where`), which comes first among
    the parameters.
    """

    walk: str
    where: str
    walk_values: list[Any]
    where_values: list[Any]

    @property
    def values(self) -> list[Any]:
        return self.where_values + self.walk_values


def check_request(verb: BulkVerb, which: JobFilter) -> JobFilter:
    """The filter with the states that the verb is for. Raises InvalidInput."""
    rule = VERBS[verb]
    problems = []
    known = " ".join(rule.states)
    if rule.asks_state and not which.states:
        said = f"say which are meant to be {rule.done}: one or several of {known}"
        problems.append(FieldProblem(pointer="/filter/state", detail=said))
    if odd := [state for state in which.states if state not in rule.states]:
        said = f"{verb} is for jobs that are {known}, and not for those that are {' '.join(odd)}"
        problems.append(FieldProblem(pointer="/filter/state", detail=said))
    if not rule.is_of_ended:
        for name in _OF_ENDED:
            if getattr(which, name) is not None:
                said = f"only what has ended has one, and {verb} is for jobs that are {known}"
                problems.append(FieldProblem(pointer=f"/filter/{name}", detail=said))
    if problems:
        raise InvalidInput(*problems)
    return replace(which, states=which.states or rule.states)


def filter_json(which: JobFilter) -> str:
    given = {field.name: getattr(which, field.name) for field in fields(which)}
    return json.dumps(
        {name: value for name, value in given.items() if value not in (None, ())}, default=_plain
    )


def filter_from(stored: dict[str, Any]) -> JobFilter:
    return JobFilter(
        **{
            name: _READ_AGAIN[name](value) if name in _READ_AGAIN else value
            for name, value in stored.items()
        }
    )


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def conditions_of(
    verb: BulkVerb,
    which: JobFilter,
    asked_at: datetime,
    *,
    own: int,
    after: UUID | None = None,
) -> BulkConditions:
    """Behind `own` parameters of the statement's. `walk` has only what an index goes by in the
    order of ids: whatever else was there, a window of it might be looked for in the whole table.
    """
    rule = VERBS[verb]
    where = Conditions(own=own)
    add_conditions(which, where)
    where.created(None, asked_at)
    if rule.is_of_ended:
        where.add("finished_at <= {}", asked_at)
    match verb:
        case "promote":
            where.plain("run_at > clock_timestamp()")
        case "cancel":
            where.plain("cancel_requested_at IS NULL")
        case _:
            pass
    walk = Conditions(own=own + len(where.values))
    walk.add("id > {}", after or UUID(int=0))
    walk.add("execution_id = {}", which.execution_id)
    walk.add("id = (SELECT k.job_id FROM windlass.job_key k WHERE k.key = {})", which.key)
    _add_id_range(walk, which, asked_at)
    if rule.is_of_ended:
        if which.states == ("dead",):
            walk.states(which.states)
        _add_days(walk, which)
    return BulkConditions(
        walk=walk.text, where=where.text, walk_values=walk.values, where_values=where.values
    )


def _add_id_range(walk: Conditions, which: JobFilter, asked_at: datetime) -> None:
    before = min(filter(None, (which.created_before, which.finished_before, asked_at)))
    walk.ids_made(which.created_after, before)


def _add_days(walk: Conditions, which: JobFilter) -> None:
    """Whole days, as the history is partitioned: those outside are not looked at."""
    day = timedelta(days=1)
    for fragment, instant, rest in (
        ("finished_at >= {}", which.finished_after, timedelta(0)),
        ("finished_at < {}", which.finished_before, day),
    ):
        if instant is not None and 1970 < instant.year < 9999:
            utc = instant.astimezone(UTC)
            walk.add(fragment, utc.replace(hour=0, minute=0, second=0, microsecond=0) + rest)


def table_of(verb: BulkVerb) -> str:
    """How the statements of its table end."""
    return "finished" if VERBS[verb].is_of_ended else "unfinished"


def filled_in(name: str, conditions: BulkConditions) -> str:
    text = statement(name).replace("{walk}", conditions.walk)
    return text.replace("{where}", conditions.where)


async def preview(database: Database, wanted: BulkRequest) -> BulkPreview:
    """What the request would touch now; nothing is touched."""
    conditions = conditions_of(
        wanted.verb, wanted.which, await database_now(database), own=3 + bool(wanted.job_ids)
    )
    name = f"bulk_count_{table_of(wanted.verb)}"
    own: list[Any] = [BULK_LOOK_MAX, BULK_GROUPS_MAX, BULK_SAMPLES_MAX]
    if wanted.job_ids:
        own.append(list(wanted.job_ids))
        conditions = replace(conditions, walk=f"id = ANY ($4::uuid[]) AND {conditions.walk}")
    async with database.side() as connection:
        rows = await connection.fetch(filled_in(name, conditions), *own, *conditions.values)
    return BulkPreview(
        matching=rows[0]["matching"],
        is_exact=rows[0]["looked"] < BULK_LOOK_MAX,
        groups=[row for row in rows if row["count"] is not None],
        samples=rows[0]["samples"],
    )


async def ask(database: Database, wanted: BulkRequest) -> BulkOperation:
    """Enter it; it begins at once, on any node. Raises BulkFull."""
    found = await preview(database, wanted)
    named = wanted.job_ids
    values = {
        "id": ids.uuid7(),
        "verb": wanted.verb,
        "filter": filter_json(wanted.which),
        "named": None if named is None else len(named),
        "matching": found.matching,
        "is_exact": found.is_exact,
        "most": wanted.most,
        "rate": wanted.rate,
        "round": 0 if named is None else 1,
        "asked_by": wanted.asked_by,
        "job_id": list(named or ()),
        "open_max": BULK_OPEN_MAX,
    }
    rows = await ask_and_record(
        *(database, "bulk_ask", *bind("bulk_ask", values)),
        entries=lambda rows: [_asked(bulk_from(rows[0]))],
    )
    if not rows:
        raise BulkFull
    return bulk_from(rows[0])


def _asked(operation: BulkOperation) -> Entry:
    return Entry(
        action="bulk.ask",
        id=ids.show("operation", operation.id),
        name=operation.verb,
        after={
            "filter": operation.filter,
            "named": operation.named,
            "most": operation.most,
            "rate": operation.rate,
        },
        count=operation.matching,
        note=None if operation.is_exact else "at least so many match",
    )


async def find_bulk(database: Database, operation_id: UUID) -> BulkOperation | None:
    """None: there is no bulk operation of this id."""
    rows = await database.run("bulk_get", operation_id)
    return bulk_from(rows[0]) if rows else None


async def read_bulk(database: Database, operation_id: UUID) -> BulkOperation:
    """Raises NotFound."""
    found = await find_bulk(database, operation_id)
    if found is None:
        raise NotFound("operation", ids.show("operation", operation_id))
    return found


async def list_bulk(
    database: Database,
    limit: int,
    before: UUID | None = None,
    *,
    verbs: Sequence[str] | None = None,  # None: any
    phases: Sequence[str] | None = None,  # None: in any
) -> list[BulkOperation]:
    """Newest first."""
    rows = await database.read("bulk_list", before, verbs, phases, limit)
    return [bulk_from(row) for row in rows]


async def abort_bulk(database: Database, operation_id: UUID) -> BulkOperation:
    """End it now: a batch that is under way is the last. Raises NotFound, BulkEnded."""
    shown = ids.show("operation", operation_id)
    rows = await ask_and_record(
        *(database, "bulk_abort", operation_id),
        entries=lambda _rows: [Entry(action="bulk.abort", id=shown)],
    )
    operation = await read_bulk(database, operation_id)
    if not rows:
        raise BulkEnded(operation)
    return operation


async def forget_bulk(database: Database) -> int:
    """Remove a batch of those that ended long ago; returns how many."""
    return len(await database.run("bulk_forget", OPERATIONS_KEPT_SECONDS, BULK_FORGET_BATCH))
