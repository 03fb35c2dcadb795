"""Executions and their jobs written straight into the tables, as engines would have left them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from windlass import ids
from windlass.model.job.states import TERMINAL
from windlass.model.workflow.execution import JobFact
from windlass.model.workflow.refresh import shard_of
from windlass.store.database import Database, Record

_OPEN = """
INSERT INTO windlass.job (id, execution_id, state, is_foreseen, started_at, waits_for, node_id,
    claim_id, attempt, run_at, max_attempts, priority, queue, kind, input, step)
SELECT g.id, g.execution_id, g.state, g.is_foreseen, g.started_at, (g.state = 'blocked')::int,
    CASE WHEN g.state = 'running' THEN g.id END, CASE WHEN g.state = 'running' THEN g.id END,
    (g.started_at IS NOT NULL)::int, now() + interval '1 day', 5, 1, 'default', 'noop', '{}', 's'
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bool[], $5::timestamptz[])
    AS g(id, execution_id, state, is_foreseen, started_at)
"""
_ENDED = """
INSERT INTO windlass.job_history (id, execution_id, state, is_foreseen, started_at, finished_at,
    waits_for, claim_id, attempt, outcome, run_at, max_attempts, priority, queue, kind, input, step)
SELECT g.id, g.execution_id, g.state, g.is_foreseen, g.started_at, g.finished_at,
    (g.state = 'skipped')::int, CASE WHEN g.state IN ('succeeded', 'dead') THEN g.id END,
    (g.started_at IS NOT NULL)::int,
    CASE g.state WHEN 'succeeded' THEN 'succeeded' WHEN 'dead' THEN 'failed' END,
    now(), 5, 1, 'default', 'noop', '{}', 's'
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bool[], $5::timestamptz[], $6::timestamptz[])
    AS g(id, execution_id, state, is_foreseen, started_at, finished_at)
"""


async def put(database: Database, jobs: Sequence[JobFact] = (), **fields: Any) -> UUID:
    """One execution that has begun, with these jobs; `fields` are columns of its row."""
    [made] = await put_many(database, [(jobs, fields)])
    return made


async def put_many(
    database: Database, wanted: Sequence[tuple[Sequence[JobFact], Mapping[str, Any]]]
) -> list[UUID]:
    made = ids.uuid7_many(len(wanted))
    async with database.side(readonly=False) as connection:
        for execution_id, (_, fields) in zip(made, wanted, strict=True):
            row = {
                "id": execution_id,
                "shard": shard_of(execution_id),
                "begun_at": datetime.now(UTC),
                "version": 1,
                "workflow": "test",
                **fields,
            }
            parameters = ", ".join(f"${n}" for n in range(1, len(row) + 1))
            await connection.execute(
                f"INSERT INTO windlass.execution ({', '.join(row)}) VALUES ({parameters})",
                *row.values(),
            )
        every = [
            (execution_id, job)
            for execution_id, (jobs, _) in zip(made, wanted, strict=True)
            for job in jobs
        ]
        is_ended = [job.state in TERMINAL for _, job in every]
        still_open = [one for one, ended in zip(every, is_ended, strict=True) if not ended]
        ended = [one for one, ended in zip(every, is_ended, strict=True) if ended]
        await connection.execute(_OPEN, *_columns(still_open))
        await connection.execute(_ENDED, *_columns(ended), [job.finished_at for _, job in ended])
    return made


def _columns(jobs: Sequence[tuple[UUID, JobFact]]) -> list[list[Any]]:
    return [
        [job.job_id for _, job in jobs],
        [execution_id for execution_id, _ in jobs],
        [job.state for _, job in jobs],
        [job.is_foreseen for _, job in jobs],
        [job.started_at for _, job in jobs],
    ]


def job(state: Any, *, is_foreseen: bool = False, has_started: bool | None = None) -> JobFact:
    """One that is in this state now; `has_started`: None means as its state has it."""
    started = state in ("running", "succeeded", "dead") if has_started is None else has_started
    now = datetime.now(UTC)
    return JobFact(
        job_id=uuid4(),
        state=state,
        is_foreseen=is_foreseen,
        started_at=now if started else None,
        finished_at=now if state in TERMINAL else None,
    )


async def read(database: Database, execution_id: UUID) -> Record:
    async with database.side() as connection:
        found = await connection.fetchrow(
            "SELECT * FROM windlass.execution WHERE id = $1", execution_id
        )
    assert found is not None
    return found


async def end_job(database: Database, job_id: UUID, state: str = "succeeded") -> None:
    """A job leaves `job` for the history, as the end of an attempt does it."""
    async with database.side(readonly=False) as connection:
        row = await connection.fetchrow(
            "DELETE FROM windlass.job WHERE id = $1 RETURNING execution_id", job_id
        )
        assert row is not None, "it is open"
        now = datetime.now(UTC)
        columns = [[job_id], [row["execution_id"]], [state], [False], [now], [now]]
        await connection.execute(_ENDED, *columns)
