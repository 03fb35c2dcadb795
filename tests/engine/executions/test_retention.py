"""Executions that ended long ago go, and what belongs to them; others stay with all they need."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.as_node_role import by_hand
from tests.engine.aging import age, age_execution
from tests.engine.execution_rows import job, put, read
from tests.engine.executions.endings import ended_as
from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import counted, end, register, sql, state, submit, take, true_counts, value
from tests.engine.hands import noop as draft
from tests.engine.schedules.scheduling import put as put_schedule
from windlass import ids
from windlass.engine.executions.approvals import Decision, decide
from windlass.engine.executions.refresh import refresh
from windlass.engine.executions.rerun import rerun
from windlass.engine.executions.signals import send_signal
from windlass.engine.jobs import partitions
from windlass.engine.jobs import retain as retaining
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.history import job_at, read_events_of_execution
from windlass.engine.jobs.replay import replay
from windlass.engine.jobs.retain import retain
from windlass.model.job.outcome import Failed
from windlass.store.database import Database

AGED = """UPDATE windlass.execution
          SET state = 'failed', finished_at = now() - $2 * interval '1 day' WHERE id = $1"""


async def test_they_go_with_their_signals_and_questions(database: Database) -> None:
    steps = [{"id": "ok", "kind": "approval", "input": {"title": "May I?"}}]
    old, new = [await Flow.start(database, steps) for _ in range(2)]
    for flow, days in ((old, 9), (new, 1)):
        await send_signal(database, flow.execution_id, "later", "1", None)
        await sql(database, AGED, flow.execution_id, days)
    done = await retain(database, 7)
    assert done.forgotten_executions == 1
    for table in ("execution", "execution_signal", "approval"):
        column = "id" if table == "execution" else "execution_id"
        left = await sql(database, f"SELECT {column} AS it FROM windlass.{table}")
        assert [row["it"] for row in left] == [new.execution_id], table


async def test_one_that_has_not_ended_stays_however_old_it_is(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")])
    await sql(database, "UPDATE windlass.execution SET created_at = now() - interval '1 year'")
    assert (await retain(database, 7)).forgotten_executions == 0
    assert await flow.run() == {"a": "succeeded"}


async def test_many_go_in_bounded_batches(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retaining, "EXECUTIONS_BATCH", 2)
    made = [await put(database, [job("succeeded")]) for _ in range(5)]
    await refresh(database, made)
    for execution_id in made:
        await sql(database, AGED, execution_id, 30)
    kept = await put(database, [job("succeeded")], correlation_id=str(uuid4()))
    assert (await retain(database, 7)).forgotten_executions == 5
    assert await value(database, "SELECT count(*) FROM windlass.execution") == 1
    assert (await read(database, kept))["id"] == kept


# What belongs to an execution, or to a schedule, and is forgotten: by table, how it is made.
BELONGINGS = {
    "execution_signal": """(id, execution_id, name)
        SELECT gen_random_uuid(), unnest($1::uuid[]), 'n'""",
    "approval": """(id, job_id, execution_id, step, title)
        SELECT gen_random_uuid(), gen_random_uuid(), unnest($1::uuid[]), 's', 't'""",
    "fan": """(execution_id, step, job_id, total)
        SELECT unnest($1::uuid[]), 's', gen_random_uuid(), 1""",
    "execution_tree": "(root_id, slot, born) SELECT unnest($1::uuid[]), 0, 1",
    "idempotency": """(owner, key, body_hash, job_ids, created_at)
        SELECT 'o', unnest($1::uuid[])::text, '', '{}', now() - interval '30 days'""",
    "schedule_former": """(schedule_id, until, since, rule)
        SELECT id, now() - n * interval '30 days', now() - interval '1 year', '{}'
        FROM windlass.schedule, generate_series(1, cardinality($1::uuid[])) n""",
}
# Far from the half minute that a statement may wait.
FORGET_SECONDS = 10.0


@pytest.mark.parametrize("table", BELONGINGS)
async def test_a_row_that_somebody_holds_keeps_no_other_from_being_forgotten(
    database: Database, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retaining, "EXECUTIONS_BATCH", 2)
    await put_schedule(database, "s")
    made = [await put(database, [job("succeeded")]) for _ in range(5)]
    await refresh(database, made)
    for execution_id in made:
        await sql(database, AGED, execution_id, 30)
    await sql(database, f"INSERT INTO windlass.{table} {BELONGINGS[table]}", made)
    left = f"SELECT count(*) FROM windlass.{table}"
    async with database.side() as holder, holder.transaction():
        [_] = await holder.fetch(f"SELECT 1 FROM windlass.{table} LIMIT 1 FOR UPDATE")
        async with asyncio.timeout(FORGET_SECONDS):
            done = await retain(database, 7)
        assert (done.troubles, await value(database, left)) == ([], 1)
        of_executions = table not in ("idempotency", "schedule_former")
        assert done.forgotten_executions == 5 - of_executions
    await retain(database, 7)
    assert await value(database, left) == 0
    assert await value(database, "SELECT count(*) FROM windlass.execution") == 0


ORDER = [
    noop("charge"),
    {"id": "ok", "kind": "approval", "needs": ["charge"], "input": {"title": "May I?"}},
    noop("ship", "charge", "ok", input={"paid": "${steps.charge.output}"}),
]


async def approve(flow: Flow) -> None:
    approval = await value(flow.database, "SELECT id FROM windlass.approval WHERE state = 'open'")
    done = await decide(flow.database, approval, Decision(is_approved=True, by=None))
    await flow.look_after(done.effects)


async def days_of(database: Database, table: str = "job_history") -> set[str]:
    """The partitions that hold something."""
    rows = await sql(
        database, f"SELECT DISTINCT tableoid::regclass::text AS name FROM windlass.{table}"
    )
    return {row["name"].removeprefix("windlass.") for row in rows}


@pytest.mark.parametrize("kept_max", [0, 5_000])
async def test_an_execution_that_waited_longer_than_the_retention_goes_on_as_if_it_had_not(
    database: Database, monkeypatch: pytest.MonkeyPatch, kept_max: int
) -> None:
    # With 0 the day stays, thinned; otherwise it goes and what is needed of it moves.
    monkeypatch.setattr(partitions, "DAY_KEPT_MAX", kept_max)
    flow = await Flow.start(database, ORDER)
    await flow.run()
    other = await submit(database, *(draft(queue="other") for _ in range(20)))
    node = await register(database)
    await end(database, node, await take(database, node))
    await age(database, other, 20)
    day = await age_execution(database, flow.execution_id, 20)

    await retain(database, 14)

    assert await value(database, "SELECT count(*) FROM windlass.job_history") == 1
    assert await days_of(database) == {
        f"job_history_{day}" if kept_max == 0 else "job_history_rest"
    }
    assert await counted(database) == await true_counts(database)
    await approve(flow)
    assert await flow.run() == {"charge": "succeeded", "ok": "succeeded", "ship": "succeeded"}
    assert flow.ran == ["charge", "ship"]
    assert await flow.given("ship") == {"paid": "charge"}
    assert await ended_as(flow) == "succeeded"


async def test_an_execution_keeps_its_steps_and_events_until_it_goes_itself(
    database: Database,
) -> None:
    flow = await Flow.start(database, ORDER)
    await flow.run(charge=Failed("again", "later"))
    await sql(database, "UPDATE windlass.job SET run_at = now() WHERE state = 'queued'")
    await flow.run(charge=FAILS)
    assert await ended_as(flow) == "failed"
    day = await age_execution(database, flow.execution_id, 20)
    execution = await read(database, flow.execution_id)
    before = await read_events_of_execution(database, execution, None, 100)
    assert await days_of(database, "attempt") == {f"attempt_{day}"}

    done = await retain(database, 14)

    assert len(done.dropped) == 4
    after = await read_events_of_execution(database, execution, None, 100)
    assert len(after) > 5
    assert after == before
    assert await days_of(database, "attempt") == {"attempt_rest"}
    await sql(database, AGED, flow.execution_id, 16)
    assert (await retain(database, 14)).forgotten_executions == 1
    for rows in ("job_history", "attempt", "event WHERE noun IN ('job', 'execution')"):
        assert await value(database, f"SELECT count(*) FROM windlass.{rows}") == 0, rows
    assert await counted(database) == await true_counts(database) == {}


async def test_steps_of_long_ago_serve_a_rerun_of_an_execution_that_ended_lately(
    database: Database,
) -> None:
    flow = await Flow.start(database, ORDER)
    await flow.run()
    await age_execution(database, flow.execution_id, 20)
    await retain(database, 14)
    await approve(flow)
    await flow.run(ship=FAILS)
    assert await ended_as(flow) == "failed"
    await retain(database, 14)
    done = await rerun(database, flow.execution_id, "ship")
    await flow.look_after(done.effects)
    flow.outcomes.clear()
    assert (await flow.run())["ship"] == "succeeded"
    assert flow.ran == ["charge", "ship", "ship"]
    assert await flow.given("ship") == {"paid": "charge"}


async def test_a_job_of_long_ago_that_has_not_ended_is_told_whole(database: Database) -> None:
    [job_id] = await submit(database, draft(max_attempts=3))
    node = await register(database)
    await end(database, node, await take(database, node), Failed("again", "later"))
    day = await age(database, [job_id], 20)
    [tried] = await database.read("attempt_list", [job_id])
    await retain(database, 14)
    assert await days_of(database, "attempt") == {"attempt_rest"}, day
    shown = await job_at(database, job_id, tried["started_at"])
    assert (shown["state"], shown["attempt"]) == ("running", 1)
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await end(database, node, await take(database, node))
    assert [row["attempt"] for row in await database.read("attempt_list", [job_id])] == [1]


async def test_a_job_that_is_replayed_takes_what_is_known_of_it_along(database: Database) -> None:
    [job_id] = await submit(database, draft(max_attempts=1))
    node = await register(database)
    await end(database, node, await take(database, node), Failed("once", "no"))
    await age(database, [job_id], 14)
    await retain(database, 14)
    await replay(database, [job_id])
    await retain(database, 13)
    assert [row["attempt"] for row in await database.read("attempt_list", [job_id])] == [1]
    events = await sql(database, "SELECT type FROM windlass.event WHERE job_id = $1", job_id)
    assert sorted(row["type"] for row in events) == ["finished", "replayed"]


async def test_a_parent_that_a_waiting_job_names_stays(database: Database) -> None:
    old, _, child = await submit(
        database, draft(), draft(delay_seconds=3600), draft(depends_on_places=(0, 1))
    )
    node = await register(database)
    await end(database, node, await take(database, node))
    await age(database, [old], 20)
    # An id tells when its job was made.
    made = ids.uuid7_at(datetime.now(UTC) - timedelta(days=20))
    async with by_hand(database, readonly=False) as connection:
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute("UPDATE windlass.job_history SET id = $1", made)
        await connection.execute(
            "UPDATE windlass.job SET depends_on = array_replace(depends_on, $1, $2)", old, made
        )
    await retain(database, 14)
    assert await state(database, made) == "succeeded"
    await cancel(database, [child])
    await retain(database, 14)
    assert await database.read("job_get_many", [made]) == [], "nobody waits beside it any more"
