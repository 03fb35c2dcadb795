"""Rows that somebody's open transaction holds: whoever needs them waits, and nobody else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from tests.engine.execution_rows import job
from tests.engine.execution_rows import put as put_execution
from tests.engine.executions.flow import Flow
from tests.engine.executions.flow import noop as step
from tests.engine.hands import (
    counted,
    door,
    ids_in,
    noop,
    run_all,
    several,
    sql,
    submit_one,
    true_counts,
    until_sql,
    value,
)
from tests.engine.schedules.scheduling import fire, ledger, put, rewind
from tests.faults.proxy import Proxy
from windlass import ids
from windlass.clock import monotonic
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.refresh import refresh
from windlass.engine.jobs import enqueue
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.engine.schedules.ledger import count_silent
from windlass.engine.schedules.schedules import read_schedule
from windlass.engine.schedules.trigger import trigger
from windlass.errors import QueueFull, Unavailable
from windlass.limits import ENQUEUE_HELD_SECONDS, ENQUEUE_SAME_KEY_MAX
from windlass.store.database import Database, RowLocked

CALL = "SELECT windlass.enqueue($1::text::jsonb)"
HOLD_QUEUE = "SELECT FROM windlass.queue WHERE name = 'narrow' FOR UPDATE"
NARROW = '{"kind": "noop", "queue": "narrow"}'
ONE_WAITS = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND query LIKE '%queue_ensure_many%'
"""
# Nobody here waits for a held row as long as the door does; what is slower is a busy machine.
SLACK_SECONDS = 20.0


@asynccontextmanager
async def users(database: Database) -> AsyncIterator[Any]:
    """A user's connection, in a transaction that is open."""
    connection = await asyncpg.connect(database.url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        yield connection
    finally:
        await connection.close(timeout=5)


async def test_an_open_transaction_holds_no_limited_queue(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=10))
    async with users(database) as user:
        await user.fetchval(CALL, NARROW)
        assert await sql(database, HOLD_QUEUE.replace("FOR UPDATE", "FOR UPDATE NOWAIT"))
        await door(database).submit(noop(queue="narrow"))
        await user.execute("COMMIT")
    assert await counted(database) == {"narrow": {"queued": 2, "bytes": 4}}
    assert await sql(database, "SELECT FROM windlass.enqueue_note") == []


async def test_an_open_transaction_holds_no_queue_that_it_is_the_first_to_name(
    database: Database,
) -> None:
    async with users(database) as user:
        await user.fetchval(CALL, '{"kind": "noop", "queue": "new"}')
        await door(database).submit(noop(queue="new"))
        await user.execute("COMMIT")
    assert await counted(database) == {"new": {"queued": 2, "bytes": 4}}


async def test_the_limit_is_counted_again_at_the_commit(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=2))
    async with users(database) as user:
        for _ in range(2):
            await user.fetchval(CALL, NARROW)
        with pytest.raises(asyncpg.ConfigurationLimitExceededError, match="holds 2 of 2 jobs"):
            async with user.transaction():
                await user.fetchval(CALL, NARROW)  # its own count, and at once
        await submit_one(database, queue="narrow")
        with pytest.raises(asyncpg.ConfigurationLimitExceededError, match="holds 3 of 2 jobs"):
            await user.execute("COMMIT")
    assert await counted(database) == {"narrow": {"queued": 1, "bytes": 2}}


async def test_what_goes_back_to_a_savepoint_is_not_counted(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))
    async with users(database) as user:
        await user.execute("SAVEPOINT one")
        await user.fetchval(CALL, NARROW)
        await user.execute("ROLLBACK TO one")
        await user.fetchval(CALL, NARROW)
        await user.execute("COMMIT")
    assert await counted(database) == {"narrow": {"queued": 1, "bytes": 2}}


async def test_limits_are_exact_for_transactions_of_many_queues(database: Database) -> None:
    """Each names them in another order, and commits while others do."""
    queues = [f"q{n}" for n in range(4)]
    for queue in queues:
        await put_queue(database, queue, QueueLimits(max_jobs=5))

    async def one(turn: int) -> bool:
        connection = await asyncpg.connect(database.url)
        try:
            async with connection.transaction():
                for n in range(4):
                    queue = queues[(turn * (1 + 2 * (turn % 2)) + n) % 4]
                    await connection.fetchval(CALL, f'{{"kind": "noop", "queue": "{queue}"}}')
        except asyncpg.ConfigurationLimitExceededError:
            return False
        finally:
            await connection.close()
        return True

    answers = await asyncio.gather(*(one(turn) for turn in range(12)))
    assert sum(answers) == 5
    assert await counted(database) == await true_counts(database)
    assert await value(database, "SELECT count(*) FROM windlass.job") == 20


