"""Refreshing executions: the state in SQL, the fence, and what is found by the nets."""

from __future__ import annotations

import asyncio
import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from tests.engine.execution_rows import end_job, job, put, put_many, read
from tests.engine.hands import several, sql, until_sql
from windlass.engine.executions.refresh import missed_executions, refresh, stale_executions
from windlass.engine.jobs.replay import replay
from windlass.model.job.states import STATES
from windlass.model.workflow.execution import (
    Circumstances,
    JobFact,
    aggregate,
    execution_state,
)
from windlass.model.workflow.refresh import SHARDS, shard_of
from windlass.store.database import Database

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


async def test_sql_and_the_model_agree_on_every_combination_of_states(database: Database) -> None:
    """All sets of states, each foreseen or not, in all circumstances: about four thousand."""
    wanted: list[tuple[list[JobFact], dict[str, Any]]] = []
    known: list[Circumstances] = []
    for chosen in itertools.product((False, True), repeat=len(STATES)):
        states = [state for state, is_in in zip(STATES, chosen, strict=True) if is_in]
        for is_foreseen, is_paused, is_cancelled, is_doomed in itertools.product(
            (False, True), repeat=4
        ):
            if not states:
                continue
            jobs = [job(state, is_foreseen=is_foreseen) for state in states]
            fields = {
                "paused_at": LONG_AGO if is_paused else None,
                "cancel_requested_at": LONG_AGO if is_cancelled else None,
                "doom": "timeout" if is_doomed else None,
            }
            wanted.append((jobs, fields))
            known.append(
                Circumstances(is_paused=is_paused, is_cancelled=is_cancelled, is_doomed=is_doomed)
            )
    made = await put_many(database, wanted)
    await refresh(database, made)
    rows = {row["id"]: row for row in await sql(database, "SELECT * FROM windlass.execution")}
    for execution_id, (jobs, _), circumstances in zip(made, wanted, known, strict=True):
        expected, row = aggregate(jobs), rows[execution_id]
        assert row["state"] == execution_state(expected, circumstances), (jobs, circumstances)
        assert json.loads(row["counts"]) == expected.counts
        assert (row["started_at"], row["finished_at"]) == (
            expected.started_at,
            expected.finished_at,
        )


async def test_one_statement_refreshes_a_batch_and_says_what_came_of_each(
    database: Database,
) -> None:
    ended = await put(database, [job("succeeded"), job("skipped")])
    going = await put(database, [job("succeeded"), job("running"), job("queued")])
    gone = uuid4()
    done = await refresh(database, [ended, going, gone])
    assert (done.ended, done.jobs, done.gone, done.lost) == ([ended], {going: 3}, 1, set())
    again = await refresh(database, [ended, going])
    assert (again.ended, again.same, again.jobs) == ([], 1, {going: 3})


async def test_what_has_ended_and_not_moved_is_not_written_again(database: Database) -> None:
    execution_id = await put(database, [job("succeeded")])
    await refresh(database, [execution_id])
    before = await read(database, execution_id)
    await refresh(database, [execution_id])
    assert await read(database, execution_id) == before


async def test_a_replay_unfinishes_and_the_next_end_finishes_again(database: Database) -> None:
    dead, fine = job("dead"), job("succeeded")
    execution_id = await put(database, [dead, fine])
    await refresh(database, [execution_id])
    failed = await read(database, execution_id)
    assert (failed["state"], json.loads(failed["error"])["step"]) == ("failed", "s")
    assert failed["finished_at"] is not None

    assert await replay(database, [dead.job_id])
    await refresh(database, [execution_id])
    running = await read(database, execution_id)
    assert (running["state"], running["finished_at"], running["error"]) == ("running", None, None)
    assert json.loads(running["counts"]) == {"queued": 1, "succeeded": 1}

    await end_job(database, dead.job_id)
    assert (await refresh(database, [execution_id])).ended == [execution_id]
    row = await read(database, execution_id)
    assert (row["state"], row["error"]) == ("succeeded", None)
    assert row["finished_at"] > failed["finished_at"]


async def test_why_it_failed_is_the_first_failure_that_nobody_foresaw(database: Database) -> None:
    first, second = job("dead"), job("expired")
    execution_id = await put(database, [job("dead", is_foreseen=True), first, second])
    await refresh(database, [execution_id])
    error = json.loads((await read(database, execution_id))["error"])
    assert error["job_id"] == f"job_{first.job_id.hex}"
    doomed = await put(database, [job("cancelled")], doom="timeout")
    await refresh(database, [doomed])
    assert json.loads((await read(database, doomed))["error"]) == {"cause": "timeout"}


async def test_an_end_that_is_more_than_a_state_is_left_to_its_conclusion(
    database: Database,
) -> None:
    execution_id = await put(database, [job("succeeded")], has_conclusion=True, state="running")
    done = await refresh(database, [execution_id])
    assert (done.unconcluded, done.ended) == ([execution_id], [])
    row = await read(database, execution_id)
    assert (row["state"], row["finished_at"]) == ("running", None)
    assert json.loads(row["counts"]) == {"succeeded": 1}
    # Concluded, it is left alone; a job that ended since then calls for another conclusion.
    await _conclude(database, execution_id)
    again = await refresh(database, [execution_id])
    assert (again.unconcluded, again.same) == ([], 1)
    later = job("dead")
    await put_job_later(database, execution_id, later)
    assert (await refresh(database, [execution_id])).unconcluded == [execution_id]


