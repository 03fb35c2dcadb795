"""How quickly a queue takes jobs: one pace over all nodes, for batches and for SQL too."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.engine.hands import counted, door, ids_in, noop, several, sql, submit, value
from tests.engine.schedules.scheduling import fire, put, rewind, states
from tests.until import until
from windlass.engine.jobs.queues import QueueLimits, put_queue, read_queue
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.errors import QueueFull, QueueRate
from windlass.store.database import Database, LimitReached

pytestmark = pytest.mark.usefixtures("patient_door")


async def slow(database: Database, rate: float = 0.01, name: str = "slow") -> None:
    """At this rate nothing comes back while a test runs."""
    await put_queue(database, name, QueueLimits(submit_rate=rate))


async def pass_time(database: Database, seconds: float) -> None:
    await sql(
        database,
        "UPDATE windlass.queue SET submit_due_at = submit_due_at - make_interval(secs => $1)",
        seconds,
    )


async def test_jobs_beyond_the_rate_are_refused_and_told_when(database: Database) -> None:
    await slow(database)
    await door(database).submit(noop(queue="slow"))
    with pytest.raises(QueueRate) as refused:
        await door(database).submit(noop(queue="slow"))
    facts = refused.value.facts
    assert facts == {"queue": "slow", "limit": 0.01, "current": 1, "requested": 1, "unit": "jobs/s"}
    assert 90 <= refused.value.retry_after_seconds <= 100
    await pass_time(database, 100)
    await door(database).submit(noop(queue="slow"))
    assert (await read_queue(database, "slow")).limits == QueueLimits(submit_rate=0.01)


async def test_a_second_s_worth_may_come_at_once_and_one_queue_is_no_other_s_trouble(
    database: Database,
) -> None:
    await slow(database, 5)
    await submit(database, *[noop(queue="slow")] * 5)
    await pass_time(database, -10)  # so that nothing comes back meanwhile
    calls = [door(database).submit(noop(queue=queue)) for queue in ("slow", "other", "slow")]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(answer) for answer in answers] == [QueueRate, Accepted, QueueRate]


async def test_a_batch_larger_than_that_comes_when_nothing_did_for_as_long_and_is_paid_for(
    database: Database,
) -> None:
    await slow(database, 10)
    await submit(database, *[noop(queue="slow")] * 300)
    with pytest.raises(QueueRate) as refused:
        await submit(database, noop(queue="slow"))
    assert 25 <= refused.value.retry_after_seconds <= 30, "as long as they would have taken"
    await pass_time(database, 29.5)
    with pytest.raises(QueueRate):
        await submit(database, *[noop(queue="slow")] * 300)
    assert (await counted(database))["slow"]["queued"] == 300


async def test_four_nodes_at_once_are_held_to_one_rate(
    database: Database, database_url: str
) -> None:
    await slow(database, 0.01)
    async with several(database_url, 4) as databases:
        doors = [door(each) for each in databases]
        calls = [doors[n % 4].submit(noop(queue="slow")) for n in range(40)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert len(ids_in(answers)) == 1
    assert sum(isinstance(answer, QueueRate) for answer in answers) == 39


async def test_what_was_answered_before_costs_nothing(database: Database) -> None:
    await slow(database)
    mark = Idempotency(owner="o", key="k", body_hash=b"1" * 32)
    first = await door(database).submit(noop(queue="slow", key="u"), mark)
    again = await door(database).submit(noop(queue="slow", key="u"), mark)
    assert (again.job_ids, again.is_replayed) == (first.job_ids, True)
    existing = await door(database).submit(noop(queue="slow", key="u"))
    assert existing.existing == frozenset(first.job_ids)


async def test_what_is_refused_costs_nothing(database: Database) -> None:
    await put_queue(database, "slow", QueueLimits(submit_rate=0.01, max_bytes=5))
    with pytest.raises(QueueFull):
        await submit(database, noop(queue="slow", input='{"a":12345}'))
    await submit(database, noop(queue="slow"))


async def test_another_rate_holds_from_now_on(database: Database) -> None:
    await slow(database)
    await submit(database, noop(queue="slow"))
    await slow(database, 0.02)
    await submit(database, noop(queue="slow"))
    with pytest.raises(QueueRate):
        await submit(database, noop(queue="slow"))
    await put_queue(database, "slow", QueueLimits())
    await submit(database, *[noop(queue="slow")] * 3)


async def test_what_a_schedule_submits_is_not_lost_to_the_rate_and_costs_nobody_anything(
    database: Database,
) -> None:
    await slow(database)
    await put(database, job={"kind": "noop", "queue": "slow"})
    await submit(database, noop(queue="slow"))
    await rewind(database, instants=1)
    await fire(database)
    assert await states(database) in (["fired"], ["late"])
    assert (await counted(database))["slow"]["queued"] == 2
    await pass_time(database, 100)
    await submit(database, noop(queue="slow"))


# -- by SQL ----------------------------------------------------------------------------------------

ENQUEUE = "SELECT windlass.enqueue($1)"
JOB = json.dumps({"kind": "noop", "queue": "slow"})


async def refusal_of(call: Any) -> str:
    with pytest.raises(LimitReached) as refused:
        await call
    return str(refused.value)


async def test_sql_is_held_to_the_same_rate(database: Database) -> None:
    await slow(database)
    await value(database, ENQUEUE, JOB)
    said = await refusal_of(value(database, ENQUEUE, JOB))
    assert said.endswith(
        "windlass: queue_rate: queue slow takes 0.01 jobs a second, has taken 1 of 1 and is asked "
        "for 1"
    )
    with pytest.raises(QueueRate):
        await submit(database, noop(queue="slow"))
    await pass_time(database, 100)
    await value(database, ENQUEUE, JOB)
    assert (await counted(database))["slow"]["queued"] == 2


async def test_a_transaction_of_many_is_counted_whole_when_it_commits(database: Database) -> None:
    await slow(database, 2)
    async with database.side(readonly=False) as connection:
        for _ in range(7):
            await connection.fetchval(ENQUEUE, JOB)
    with pytest.raises(QueueRate) as refused:
        await submit(database, noop(queue="slow"))
    assert 2 <= refused.value.retry_after_seconds <= 3
    assert await value(database, "SELECT count(*) FROM windlass.enqueue_note") == 0


async def test_of_two_transactions_that_saw_room_one_is_refused_at_its_commit(
    database: Database, database_url: str
) -> None:
    await slow(database)
    ready: list[Database] = []

    async def enqueue(one: Database) -> None:
        async with one.side(readonly=False) as connection:
            await connection.fetchval(ENQUEUE, JOB)
            ready.append(one)
            await until(lambda: len(ready) == 2)

    async with several(database_url, 2) as databases:
        answers = await asyncio.gather(*map(enqueue, databases), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == [
        "LimitReached",
        "NoneType",
    ]
    assert (await counted(database))["slow"]["queued"] == 1