async def test_a_held_queue_costs_its_own_submitters_an_answer_and_nobody_else_anything(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100))
    await put_queue(database, "other", QueueLimits(max_jobs=1_000_000))
    enqueuer = door(database)
    async with users(database) as user:
        await user.execute(HOLD_QUEUE)
        stuck = [
            *(asyncio.create_task(enqueuer.submit(noop(queue="narrow"))) for _ in range(4)),
            *(
                asyncio.create_task(enqueuer.submit_batch([noop(queue="narrow")] * 3))
                for _ in "123"
            ),
            asyncio.create_task(enqueuer.submit(noop(queue="narrow", key="k"))),
        ]
        begun = monotonic()
        while not all(task.done() for task in stuck):
            await enqueuer.submit(noop())
            await enqueuer.submit(noop(queue="other"))
            await enqueuer.submit(noop(key=f"free {monotonic()}"))
            await enqueuer.submit_batch([noop(), noop(queue="other")])
        assert monotonic() - begun < 2 * ENQUEUE_HELD_SECONDS + SLACK_SECONDS
        for answer in await asyncio.gather(*stuck, return_exceptions=True):
            assert isinstance(answer, Unavailable)
            assert answer.status == 503
            assert answer.retry_after_seconds == 1
    assert "narrow" not in await counted(database)
    await enqueuer.submit(noop(queue="narrow"))
    assert await counted(database) == await true_counts(database)


@pytest.mark.parametrize(
    "wanted", [{"queue": "narrow"}, {"key": "k"}, {"depends_on": True}], ids=str
)
async def test_what_becomes_free_is_taken(
    database: Database, patient_door: None, wanted: dict[str, Any]
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100))
    parent = await submit_one(database)
    if "depends_on" in wanted:
        wanted = {"depends_on": (parent,)}
    enqueuer = door(database)
    async with users(database) as user:
        await user.execute(HOLD_QUEUE)
        await user.execute("INSERT INTO windlass.job_key VALUES ('k', gen_random_uuid())")
        await user.execute("SELECT FROM windlass.job FOR UPDATE")
        stuck = asyncio.create_task(enqueuer.submit(noop(**wanted)))
        while not enqueuer.waiting_for_others:
            await enqueuer.submit(noop())
        assert not stuck.done()
        await user.execute("ROLLBACK")
        assert len((await stuck).job_ids) == 1
    assert await counted(database) == await true_counts(database)


async def test_a_key_in_an_open_transaction_does_not_stop_a_group_of_others(
    database: Database, patient_door: None
) -> None:
    enqueuer = door(database)
    async with users(database) as user:
        held = await user.fetchval(CALL, '{"kind": "noop", "key": "order-7"}')
        submits = [
            asyncio.create_task(
                enqueuer.submit(
                    noop(key=f"order-{n}"), Idempotency(owner="", key=f"{n}", body_hash=b"")
                )
            )
            for n in range(40)
        ]
        others = [task for n, task in enumerate(submits) if n != 7]
        begun = monotonic()
        assert len(ids_in(await asyncio.gather(*others))) == 39
        assert monotonic() - begun < SLACK_SECONDS
        assert not submits[7].done()
        await user.execute("COMMIT")
        answer = await submits[7]
    assert [ids.show("job", job_id) for job_id in answer.existing] == [held]
    assert await counted(database) == await true_counts(database)


async def test_a_queue_that_an_open_transaction_is_making_does_not_stop_a_group_of_others(
    database: Database,
) -> None:
    """Its row is not there for anybody yet, and whoever would make it too has to wait."""
    enqueuer = door(database)
    async with users(database) as user:
        await user.execute("INSERT INTO windlass.queue (name) VALUES ('narrow')")
        submits = [
            asyncio.create_task(enqueuer.submit(noop(queue=queue, key=f"{queue}-{n}")))
            for n in range(20)
            for queue in ("narrow", "wide")
        ]
        batch = asyncio.create_task(
            enqueuer.submit_batch([noop(queue="narrow"), noop(queue="other")])
        )
        begun = monotonic()
        assert len(ids_in(await asyncio.gather(*submits[1::2]))) == 20
        assert monotonic() - begun < SLACK_SECONDS
        for held in [*submits[::2], batch]:
            with pytest.raises(Unavailable, match="holds"):
                await held
        waits = asyncio.create_task(enqueuer.submit(noop(queue="narrow")))
        await until_sql(database, ONE_WAITS)
        await user.execute("COMMIT")
        await waits
    assert await counted(database) == {
        "narrow": {"queued": 1, "bytes": 2},
        "wide": {"queued": 20, "bytes": 40},
    }


