"""What the database refuses, whoever asks."""

from __future__ import annotations

from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import end, register, row, sql, submit_one, take
from windlass.engine.jobs.cancel import cancel
from windlass.store.database import Database, Refused


async def ended(database: Database) -> UUID:
    job_id = await submit_one(database)
    node = await register(database)
    await end(database, node, await take(database, node))
    return job_id


async def running(database: Database) -> UUID:
    job_id = await submit_one(database)
    await take(database, await register(database))
    return job_id


async def under_verb(database: Database, verb: str, statement: str) -> None:
    async with database.side() as connection, connection.transaction():
        await connection.execute("SELECT set_config('windlass.verb', $1, true)", verb)
        await connection.execute(statement)


@pytest.mark.parametrize(
    "change",
    [
        "state = 'dead'",
        "result = '1'",
        "finished_at = now() + interval '1 day'",  # would move it to another partition
        "id = gen_random_uuid()",
        "priority = priority",
    ],
)
async def test_a_finished_row_is_never_changed(database: Database, change: str) -> None:
    job_id = await ended(database)
    before = await row(database, job_id)
    for verb in ("", "replay", "delete"):
        with pytest.raises(Refused, match=r"ended \(succeeded\) and is final; replay it instead"):
            await under_verb(database, verb, f"UPDATE windlass.job_history SET {change}")
    assert await row(database, job_id) == before


async def test_a_finished_row_goes_only_by_a_verb_that_says_so(database: Database) -> None:
    job_id = await ended(database)
    for verb in ("", "clean", "replays"):
        with pytest.raises(Refused, match="is final"):
            await under_verb(database, verb, "DELETE FROM windlass.job_history")
    assert (await row(database, job_id))["state"] == "succeeded"
    await under_verb(database, "delete", "DELETE FROM windlass.job_history")
    assert await database.read("job_get_many", [job_id]) == []


async def test_a_verb_counts_for_its_own_transaction_only(database: Database) -> None:
    await ended(database)
    async with database.side() as connection:
        async with connection.transaction():
            await connection.execute("SELECT set_config('windlass.verb', 'delete', true)")
        with pytest.raises(asyncpg.CheckViolationError, match="is final"):
            await connection.execute("DELETE FROM windlass.job_history")


async def test_even_a_hole_in_the_verbs_cannot_end_a_cancelled_job_as_succeeded(
    database: Database,
) -> None:
    job_id = await running(database)
    await cancel(database, [job_id])
    with pytest.raises(Refused, match="job_history_cancelled"):
        await sql(
            database,
            """WITH gone AS (DELETE FROM windlass.job RETURNING *)
               INSERT INTO windlass.job_history (
                   id, run_at, created_at, started_at, cancel_requested_at, node_id, claim_id,
                   attempt, max_attempts, priority, queue, kind, state, input, finished_at, outcome)
               SELECT id, run_at, created_at, started_at, cancel_requested_at, node_id, claim_id,
                   attempt, max_attempts, priority, queue, kind, 'succeeded', input, now(),
                   'succeeded'
               FROM gone""",
        )
    assert (await row(database, job_id))["state"] == "running"


@pytest.mark.parametrize(
    "change",
    [
        "node_id = NULL",
        "claim_id = NULL",
        "started_at = NULL",
        "attempt = 0",
        "state = 'queued'",  # but still somebody's
        "priority = 4",
        "max_attempts = 0",
        "state = 'lost'",
        "on_parent_failure = 'ignore'",
    ],
)
async def test_a_running_row_always_has_its_owner_and_its_fence(
    database: Database, change: str
) -> None:
    await running(database)
    with pytest.raises(Refused, match=r"check constraint|may not move"):
        await sql(database, f"UPDATE windlass.job SET {change}")


@pytest.mark.parametrize(
    "change", ["waits_for = 1", "node_id = gen_random_uuid()", "claim_id = gen_random_uuid()"]
)
async def test_a_queued_row_belongs_to_nobody_and_waits_for_nobody(
    database: Database, change: str
) -> None:
    await submit_one(database)
    with pytest.raises(Refused, match="job_owned"):
        await sql(database, f"UPDATE windlass.job SET {change}")


@pytest.mark.parametrize("column", ["max_jobs", "max_bytes", "max_running", "rate"])
async def test_a_queue_has_no_limit_below_nothing(database: Database, column: str) -> None:
    with pytest.raises(Refused, match="check constraint"):
        await sql(database, f"INSERT INTO windlass.queue (name, {column}) VALUES ('q', -1)")
