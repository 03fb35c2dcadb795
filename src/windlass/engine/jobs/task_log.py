"""Log lines and progress of tasks: keep what they say while they run, and read it again.

Promises: lines said twice are kept once; an older attempt's progress does not replace a newer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from windlass.engine.jobs.read import read_job
from windlass.model.job.attempt import Attempt
from windlass.model.job.task_log import Line, Progress
from windlass.store.database import Database, Record

AttemptLine = tuple[Attempt, Line]
AttemptProgress = tuple[Attempt, Progress]


async def put_lines(database: Database, noted: Sequence[AttemptLine], now: float) -> None:
    """`now` is by the clock that the lines were noted by."""
    await database.read(
        "log_insert_many",
        [attempt.job_id for attempt, _ in noted],
        [attempt.started_at for attempt, _ in noted],
        [attempt.number for attempt, _ in noted],
        [line.place for _, line in noted],
        [now - line.at for _, line in noted],
        [line.level for _, line in noted],
        [line.message for _, line in noted],
        [line.fields for _, line in noted],
    )


async def put_progress(
    database: Database, noted: Sequence[AttemptProgress], now: float
) -> set[UUID]:
    """At most one of each job. Returns those whose row somebody holds; they may be put again."""
    held = await database.read(
        "progress_put_many",
        [attempt.job_id for attempt, _ in noted],
        [attempt.number for attempt, _ in noted],
        [now - progress.at for _, progress in noted],
        [progress.done for _, progress in noted],
        [progress.total for _, progress in noted],
        [progress.message for _, progress in noted],
    )
    return {row["job_id"] for row in held}


async def read_progress(database: Database, job_ids: Sequence[UUID]) -> dict[UUID, Record]:
    """Of those among `job_ids` that said something."""
    rows = await database.read("progress_get_many", list(job_ids))
    return {row["job_id"]: row for row in rows}


async def read_log(
    database: Database,
    job_id: UUID,
    limit: int,
    behind: tuple[int, int] | None = None,
    *,
    after: datetime | None = None,
    before: datetime | None = None,
) -> list[Record]:
    """A page of a job's lines, in order: of those written at `after` or later, and not at `before`
    or later. Raises NotFound.
    """
    attempt, place = behind or (0, -1)
    rows = await database.read("log_list", job_id, attempt, place, limit, after, before)
    if not rows:
        await read_job(database, job_id)
    return rows
