"""The database allows the moves of model.job.states and no others, whoever writes the SQL."""

from __future__ import annotations

from itertools import product
from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import noop, register, sql, submit, submit_one, take
from windlass.engine.jobs.replay import replay
from windlass.model.job.states import LEGAL_MOVES, STATES, TERMINAL, UNFINISHED, State
from windlass.store.database import Database, Refused

OUTCOMES = {"succeeded": "succeeded", "dead": "failed", "cancelled": "cancelled"}
# A row like the one that ends a job, written by somebody who knows nothing of our verbs.
END = """
WITH gone AS (DELETE FROM windlass.job WHERE id = $1 RETURNING *)
INSERT INTO windlass.job_history (
    id, run_at, created_at, started_at, node_id, claim_id, attempt, max_attempts, waits_for,
    input_bytes, priority, queue, kind, input, state, finished_at, outcome)
SELECT id, run_at, created_at, coalesce(started_at, now()), node_id, claim_id, attempt,
    max_attempts, waits_for, input_bytes, priority, queue, kind, input, $2, now(), $3
FROM gone"""
# With whatever the new state needs, so that only the move itself can be at fault.
MOVE = """
UPDATE windlass.job SET state = $2,
    node_id = CASE $2 WHEN 'running' THEN gen_random_uuid() END,
    claim_id = CASE $2 WHEN 'running' THEN gen_random_uuid() END,
    started_at = coalesce(started_at, now()), attempt = attempt + 1,
    waits_for = CASE $2 WHEN 'blocked' THEN 1 ELSE 0 END
WHERE id = $1"""
REWRITE = "UPDATE windlass.job_history SET state = $2 WHERE id = $1"


async def job_in(database: Database, state: State) -> UUID:
    """A job that came to its state by legal moves."""
    if state == "blocked":
        return (await submit(database, noop(), noop(depends_on_places=(0,))))[1]
    job_id = await submit_one(database)
    if state in ("running", "succeeded", "dead"):
        await take(database, await register(database))
    if state in TERMINAL and state != "skipped":
        async with database.side() as connection:
            await connection.execute(END, job_id, state, OUTCOMES.get(state))
    if state == "skipped":
        job_id = await job_in(database, "blocked")
        async with database.side() as connection:
            await connection.execute(END, job_id, state, None)
    return job_id


async def try_move(database: Database, job_id: UUID, old: State, new: State) -> bool:
    """Write the move as plainly as SQL can and take it back; False when the database refuses."""
    async with database.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            if old in TERMINAL:
                await connection.execute(REWRITE, job_id, new)
            elif new in TERMINAL:
                await connection.execute(END, job_id, new, OUTCOMES.get(new))
            else:
                await connection.execute(MOVE, job_id, new)
        except asyncpg.CheckViolationError:
            return False
        finally:
            await transaction.rollback()
    return True


async def test_from_each_unfinished_state_exactly_the_legal_moves_are_possible(
    database: Database,
) -> None:
    possible: dict[State, set[State]] = {state: set() for state in UNFINISHED}
    for old, new in product(UNFINISHED, STATES):
        job_id = await job_in(database, old)
        if old != new and await try_move(database, job_id, old, new):
            possible[old].add(new)
    assert possible == {state: LEGAL_MOVES[state] for state in UNFINISHED}


@pytest.mark.parametrize("old", TERMINAL)
async def test_a_finished_job_never_moves_but_by_replay_to_queued(
    database: Database, old: State
) -> None:
    job_id = await job_in(database, old)
    moved = [new for new in STATES if await try_move(database, job_id, old, new)]
    assert moved == []
    [back] = await replay(database, [job_id])
    assert back["id"] == job_id
    assert LEGAL_MOVES[old] == {"queued"}


@pytest.mark.parametrize("state", TERMINAL)
async def test_no_job_is_born_finished(database: Database, state: State) -> None:
    with pytest.raises(Refused, match="job_state_check"):
        await sql(
            database,
            """INSERT INTO windlass.job
                   (id, run_at, max_attempts, priority, queue, kind, input, state)
               VALUES (gen_random_uuid(), now(), 1, 1, 'default', 'noop', '{}', $1)""",
            state,
        )
