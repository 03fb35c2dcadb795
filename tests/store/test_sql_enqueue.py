"""windlass.enqueue(jsonb): the HTTP API's submission inside anybody's transaction."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    noop,
    register,
    row,
    several,
    sql,
    state,
    submit_one,
    take,
    take_one,
    true_counts,
    until_sql,
    value,
)
from tests.store.sql_call import CALL, enqueue
from windlass import ids
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.errors import Unavailable
from windlass.model.job.outcome import Failed
from windlass.store.database import Connection, Database, LimitReached, Record, Refused

LATER = (datetime.now(UTC) + timedelta(days=30)).replace(microsecond=0)


async def test_a_kind_is_enough(database: Database) -> None:
    job = await enqueue(database)
    assert (job["state"], job["queue"], job["priority"], job["input"]) == (
        "queued",
        "default",
        1,
        "{}",
    )
    assert (job["max_attempts"], job["retry"], job["timeout_ms"]) == (5, None, None)
    assert (job["key"], job["tags"], job["depends_on"], job["deadline"]) == (None, None, None, None)
    assert (await take_one(database, await register(database))).job_id == job["id"]


async def test_a_kind_may_be_one_that_only_a_plugin_knows(database: Database) -> None:
    job = await enqueue(database, kind="sms", input={"to": "Ada"})
    assert (job["kind"], job["state"], job["max_attempts"]) == ("sms", "queued", 5)


async def test_a_key_is_waited_for_by_a_transaction_that_can_be_seen(database: Database) -> None:
    """By its id: else it could be born at an instant that followers of the events have left."""
    call = json.dumps({"kind": "noop", "key": "wanted"})
    async with database.side() as first, database.side() as second:
        before = first.transaction()
        await before.start()
        await first.fetchval(CALL, call)
        waiting = asyncio.create_task(second.fetchval(CALL, call))
        await until_sql(
            database, "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $1",
            second.get_server_pid(),
        )  # fmt: skip
        seen = "SELECT backend_xid IS NOT NULL FROM pg_stat_activity WHERE pid = $1"
        assert await value(database, seen, second.get_server_pid())
        await before.rollback()
        job = await row(database, ids.parse("job", await waiting))
    assert job["key"] == "wanted"


async def test_the_id_is_like_all_others_and_tells_its_time(database: Database) -> None:
    job = await enqueue(database)
    assert (job["id"].version, job["id"].variant) == (7, "specified in RFC 4122")
    assert abs((ids.created_at(job["id"]) - job["created_at"]).total_seconds()) < 1


async def test_every_field_is_kept(database: Database) -> None:
    parent = await enqueue(database)
    job = await enqueue(
        database,
        kind="http",
        input={"url": "https://example.org", "json": {"a": "é"}},
        queue="mail",
        priority="critical",
        run_at=LATER.isoformat(),
        deadline=(LATER + timedelta(days=1)).isoformat(),
        timeout="1.5s",
        retry={"max_attempts": 7, "initial": "2s", "factor": 1.5, "max": 60, "jitter": False},
        depends_on=[ids.show("job", parent["id"])] * 2,
        on_parent_failure="run",
        key="order 42",
        tags=["b", "a", "b"],
        correlation_id="c",
        locks=[],
    )
    assert (job["kind"], job["queue"], job["priority"], job["state"]) == (
        "http",
        "mail",
        3,
        "blocked",
    )
    assert json.loads(job["input"]) == {"url": "https://example.org", "json": {"a": "é"}}
    assert (job["run_at"], job["deadline"]) == (LATER, LATER + timedelta(days=1))
    assert (job["timeout_ms"], job["max_attempts"]) == (1500, 7)
    assert json.loads(job["retry"])["initial"] == "2s"
    assert (job["depends_on"], job["on_parent_failure"]) == ([parent["id"]], "run")
    assert (job["key"], job["tags"], job["correlation_id"]) == ("order 42", ["b", "a"], "c")
    assert await counted(database) == await true_counts(database)


async def test_null_is_as_good_as_leaving_a_field_out(database: Database) -> None:
    names = "queue priority run_at delay deadline timeout retry depends_on on_parent_failure"
    fields = dict.fromkeys(f"{names} key tags correlation_id locks".split())
    job = await enqueue(database, **fields)
    assert (job["queue"], job["max_attempts"], job["retry"]) == ("default", 5, None)


async def test_kinds_have_their_usual_number_of_tries(database: Database) -> None:
    assert (await enqueue(database, kind="http"))["max_attempts"] == 10
    assert (await enqueue(database, kind="http", retry={"initial": 1}))["max_attempts"] == 10


@pytest.mark.parametrize("delay", ["1h", 3600, "3600000ms", 3600.0])
async def test_a_delay_is_counted_from_now(database: Database, delay: Any) -> None:
    job = await enqueue(database, delay=delay)
    assert (job["run_at"] - job["created_at"]).total_seconds() == pytest.approx(3600, abs=1)


async def test_what_the_caller_rolls_back_leaves_nothing(database: Database) -> None:
    async with database.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.fetchval(CALL, '{"kind": "noop", "key": "k", "queue": "new"}')
        assert await connection.fetchval("SELECT count(*) FROM windlass.job") == 1
        await transaction.rollback()
    for table in ("job", "job_key", "queue", "counter_delta"):
        assert await value(database, f"SELECT count(*) FROM windlass.{table}") == 0


async def test_the_job_and_the_callers_own_row_appear_together(database: Database) -> None:
    async with database.side() as connection, connection.transaction():
        await connection.execute("INSERT INTO windlass.queue (name) VALUES ('callers own')")
        await connection.fetchval(CALL, '{"kind": "noop"}')
        assert await value(database, "SELECT count(*) FROM windlass.job") == 0
    assert await value(database, "SELECT count(*) FROM windlass.job") == 1


async def test_a_taken_key_is_answered_with_its_holder(database: Database) -> None:
    first = await enqueue(database, key="k")
    again = await enqueue(database, key="k", queue="other", priority="low")
    assert again == first
    assert (await door(database).submit(noop(key="k"))).job_ids == [first["id"]]
    node = await register(database)
    await end(database, node, await take(database, node))
    assert (await enqueue(database, key="k"))["state"] == "succeeded"


async def test_one_key_from_all_sides_at_once_is_one_job(
    database: Database, store_url: str, patient_door: None
) -> None:
    await put_queue(database, "default", QueueLimits(max_jobs=1))
    async with several(store_url, 4) as databases:
        by_sql = [enqueue(databases[n % 4], key="k") for n in range(20)]
        by_door = [door(databases[n % 4]).submit(noop(key="k")) for n in range(20)]
        jobs, answers = await asyncio.gather(asyncio.gather(*by_sql), asyncio.gather(*by_door))
    made = {job["id"] for job in jobs} | {job_id for a in answers for job_id in a.job_ids}
    assert len(made) == 1
    assert await counted(database) == {"default": {"queued": 1, "bytes": 2}}


async def test_a_full_queue_refuses_by_its_name(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1, max_bytes=1000))
    await enqueue(database, queue="narrow")
    with pytest.raises(
        LimitReached, match="queue narrow holds 1 of 1 jobs, 2 of 1000 bytes"
    ) as full:
        await enqueue(database, queue="narrow")
    assert isinstance(full.value.__cause__, asyncpg.ConfigurationLimitExceededError)
    await put_queue(database, "narrow", QueueLimits(max_bytes=9))
    with pytest.raises(LimitReached, match="1 of any number of jobs, 2 of 9 bytes"):
        await enqueue(database, queue="narrow", input={"a": 1})


async def test_the_owners_settings_hold_for_sql_too(database: Database) -> None:
    assert (await enqueue(database))["max_attempts"] == 5
    await database.run("installation_tell", 2, None, 3)
    second = await enqueue(database)
    assert second["max_attempts"] == 3
    assert (await enqueue(database, queue="b", retry={"max_attempts": 9}))["max_attempts"] == 9
    with pytest.raises(LimitReached, match="queue default holds 2 of 2 jobs"):
        await enqueue(database)
    await put_queue(database, "default", QueueLimits(max_jobs=4))  # its own goes before
    await enqueue(database)
    await database.run("installation_tell", None, 5, None)
    with pytest.raises(LimitReached, match="queue b holds 1 of any number of jobs, 2 of 5 bytes"):
        await enqueue(database, queue="b", input={"a": 1})
    assert (await enqueue(database, queue="c"))["max_attempts"] == 5


async def test_a_lock_with_a_capacity_of_its_own_is_made_at_the_commit(database: Database) -> None:
    job = '{"kind": "noop", "locks": [{"name": "press", "capacity": 2}]}'
    async with database.side() as connection, connection.transaction():
        await connection.fetchval(CALL, job)
        await connection.fetchval(CALL, job)
        assert await sql(database, "SELECT FROM windlass.lock") == []
    assert await value(database, "SELECT capacity FROM windlass.lock WHERE name = 'press'") == 2


async def test_limits_are_exact_with_twenty_callers_from_both_sides(
    database: Database, store_url: str
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=11))
    async with several(store_url, 4) as databases:
        calls: list[Any] = [enqueue(databases[n % 4], queue="narrow") for n in range(20)]
        calls += [door(databases[n % 4]).submit(noop(queue="narrow")) for n in range(20)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(not isinstance(answer, Exception) for answer in answers) == 11
    assert await counted(database) == {"narrow": {"queued": 11, "bytes": 22}}


async def test_a_limit_cannot_be_passed_by_with_an_old_snapshot(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))
    async with database.side() as connection:
        transaction = connection.transaction(isolation="repeatable_read")
        await transaction.start()
        await connection.fetchval("SELECT 1")  # the snapshot is taken
        await enqueue(database, queue="narrow")
        with pytest.raises(asyncpg.FeatureNotSupportedError, match="READ COMMITTED"):
            await connection.fetchval(CALL, '{"kind": "noop", "queue": "narrow"}')
        await transaction.rollback()
    assert await counted(database) == {"narrow": {"queued": 1, "bytes": 2}}


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
async def test_an_unlimited_queue_takes_jobs_under_any_isolation(
    database: Database, isolation: Any
) -> None:
    async with database.side() as connection, connection.transaction(isolation=isolation):
        await connection.fetchval(CALL, '{"kind": "noop", "key": "k"}')
    assert await counted(database) == {"default": {"queued": 1, "bytes": 2}}


async def test_a_child_waits_for_its_parents(database: Database) -> None:
    parents = [ids.show("job", await submit_one(database)) for _ in range(2)]
    child = await enqueue(database, depends_on=parents)
    assert (child["state"], child["waits_for"], child["was_blocked"]) == ("blocked", 2, True)
    node = await register(database)
    await end(database, node, await take(database, node))
    assert await state(database, child["id"]) == "queued"


async def test_a_parent_that_has_ended_is_judged_at_once(database: Database) -> None:
    good, bad = await submit_one(database), await submit_one(database, priority=0)
    node = await register(database)
    await end(database, node, await take(database, node, 1))
    await end(database, node, await take(database, node, 1), Failed("x", "x", is_final=True))
    both = [ids.show("job", good), ids.show("job", bad)]
    assert (await enqueue(database, depends_on=both[:1]))["state"] == "queued"
    with pytest.raises(Refused, match="/depends_on: names a job that has ended without success"):
        await enqueue(database, depends_on=both)
    job = await enqueue(database, depends_on=both, on_parent_failure="run")
    assert (job["state"], sorted(job["depends_on"])) == ("queued", sorted([good, bad]))


async def test_a_child_enqueued_while_its_parent_ends_is_not_forgotten(
    database: Database, store_url: str
) -> None:
    async with several(store_url, 2) as (left, right):
        node = await register(database)
        for _ in range(50):
            parent = await submit_one(database)
            attempt = await take_one(database, node)
            child, _ = await asyncio.gather(
                enqueue(left, depends_on=[ids.show("job", parent)]), end(right, node, attempt)
            )
            assert await state(database, child["id"]) == "queued"
            await end(database, node, await take_one(database, node))


async def test_a_caller_that_dies_before_its_commit_blocks_nobody_for_long(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))

    async def work(connection: Connection[Record]) -> None:
        await connection.fetchval(CALL, '{"kind": "noop", "queue": "narrow", "key": "k"}')
        pid = await connection.fetchval("SELECT pg_backend_pid()")
        await sql(database, "SELECT pg_terminate_backend($1)", pid)
        await connection.fetchval("SELECT pg_sleep(5)")

    with pytest.raises(Unavailable):
        await database.together(work)
    async with asyncio.timeout(5):
        assert (await enqueue(database, queue="narrow", key="k"))["state"] == "queued"