async def test_batches_for_a_queue_that_somebody_holds_are_taken_and_stop_nobody(
    database: Database,
) -> None:
    enqueuer = door(database)
    await enqueuer.submit_batch([noop(queue="narrow"), noop(queue="other")])
    async with users(database) as user:
        await user.execute(HOLD_QUEUE)
        async with asyncio.timeout(SLACK_SECONDS):
            taken = await asyncio.gather(
                *(enqueuer.submit_batch([noop(queue="narrow")] * 3) for _ in range(6)),
                enqueuer.submit_batch([noop(queue="other")] * 3),
                enqueuer.submit(noop(queue="other")),
            )
    assert len(ids_in(taken)) == 22
    assert await counted(database) == await true_counts(database)


async def test_nodes_that_share_a_limited_queue_all_get_their_turn(
    database: Database, database_url: str, patient_door: None
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100_000))
    async with several(database_url, 4) as databases:
        doors = [door(one) for one in databases]
        answers = await asyncio.gather(
            *(doors[n % 4].submit(noop(queue="narrow")) for n in range(400))
        )
    assert len(ids_in(answers)) == 400


async def test_a_refused_request_takes_no_key_and_the_next_one_does(database: Database) -> None:
    """All of them in one commit."""
    await put_queue(database, "narrow", QueueLimits(max_jobs=0))
    enqueuer = door(database)

    def mark(body: bytes) -> Idempotency:
        return Idempotency(owner="", key="k", body_hash=body)

    drafts = [noop(queue="narrow"), noop(), noop(priority=2), noop(), noop(queue="narrow")]
    bodies = [b"full", b"one", b"two", b"one", b"full"]
    answers = await asyncio.gather(
        *(enqueuer.submit(d, mark(b)) for d, b in zip(drafts, bodies, strict=True)),
        return_exceptions=True,
    )
    assert len(ids_in(answers)) == 1
    words = [getattr(answer, "code", "accepted") for answer in answers]
    assert words == ["queue_full", "accepted", "idempotency_mismatch", "accepted", "queue_full"]
    assert await value(database, "SELECT count(*) FROM windlass.job") == 1


async def test_refusals_under_one_key_are_judged_one_by_one_and_not_for_ever(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=0))
    enqueuer = door(database)
    marks = [Idempotency(owner="", key="k", body_hash=b"%d" % n) for n in range(40)]
    answers = await asyncio.gather(
        *(enqueuer.submit(noop(queue="narrow"), mark) for mark in marks), return_exceptions=True
    )
    full = [answer for answer in answers if isinstance(answer, QueueFull)]
    assert len(full) >= ENQUEUE_SAME_KEY_MAX
    assert all(isinstance(answer, QueueFull | Unavailable) for answer in answers)
    assert (await enqueuer.submit(noop(), marks[7])).is_replayed is False


HOLDS = {
    "queue": HOLD_QUEUE,
    "key": "INSERT INTO windlass.job_key VALUES ('k', gen_random_uuid())",
}


@pytest.mark.parametrize("held", HOLDS)
async def test_a_schedule_whose_row_is_held_keeps_no_other_from_firing(
    database: Database, held: str
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100))
    await put(database, "held", job={"kind": "noop", "queue": "narrow", "key": "k"})
    for number in range(30):
        await put(database, f"free {number}", job={"kind": "noop", "key": f"{number}"})
        await put(database, f"plain {number}")
    await rewind(database, "%")
    async with users(database) as user:
        await user.execute(HOLDS[held])
        begun = monotonic()
        while (fired := await fire(database)).is_full:
            assert not fired.states["coalesced"]
        assert monotonic() - begun < SLACK_SECONDS
        assert await value(database, "SELECT count(*) FROM windlass.job") == 60
        assert (await read_schedule(database, "held")).last_at is None
        assert await ledger(database, "held") == []
    await sql(database, "UPDATE windlass.schedule SET fire_at = next_at WHERE name = 'held'")
    await fire(database)
    assert [one.state for one in await ledger(database, "held")] in (["fired"], ["late"])
    assert (await read_schedule(database, "held")).note is None


