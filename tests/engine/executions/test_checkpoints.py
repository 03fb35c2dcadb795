"""Checkpoints of durable functions: fenced, written once, and never without their signal."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from uuid import UUID

from tests.engine.executions.flow import Flow
from tests.engine.hands import end, register, sql, submit_one, take_one, until_sql, value
from windlass import ids
from windlass.engine.doctor.folds import check_folds
from windlass.engine.executions.checkpoint_waits import listen
from windlass.engine.executions.checkpoints import (
    CheckpointWrite,
    Fence,
    forget_checkpoints,
    keep_many,
    load_many,
)
from windlass.engine.executions.signals import send_signal
from windlass.engine.jobs.end import requeue_columns
from windlass.engine.jobs.replay import delete
from windlass.errors import Unavailable
from windlass.model.job.attempt import Attempt
from windlass.model.job.checkpoint import Checkpoint, Note
from windlass.model.job.outcome import Failed, Snoozed
from windlass.model.job.settle import settle
from windlass.runtime.worker.checkpoints import Checkpoints
from windlass.store.database import Database, Refused
from windlass.store.statements import statement

RESTS = Snoozed(600.0, is_listening=True)
HELD_UP_BY = (
    "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    " AND query LIKE '-- execution_lock_many%' AND datname = current_database()"
)
HELD_UP = f"SELECT count(*) FROM ({HELD_UP_BY}) held_up"
PAID = Note(branch="", place=0, name="paid", kind="wait")


def fence_of(attempt: Attempt) -> Fence:
    return Fence(
        job_id=attempt.job_id,
        attempt=attempt.number,
        claim_id=attempt.claim_id,
        execution_id=attempt.execution_id,
    )


def step(
    attempt: Attempt, place: int, result: str | None = None, name: str = "act"
) -> CheckpointWrite:
    note = Note(branch="", place=place, name=name, kind="step", result_json=result)
    return CheckpointWrite(fence_of(attempt), note)


async def keep(database: Database, *batch: CheckpointWrite) -> list[Any]:
    return await keep_many(database, batch)


async def waiting(database: Database) -> tuple[Flow, Attempt]:
    """A durable function of an execution, running, with an open wait for `paid`."""
    task = {"id": "run", "kind": "python", "input": {"task": "order"}}
    flow = await Flow.start(database, [task])
    attempt = await take_one(database, flow.node_id)
    found = await listen(database, fence_of(attempt), PAID)
    assert found is not None
    assert found.is_open
    return flow, attempt


async def rest(database: Database, flow: Flow, attempt: Attempt) -> None:
    """As a node does it: again, while something stands in the way."""
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(Unavailable):
                await end(database, flow.node_id, attempt, RESTS)
                return


async def is_due(database: Database, job_id: UUID) -> bool:
    return bool(
        await value(
            database,
            "SELECT run_at <= clock_timestamp() FROM windlass.job WHERE id = $1",
            job_id,
        )
    )


async def test_functions_are_kept_together_and_loaded_in_their_order(database: Database) -> None:
    node = await register(database)
    for _ in range(2):
        await submit_one(database)
    one, two = [await take_one(database, node) for _ in range(2)]
    await keep(database, step(one, 1, '"b"'), step(two, 0, "7"), step(one, 0, None))
    found = await load_many(database, [one.job_id, two.job_id])
    assert [(c.place, c.result_json) for c in found[one.job_id]] == [(0, None), (1, '"b"')]
    assert [(c.place, c.result_json) for c in found[two.job_id]] == [(0, "7")]


async def test_an_attempt_that_is_not_the_newest_any_more_writes_nothing(
    database: Database,
) -> None:
    await submit_one(database, retry='{"initial": 0}')
    node = await register(database)
    old = await take_one(database, node)
    await end(database, node, old, Failed("x", "x"))
    new = await take_one(database, node)
    answers = await keep(database, step(old, 0, "1"), step(new, 1, "2"))
    assert answers[0] is None
    assert isinstance(answers[1], Checkpoint)
    assert [c.place for c in (await load_many(database, [new.job_id]))[new.job_id]] == [1]


async def test_a_place_is_written_once_and_who_comes_second_reads_it(database: Database) -> None:
    """A late word of an attempt before, or the same word again after a lost answer."""
    await submit_one(database)
    attempt = await take_one(database, await register(database))
    await keep(database, step(attempt, 0, '"first"'))
    [again] = await keep(database, step(attempt, 0, '"second"', name="other"))
    assert (again.name, again.result_json) == ("act", '"first"')


async def test_a_value_that_cannot_be_stored_fails_no_neighbour(database: Database) -> None:
    await submit_one(database)
    attempt = await take_one(database, await register(database))
    good, bad = await keep(database, step(attempt, 0, "1"), step(attempt, 1, "{bad"))
    assert good.result_json == "1"
    assert isinstance(bad, Refused)


async def test_a_signal_that_was_kept_ends_a_wait_and_is_taken_with_it(database: Database) -> None:
    flow, attempt = await waiting(database)
    await send_signal(database, flow.execution_id, "paid", '{"amount":9}', None)
    for _ in range(2):  # asking again gives the same
        found = await listen(database, fence_of(attempt), PAID)
        assert found is not None
        assert (found.is_open, found.result_json) == (False, '{"amount":9}')
    taken = await value(database, "SELECT taken_by FROM windlass.execution_signal")
    assert taken == attempt.job_id


async def test_however_many_wait_for_an_execution_that_somebody_holds_nobody_else_does(
    database: Database,
) -> None:
    flow, attempt = await waiting(database)
    checkpoints = Checkpoints(database)
    hold = "SELECT FROM windlass.execution WHERE id = $1 FOR UPDATE"
    async with database.side(readonly=False) as somebody:
        await somebody.fetch(hold, flow.execution_id)
        asked = [checkpoints.of(attempt).listen(PAID) for _ in range(30)]
        async with asyncio.timeout(20):
            for _ in range(10):
                await submit_one(database)
        assert not any(answer.done() for answer in asked if isinstance(answer, asyncio.Future))
    async with asyncio.timeout(20):
        found = await asyncio.gather(*asked)
    assert all(one.is_open for one in found)


async def test_a_signal_makes_a_function_due_that_rests_for_it(database: Database) -> None:
    flow, attempt = await waiting(database)
    await end(database, flow.node_id, attempt, RESTS)
    await send_signal(database, flow.execution_id, "other", "1", None)
    assert not await is_due(database, attempt.job_id)
    sent = await send_signal(database, flow.execution_id, "paid", "1", None)
    assert [found["id"] for found in sent.effects.requeued] == [attempt.job_id]
    assert await is_due(database, attempt.job_id)
    assert [wrong async for _, found in check_folds(database) for wrong in found] == []


async def test_a_signal_between_the_look_and_the_rest_wakes_it_too(database: Database) -> None:
    flow, attempt = await waiting(database)
    sent = await send_signal(database, flow.execution_id, "paid", "1", None)
    assert sent.effects.requeued == []
    settled = await end(database, flow.node_id, attempt, RESTS)
    assert {found["id"] for found in settled.effects.requeued} == {attempt.job_id}
    assert await is_due(database, attempt.job_id)


async def test_a_signal_that_is_being_written_while_it_goes_to_rest_is_waited_for(
    database: Database,
) -> None:
    flow, attempt = await waiting(database)
    async with database.side(readonly=False) as sender:
        await sender.fetch(statement("execution_hold_many"), [flow.execution_id])
        await sender.fetch(
            statement("execution_signal_insert"), ids.uuid7(), flow.execution_id, "paid", "1", None
        )
        assert (
            await sender.fetch(statement("checkpoint_listening"), flow.execution_id, "paid") == []
        )
        resting = asyncio.create_task(rest(database, flow, attempt))
        await until_sql(database, HELD_UP)
        assert not resting.done()
    await resting
    assert await is_due(database, attempt.job_id)


async def test_no_wake_up_is_lost_when_the_connection_breaks_between_a_rest_and_its_look(
    database: Database,
) -> None:
    flow, attempt = await waiting(database)
    async with database.side(readonly=False) as sender:
        await sender.fetch(statement("execution_hold_many"), [flow.execution_id])
        await sender.fetch(
            statement("execution_signal_insert"), ids.uuid7(), flow.execution_id, "paid", "1", None
        )
        resting = asyncio.create_task(rest(database, flow, attempt))
        await until_sql(database, HELD_UP)
        await sql(database, f"SELECT pg_terminate_backend(pid) FROM ({HELD_UP_BY}) held_up")
    await resting
    assert await is_due(database, attempt.job_id)


async def test_no_wake_up_is_lost_with_the_answer_to_a_rest(database: Database) -> None:
    flow, attempt = await waiting(database)
    await send_signal(database, flow.execution_id, "paid", "1", None)
    settlement = settle(attempt, RESTS, 0)
    # It was committed, and nobody heard of it; so it is done again.
    await database.run("job_requeue_many", *requeue_columns([settlement], flow.node_id))
    assert not await is_due(database, attempt.job_id)
    await rest(database, flow, attempt)
    assert await is_due(database, attempt.job_id)


async def test_a_wait_whose_time_is_up_is_closed_for_good(database: Database) -> None:
    flow, attempt = await waiting(database)
    await sql(database, "UPDATE windlass.checkpoint SET until = clock_timestamp()")
    closed = await listen(database, fence_of(attempt), PAID)
    await send_signal(database, flow.execution_id, "paid", "1", None)
    again = await listen(database, fence_of(attempt), PAID)
    for found in (closed, again):
        assert found is not None
        assert (found.is_open, found.result_json) == (False, None)
    assert await value(database, "SELECT taken_by FROM windlass.execution_signal") is None


async def test_they_are_forgotten_with_their_jobs_and_not_before(database: Database) -> None:
    node = await register(database)
    made = [await submit_one(database) for _ in range(3)]
    deleted, gone, lives = [await take_one(database, node) for _ in range(3)]
    await keep(database, *(step(attempt, 0) for attempt in (deleted, gone, lives)))
    await end(database, node, [deleted, gone])
    await delete(database, [deleted.job_id])
    await sql(database, "UPDATE windlass.checkpoint SET at = at - interval '9 days'")
    assert await forget_checkpoints(database, 7) == 0
    await sql(database, "ALTER TABLE windlass.job_history DISABLE TRIGGER ALL")
    await sql(database, "DELETE FROM windlass.job_history WHERE id = $1", gone.job_id)
    await sql(database, "ALTER TABLE windlass.job_history ENABLE TRIGGER ALL")
    assert await forget_checkpoints(database, 7) == 1
    left = await sql(database, "SELECT job_id FROM windlass.checkpoint")
    assert [found["job_id"] for found in left] == [lives.job_id]
    assert {deleted.job_id, gone.job_id, lives.job_id} == set(made)
