"""Read the attempts of a job: those with a row of their own, and the newest, which is in the job's
row while it runs and after it has ended the job."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass.engine.jobs.read import read_job
from windlass.store.database import Database, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One attempt, under way or over."""

    attempt: int
    node_id: UUID | None
    started_at: datetime
    ended_at: datetime | None  # None: it runs
    outcome: str | None
    next_run_at: datetime | None  # None: no other attempt followed from it
    error: str | None  # JSON
    detail: str | None  # JSON of what its strategy keeps of it; None: nothing, or not yet


async def read_attempts(database: Database, job_id: UUID) -> list[Tried]:
    """In order. Raises NotFound."""
    return (await read_tried_job(database, job_id))[1]


async def read_tried_job(database: Database, job_id: UUID) -> tuple[Record, list[Tried]]:
    """The job's row with its attempts in order. Raises NotFound."""
    rows = await database.read("attempt_list", [job_id])
    # The job after its attempts: one that moves in between is then seen twice rather than never.
    job = await read_job(database, job_id)
    tried = [_tried(row) for row in rows]
    seen = {(attempt.attempt, attempt.started_at) for attempt in tried}
    newest = _newest(job)
    if newest is not None and (newest.attempt, newest.started_at) not in seen:
        tried.append(newest)
    return job, tried


def _tried(row: Record) -> Tried:
    return Tried(
        attempt=row["attempt"],
        node_id=row["node_id"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        outcome=row["outcome"],
        next_run_at=row["next_run_at"],
        error=row["error"],
        detail=row["detail"],
    )


def _newest(job: Record) -> Tried | None:
    if job["state"] != "running" and job["outcome"] is None:
        return None
    return Tried(
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