async def test_a_schedule_that_is_held_for_long_counts_as_silent(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100))
    await put(database, "held", job={"kind": "noop", "queue": "narrow"})
    await rewind(database, "held", instants=3)
    async with users(database) as user:
        await user.execute(HOLD_QUEUE)
        while (await fire(database)).is_full:
            pass
        assert "holds queue 'narrow'" in ((await read_schedule(database, "held")).note or "")
        assert await count_silent(database) == 1


async def test_a_schedule_that_is_asked_for_by_hand_says_that_its_queue_is_held(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=100))
    await put(database, "held", job={"kind": "noop", "queue": "narrow"})
    async with users(database) as user:
        await user.execute(HOLD_QUEUE)
        with pytest.raises(Unavailable, match="somebody else holds"):
            await trigger(database, "held")
    await trigger(database, "held")
    assert await value(database, "SELECT count(*) FROM windlass.job") == 1


@pytest.mark.parametrize("count", [1, 3], ids=["one", "batch"])
async def test_an_insert_whose_connection_was_cut_while_it_waits_is_not_repeated_and_runs_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """It may come through at any time after, also when a second one would have run and ended: a
    second one under the same ids would be a second life.
    """
    monkeypatch.setattr(enqueue, "ENQUEUE_LOCK_SECONDS", SLACK_SECONDS)  # a batch waits as long
    await submit_one(database)  # the queue is there
    waiting = """SELECT count(*) FROM pg_locks
                 WHERE relation = 'windlass.job'::regclass AND NOT granted"""

    def submit(cut: Database) -> Awaitable[Accepted]:
        enqueuer = door(cut)
        return enqueuer.submit(noop()) if count == 1 else enqueuer.submit_batch([noop()] * count)

    async with Proxy(database.url, random.Random(0)) as proxy, users(database) as user:
        cut = Database(proxy.url)
        await cut.open()
        await submit(cut)  # the statements are prepared
        await run_all(database)
        await user.execute("LOCK TABLE windlass.job IN SHARE MODE")
        submitting = asyncio.ensure_future(submit(cut))
        await until_sql(database, waiting, seconds=SLACK_SECONDS)
        proxy.heal()  # what is under way goes on, and nobody hears of its end
        with pytest.raises(Unavailable, match="repeat it with an Idempotency-Key"):
            await submitting
        before = await value(database, "SELECT count(*) FROM windlass.job_history")
        await user.execute("COMMIT")
        await cut.close()
    if count == 1:  # a batch has more to say before it is committed, and nobody says it
        await until_sql(database, "SELECT count(*) FROM windlass.job", seconds=SLACK_SECONDS)
    await run_all(database)
    ended = "SELECT count(*), count(DISTINCT id) FROM windlass.job_history"
    [(rows, jobs)] = await sql(database, ended)
    assert (rows, jobs) == (before + (count == 1), before + (count == 1))


async def test_an_execution_whose_row_is_held_keeps_no_other_from_its_end(
    database: Database,
) -> None:
    held, free = [await put_execution(database, [job("succeeded")]) for _ in range(2)]
    async with users(database) as user:
        await user.execute("SELECT FROM windlass.execution WHERE id = $1 FOR UPDATE", held)
        begun = monotonic()
        done = await refresh(database, [held, free, uuid4()])
        assert monotonic() - begun < SLACK_SECONDS
        assert (done.ended, done.held, done.gone, done.lost) == ([free], {held}, 1, set())
    assert (await refresh(database, [held, free])).ended == [held]


async def test_whoever_concludes_executions_does_not_wait_for_one_that_is_held(
    database: Database,
) -> None:
    flow = await Flow.start(database, [step("a")], output={"all": "is well"})
    await flow.run()
    async with users(database) as user:
        await user.execute("SELECT FROM windlass.execution FOR UPDATE")
        begun = monotonic()
        with pytest.raises(RowLocked):
            await conclude(database, [flow.execution_id], is_patient=False)
        assert monotonic() - begun < SLACK_SECONDS
    await conclude(database, [flow.execution_id])
    assert await value(database, "SELECT state FROM windlass.execution") == "succeeded"