async def _conclude(database: Database, execution_id: UUID) -> None:
    await sql(
        database,
        "UPDATE windlass.execution SET state = 'succeeded', finished_at = clock_timestamp(), "
        "output = '1' WHERE id = $1",
        execution_id,
    )


async def put_job_later(database: Database, execution_id: UUID, fact: JobFact) -> None:
    await sql(
        database,
        """INSERT INTO windlass.job (id, execution_id, state, run_at, max_attempts, priority,
               queue, kind, input, step)
           VALUES ($1, $2, 'queued', now(), 5, 1, 'default', 'noop', '{}', 's')""",
        fact.job_id,
        execution_id,
    )
    await end_job(database, fact.job_id, fact.state)


async def test_who_waits_for_its_turn_is_pending_and_jobs_that_were_dropped_change_nothing(
    database: Database,
) -> None:
    waits = await put(database, begun_at=None)
    paused = await put(database, begun_at=None, paused_at=LONG_AGO)
    ended = await put(
        database, state="failed", finished_at=LONG_AGO, created_at=LONG_AGO, counts='{"dead":1}'
    )
    done = await refresh(database, [waits, paused, ended])
    assert done.same == 1
    states = [(await read(database, one))["state"] for one in (waits, paused, ended)]
    assert states == ["pending", "paused", "failed"]
    assert (await read(database, ended))["counts"] == '{"dead":1}'


async def test_a_refresh_from_an_older_snapshot_loses_and_is_done_again(
    database_url: str, database: Database
) -> None:
    """The fence: one refresh waits for the row while another writes it from a newer snapshot."""
    running = job("running")
    execution_id = await put(database, [running])
    async with several(database_url, 2) as (late, quick), database.side() as holder:
        change = holder.transaction()
        await change.start()
        await holder.execute(
            "SELECT FROM windlass.execution WHERE id = $1 FOR UPDATE", execution_id
        )
        # Of the hot path: it waits for the row for as long as that takes.
        older = asyncio.create_task(late.run("execution_refresh_many", [execution_id]))
        await until_sql(
            database,
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database()",
        )
        await end_job(database, running.job_id)
        # Somebody who holds the row writes what is true now.
        await holder.execute(
            "UPDATE windlass.execution SET refresh_seq = refresh_seq + 1 WHERE id = $1",
            execution_id,
        )
        await change.commit()
        assert await older == []
        assert (await refresh(late, [execution_id])).ended == [execution_id]
        assert (await refresh(quick, [execution_id])).same == 1
    assert (await read(database, execution_id))["state"] == "succeeded"


async def test_many_refreshers_at_once_end_with_the_truth(
    database_url: str, database: Database
) -> None:
    jobs = [[job("running") for _ in range(4)] for _ in range(20)]
    made = await put_many(database, [(some, {}) for some in jobs])
    async with several(database_url, 4) as databases:

        async def refresh_on(one: Database) -> None:
            for _ in range(15):
                await refresh(one, made)

        async def end_all() -> None:
            for some in jobs:
                for one in some:
                    await end_job(database, one.job_id)

        await asyncio.gather(end_all(), *map(refresh_on, databases))
        await refresh(databases[0], made)
    for execution_id in made:
        row = await read(database, execution_id)
        assert (row["state"], json.loads(row["counts"])) == ("succeeded", {"succeeded": 4})


async def test_the_net_finds_what_was_refreshed_longest_ago_shard_by_shard(
    database: Database,
) -> None:
    old = datetime.now(UTC) - timedelta(minutes=5)
    made = await put_many(database, [([job("running")], {"refreshed_at": old}) for _ in range(50)])
    fresh = await put(database, [job("running")])
    ended = await put(database, [job("succeeded")], refreshed_at=old)
    await refresh(database, [ended])
    own = range(0, SHARDS, 2)
    found = await stale_executions(database, own, 30.0)
    assert set(found) == {one for one in made if shard_of(one) in own}
    assert fresh not in found
    await refresh(database, found)
    assert await stale_executions(database, own, 30.0) == []
    assert await stale_executions(database, [], 30.0) == []


async def test_the_net_finds_unfinished_ones_of_which_a_job_ended_unseen(
    database: Database,
) -> None:
    then = datetime.now(UTC) - timedelta(seconds=20)
    ended = JobFact(job_id=uuid4(), state="succeeded", started_at=then, finished_at=then)
    early = then - timedelta(minutes=1)
    missed = await put(database, [ended], refreshed_at=early, created_at=early)
    seen = await put(database, [_copy(ended), job("queued")], created_at=early)
    done = await put(database, [_copy(ended)], refreshed_at=early, created_at=early)
    await refresh(database, [done])
    await sql(
        database,
        "UPDATE windlass.execution SET refreshed_at = $2 WHERE id = $1",
        done,
        early,
    )
    assert await missed_executions(database, 60.0) == [missed]
    assert await missed_executions(database, 1.0) == [], "that span holds nothing"
    assert (await read(database, seen))["finished_at"] is None


def _copy(fact: JobFact) -> JobFact:
    return JobFact(
        job_id=uuid4(),
        state=fact.state,
        started_at=fact.started_at,
        finished_at=fact.finished_at,
    )
