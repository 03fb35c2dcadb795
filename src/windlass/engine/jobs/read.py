"""Read jobs and their attempts: one, many by id, or a page of those that match a filter.

Promises: a page costs one statement over only the tables that can hold what was asked for; pages
are keyset, newest first, so a list does not shift while somebody reads it. A job's attempts are
those with a row of their own, and the newest, which is in the job's row while it runs and after it
has ended the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass import ids
from windlass.engine.conditions import Conditions
from windlass.errors import NotFound
from windlass.model.job.states import TERMINAL, UNFINISHED, State
from windlass.store.database import Database, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs. None or empty: any."""

    states: tuple[State, ...] = ()
    queue: str | None = None
    kind: str | None = None
    task: str | None = None
    tag: str | None = None
    execution_id: UUID | None = None
    correlation_id: str | None = None
    key: str | None = None
    cause: str | None = None
    target: str | None = None
    created_after: datetime | None = None  # at it or later
    created_before: datetime | None = None  # and not at it
    finished_after: datetime | None = None  # only what has ended; bounds as above
    finished_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """One attempt, under way or over."""

    attempt: int
    node_id: UUID | None
    started_at: datetime
    ended_at: datetime | None  # None: it runs
    outcome: str | None
    next_run_at: datetime | None  # None: no other attempt followed from it
    error: str | None  # JSON
    detail: str | None  # JSON of what its strategy keeps of it; None: nothing, or not yet


async def read_jobs(database: Database, job_ids: Sequence[UUID]) -> list[Record]:
    """The jobs that exist among `job_ids`, finished or not, in no order."""
    return await database.read("job_get_many", list(job_ids))


async def read_job(database: Database, job_id: UUID) -> Record:
    found = await read_jobs(database, [job_id])
    if not found:
        raise NotFound("job", ids.show("job", job_id))
    return found[0]


async def list_jobs(
    database: Database, which: JobFilter, limit: int, before: UUID | None = None
) -> list[Record]:
    """Up to `limit` jobs with ids below `before`, newest first."""
    wanted = Conditions()
    wanted.add("id < {}", before)
    add_conditions(which, wanted)
    return await wanted.page(database, _statement_for(which), limit)


def _statement_for(which: JobFilter) -> str:
    asked = set(which.states)
    # Only a finished job has a cause or an end.
    by_end = which.cause or which.finished_after or which.finished_before
    if (asked and asked <= set(TERMINAL)) or by_end:
        return "job_list_finished"
    if asked and asked <= set(UNFINISHED):
        return "job_list_unfinished"
    return "job_list"


def add_conditions(which: JobFilter, wanted: Conditions) -> None:
    """What the filter asks for."""
    wanted.states(which.states)
    wanted.add("queue = {}", which.queue)
    wanted.add("kind = {}", which.kind)
    wanted.add("task = {}", which.task)
    wanted.add("tags @> ARRAY[{}::text]", which.tag)
    wanted.add("execution_id = {}", which.execution_id)
    wanted.add("correlation_id = {}", which.correlation_id)
    wanted.add("id = (SELECT k.job_id FROM windlass.job_key k WHERE k.key = {})", which.key)
    wanted.add("coalesce(cause, 'unknown') = {}", which.cause)
    wanted.add("target = {}", which.target)
    wanted.created(which.created_after, which.created_before)
    wanted.finished(which.finished_after, which.finished_before)


async def read_attempts(database: Database, job_id: UUID) -> list[AttemptRecord]:
    """In order. Raises NotFound."""
    return (await read_job_with_attempts(database, job_id))[1]


async def read_job_with_attempts(
    database: Database, job_id: UUID
) -> tuple[Record, list[AttemptRecord]]:
    """The job's row with its attempts in order. Raises NotFound."""
    rows = await database.read("attempt_list", [job_id])
    # The job after its attempts: one that moves in between is then seen twice rather than never.
    job = await read_job(database, job_id)
    attempts = [_attempt(row) for row in rows]
    seen = {(attempt.attempt, attempt.started_at) for attempt in attempts}
    newest = _newest(job)
    if newest is not None and (newest.attempt, newest.started_at) not in seen:
        attempts.append(newest)
    return job, attempts


def _attempt(row: Record) -> AttemptRecord:
    return AttemptRecord(
        attempt=row["attempt"],
        node_id=row["node_id"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        outcome=row["outcome"],
        next_run_at=row["next_run_at"],
        error=row["error"],
        detail=row["detail"],
    )


def _newest(job: Record) -> AttemptRecord | None:
    if job["state"] != "running" and job["outcome"] is None:
        return None
    return AttemptRecord(
        attempt=job["attempt"],
        node_id=job["node_id"],
        started_at=job["started_at"],
        ended_at=job["finished_at"],
        outcome=job["outcome"],
        next_run_at=None,
        # A running job still shows the error of the attempt before.
        error=job["error"] if job["outcome"] not in (None, "succeeded") else None,
        detail=job["detail"],
    )
