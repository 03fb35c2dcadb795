"""Read executions: one, a page of those that match, or a page of one's jobs.

Promises: pages are keyset, newest first, without totals. What is shown of an execution is as of its
last refresh, `refreshed_at`; that it has ended is never shown before all of its end is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, get_args
from uuid import UUID

from windlass import ids
from windlass.engine.conditions import Conditions
from windlass.engine.jobs.read import read_jobs
from windlass.errors import NotFound
from windlass.model.workflow.execution import ENDED, ExecutionState
from windlass.store.database import Database, Record
from windlass.store.statements import statement

STATES: Final[tuple[ExecutionState, ...]] = get_args(ExecutionState)
# Stands for the item of a job that is none of a fan-out's: behind all that are.
NO_ITEM: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFilter:
    """Which executions. None or empty: any."""

    states: tuple[str, ...] = ()
    workflow: str | None = None
    version: int | None = None
    tag: str | None = None
    correlation_id: str | None = None
    created_after: datetime | None = None  # at it or later
    created_before: datetime | None = None  # and not at it
    finished_after: datetime | None = None  # only what has ended; bounds as above
    finished_before: datetime | None = None


class JobPosition(NamedTuple):
    """Where a job stands among those of its execution."""

    step: str
    item: int
    job_id: UUID


async def read_execution(database: Database, execution_id: UUID) -> Record:
    """Raises NotFound."""
    sql = statement("execution_list").replace("{where}", "e.id = $2")
    async with database.side() as connection:
        found = await connection.fetch(sql, 1, execution_id)
    if not found:
        raise NotFound("execution", ids.show("execution", execution_id))
    return found[0]


async def read_many(database: Database, execution_ids: Sequence[UUID]) -> dict[UUID, Record]:
    """Those that are there."""
    if not execution_ids:
        return {}
    sql = statement("execution_list").replace("{where}", "e.id = ANY ($2::uuid[])")
    async with database.side() as connection:
        found = await connection.fetch(sql, len(execution_ids), list(execution_ids))
    return {row["id"]: row for row in found}


async def list_executions(
    database: Database, which: ExecutionFilter, limit: int, before: UUID | None = None
) -> list[Record]:
    """Up to `limit` executions with ids below `before`, newest first."""
    return await _conditions(which, before).page(database, "execution_list", limit)


async def list_jobs_of(
    database: Database, execution: Record, limit: int, after: JobPosition | None = None
) -> list[Record]:
    """Up to `limit` jobs behind the position, by step and item, as rows of job_get_many."""
    after = after or JobPosition("", -1, UUID(int=0))
    found = await database.read(
        "execution_job_ids", execution["id"], limit, execution["created_at"], *after
    )
    order = {row["id"]: number for number, row in enumerate(found)}
    jobs = await read_jobs(database, list(order))
    return sorted(jobs, key=lambda job: order[job["id"]])


def position_of(job: Record) -> JobPosition:
    item = job["item"]
    return JobPosition(job["step"] or "", NO_ITEM if item is None else item, job["id"])


def _conditions(which: ExecutionFilter, before: UUID | None) -> Conditions:
    wanted = Conditions("e.")
    wanted.states(which.states)
    # The words by which the index of those under way is found.
    if which.states and not set(which.states) & set(ENDED):
        wanted.plain("finished_at IS NULL")
    wanted.add("id < {}", before)
    wanted.add("workflow = {}", which.workflow)
    wanted.add("version = {}", which.version)
    wanted.add("tags @> ARRAY[{}::text]", which.tag)
    wanted.add("correlation_id = {}", which.correlation_id)
    wanted.created(which.created_after, which.created_before)
    wanted.finished(which.finished_after, which.finished_before)
    return wanted
