"""The event log of jobs and executions, a page at a time, and a job as it was at an instant.

Promises: folding a job's events up to an instant gives its row of that instant (G10, `job_at`). An
event has the same id whenever and wherever it is read; pages are keyset by (instant, job,
rank, number). Events commit slightly out of order, so a reader that follows the present must look
back a little: see engine.jobs.tail.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.errors import NotFound
from windlass.model.job.event import Event, SortKey, event_of_row, events_of
from windlass.model.job.fold import fold
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# A batch of jobs is created at one instant by the database's clock, but its ids come from a node's.
_SKEW: Final = timedelta(seconds=5)
# The first window is narrow, for nothing in the past is sorted by time; empty ones grow fast.
_WINDOW: Final = timedelta(seconds=10)
_GROWTH: Final = 4
# What the events tell; the rest of a row never changes.
_TOLD = (
    "state",
    "attempt",
    "run_at",
    "started_at",
    "finished_at",
    "node_id",
    "outcome",
    "cause",
    "replays",
    "crashes",
    "snoozes",
)


async def job_at(database: Database, job_id: UUID, instant: datetime) -> dict[str, Any]:
    """The row of `job_get_many` as it was then. Raises NotFound when there was no such job."""
    found = (await read_events_of(database, [job_id])).get(job_id)
    if found is None:
        raise NotFound("job", ids.show("job", job_id))
    row, events = found
    then = fold(event for event in events if event.at <= instant)
    if then.state is None:
        raise NotFound("job", f"{ids.show('job', job_id)} at {instant.isoformat()}")
    job = dict(row)
    for name in _TOLD:
        job[name] = getattr(then, name)
    job["error"] = json.dumps(then.error) if then.error else None
    # No event tells the result, nor that a waiting job was cancelled: they come with its end.
    if then.finished_at is None or then.finished_at != row["finished_at"]:
        job["result"] = None
        job["cancel_requested_at"] = then.cancel_requested_at
    return job


async def read_events_of(
    database: Database, job_ids: Sequence[UUID]
) -> dict[UUID, tuple[Record, list[Event]]]:
    """Of each job that exists: its row and its events in order, as of one instant."""
    async with database.side(isolation="repeatable_read", readonly=True) as connection:
        rows = await connection.fetch(statement("job_get_many"), list(job_ids))
        return await events_of_rows(connection, rows)


async def events_of_rows(
    connection: Connection[Record], rows: Sequence[Record]
) -> dict[UUID, tuple[Record, list[Event]]]:
    """The same for rows that were read in the caller's snapshot."""
    wanted = [row["id"] for row in rows]
    attempts: dict[UUID, list[Record]] = defaultdict(list)
    for row in await connection.fetch(statement("attempt_list"), wanted):
        attempts[row["job_id"]].append(row)
    noted: dict[UUID, list[Record]] = defaultdict(list)
    for row in await connection.fetch(statement("event_of_jobs"), wanted):
        noted[row["job_id"]].append(row)
    return {row["id"]: (row, events_of(row, attempts[row["id"]], noted[row["id"]])) for row in rows}


async def read_events_after(
    database: Database, after: SortKey, until: datetime, limit: int
) -> list[Event]:
    """Up to `limit` events after the sort key and until the instant, oldest first.

    Goes through time in windows, so that a page from long ago does not sort all that came since.
    """
    found: list[Event] = []
    step = _WINDOW
    while after.at <= until and len(found) < limit:
        end = min(after.at + step, until)
        page = await read_window(database, after, end, limit - len(found))
        found += page
        if len(found) < limit:
            # Nothing more up to `end`: the next window begins behind everything at that instant.
            after = SortKey(end, UUID(int=(1 << 128) - 1), 15, (1 << 44) - 1)
            if end == until:
                break
            step *= 1 if page else _GROWTH
    return found


async def read_events_of_execution(
    database: Database, execution: Record, after: SortKey | None, limit: int
) -> list[Event]:
    """Up to `limit` of what happened to an execution and its jobs after the sort key."""
    after = after or SortKey(execution["created_at"], UUID(int=0), 0, -1)
    rows = await database.read(
        "event_of_execution", execution["id"], execution["created_at"], limit, *after
    )
    return [_event_of(row) for row in rows]


async def read_window(
    database: Database, after: SortKey, until: datetime, limit: int
) -> list[Event]:
    rows = await database.read(
        "event_window",
        after.at,
        until,
        limit,
        ids.uuid7_at(max(after.at - _SKEW, datetime(2000, 1, 1, tzinfo=after.at.tzinfo))),
        after.job_id,
        after.rank,
        after.number,
        ids.uuid7_at(until + _SKEW),
    )
    return [_event_of(row) for row in rows]


async def database_now(database: Database) -> datetime:
    now: datetime = (await database.read("database_now"))[0]["now"]
    return now


def _event_of(row: Record) -> Event:
    told = event_of_row({**row, "seq": row["number"]})
    return Event(
        at=told.at,
        type=told.type,
        number=row["number"],
        noun=row["noun"],
        subject=row["subject"],
        job_id=row["job_id"],
        execution_id=row["execution_id"],
        queue=row["queue"],
        name=row["name"],
        data=told.data,
    )
