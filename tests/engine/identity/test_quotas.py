"""Quotas of jobs: exact under concurrency, all or nothing, and nobody else's trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import (
    door,
    ids_in,
    noop,
    register,
    run_all,
    several,
    sql,
    take,
    until_sql,
    value,
)
from tests.engine.schedules import scheduling
from tests.until import until
from windlass import ids
from windlass.engine.identity.quotas import QuotaCounts, counting, counting_starts, read_left
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.errors import IdempotencyMismatch, QueueFull, QuotaExceeded, Unauthorized
from windlass.model.identity.quota import Quota, SubjectNoun, SubjectQuota
from windlass.model.job.draft import Draft
from windlass.store.database import SIDE_CONNECTIONS, Database

pytestmark = pytest.mark.usefixtures("patient_door")

Quotas = tuple[SubjectQuota, ...]


async def somebody(database: Database, noun: SubjectNoun = "user", **quota: Any) -> SubjectQuota:
    """A user or a key with this quota."""
    made = ids.uuid7()
    if noun == "user":
        add = "INSERT INTO windlass.user_account (id, name, role) VALUES ($1, $2, 'operator')"
        await sql(database, add, made, f"u{made.hex}")
    else:
        add = "INSERT INTO windlass.api_key (id, name, role) VALUES ($1, $2, 'operator')"
        await sql(database, add, made, f"k{made.hex}")
    return SubjectQuota(noun=noun, id=made, quota=Quota(**quota))


def mark(key: str, body: bytes = b"1") -> Idempotency:
    return Idempotency(owner="somebody", key=key, body_hash=body * 32)


async def used(database: Database, one: SubjectQuota) -> tuple[int, int]:
    """Jobs of today, and bytes that wait."""
    left = (await read_left(database, [one])).get(one.id, {"jobs": 0, "bytes": 0})
    return left["jobs"], left["bytes"] or 0


async def jobs_there(database: Database) -> int:
    return int(await value(database, "SELECT count(*) FROM windlass.job"))


async def test_who_has_no_quota_is_asked_nothing_and_has_no_row(database: Database) -> None:
    one = await somebody(database, requests_per_second=1.0)
    assert counting((one,)) == counting_starts((one,)) == ()
    await door(database).submit(noop(), None, counting((one,)))
    assert await value(database, "SELECT count(*) FROM windlass.quota_use") == 0


async def test_jobs_of_a_day_are_counted_and_then_refused_in_figures(database: Database) -> None:
    one = await somebody(database, jobs_per_day=3)
    enqueuer = door(database)
    await enqueuer.submit(noop(), None, (one,))
    with pytest.raises(QuotaExceeded) as refused:
        await enqueuer.submit_batch([noop()] * 3, None, (one,))
    facts = refused.value.facts
    assert facts == {
        "subject": one.name,
        "quota": "jobs_per_day",
        "limit": 3,
        "current": 1,
        "remaining": 2,
        "requested": 3,
        "unit": "jobs",
    }
    assert 1 <= refused.value.retry_after_seconds <= 24 * 3600
    await enqueuer.submit_batch([noop()] * 2, None, (one,))
    with pytest.raises(QuotaExceeded):
        await enqueuer.submit(noop(), None, (one,))
    assert await used(database, one) == (3, 0)
    assert await jobs_there(database) == 3


async def test_who_counts_jobs_alone_has_none_of_them_noted(database: Database) -> None:
    one = await somebody(database, jobs_per_day=9)
    await door(database).submit(noop(owner=one.name))
    await door(database).submit(noop(owner=one.name), None, (one,))
    assert await value(database, "SELECT count(*) FROM windlass.quota_job") == 0


async def test_fifty_at_once_on_the_last_job_of_a_day_are_one(
    database: Database, database_url: str
) -> None:
    one = await somebody(database, jobs_per_day=8)
    await door(database).submit_batch([noop()] * 7, None, (one,))
    answers = await crowd(database_url, [(noop(), (one,))] * 50)
    assert len(ids_in(answers)) == 1
    assert sum(isinstance(answer, QuotaExceeded) for answer in answers) == 49
    assert await used(database, one) == (8, 0)


async def test_a_quota_of_jobs_is_exact_with_batches_and_four_nodes_at_once(
    database: Database, database_url: str
) -> None:
    one = await somebody(database, jobs_per_day=40)
    key = await somebody(database, "key", jobs_per_day=25)
    asked = [([noop()] * (1 + n % 3), (key, one) if n % 2 else (one,)) for n in range(60)]
    answers = await crowd(database_url, [(drafts, quotas) for drafts, quotas in asked])
    there = await jobs_there(database)
    assert len(ids_in(answers)) == there == (await used(database, one))[0]
    assert 38 <= there <= 40, "a batch of three may be one too many, a single job is not"
    assert (await used(database, key))[0] <= 25


async def crowd(
    url: str, asked: Sequence[tuple[Draft | Sequence[Draft], Quotas]]
) -> list[Accepted | BaseException]:
    """All at once, through four processes' worth of pools."""
    async with several(url, 4) as databases:
        doors = [door(database) for database in databases]
        calls = [
            doors[n % 4].submit(what, None, quotas)
            if isinstance(what, Draft)
            else doors[n % 4].submit_batch(what, None, quotas)
            for n, (what, quotas) in enumerate(asked)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)


async def test_one_who_is_over_his_quota_fails_no_neighbour_of_his_batch(
    database: Database,
) -> None:
    spent = await somebody(database, jobs_per_day=0)
    rich = await somebody(database, jobs_per_day=100)
    enqueuer = door(database)
    calls = [enqueuer.submit(noop(), None, (rich if n % 3 else spent,)) for n in range(30)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert len(ids_in(answers)) == 20
    assert sum(isinstance(answer, QuotaExceeded) for answer in answers) == 10
    assert await used(database, rich) == (20, 0)
    assert await used(database, spent) == (0, 0)


async def test_the_key_s_quota_and_its_user_s_both_hold(database: Database) -> None:
    user = await somebody(database, jobs_per_day=3)
    key = await somebody(database, "key", jobs_per_day=2)
    enqueuer = door(database)
    await enqueuer.submit_batch([noop()] * 2, None, (key, user))
    with pytest.raises(QuotaExceeded) as refused:
        await enqueuer.submit(noop(), None, (key, user))
    assert refused.value.subject == key.name
    await enqueuer.submit(noop(), None, (user,))
    with pytest.raises(QuotaExceeded) as refused:
        await enqueuer.submit(noop(), None, (user,))
    assert refused.value.subject == user.name
    assert [await used(database, one) for one in (user, key)] == [(3, 0), (2, 0)]


async def test_what_was_answered_before_costs_nothing(database: Database) -> None:
    one = await somebody(database, jobs_per_day=2)
    enqueuer = door(database)
    first = await enqueuer.submit(noop(), mark("a"), (one,))
    again = await enqueuer.submit(noop(), mark("a"), (one,))
    assert (again.job_ids, again.is_replayed) == (first.job_ids, True)
    batch = await enqueuer.submit_batch([noop()], mark("b"), (one,))
    assert await used(database, one) == (2, 0)
    again = await enqueuer.submit_batch([noop()], mark("b"), (one,))
    assert (again.job_ids, again.is_replayed) == (batch.job_ids, True), "although it is spent"
    with pytest.raises(IdempotencyMismatch):
        await enqueuer.submit(noop(), mark("a", b"2"), (one,))
    at_once = [enqueuer.submit(noop(), mark("a"), (one,)) for _ in range(10)]
    assert {a.job_ids[0] for a in await asyncio.gather(*at_once)} == set(first.job_ids)
    assert await used(database, one) == (2, 0)


async def test_the_same_request_ten_times_at_once_is_charged_once(database: Database) -> None:
    one = await somebody(database, jobs_per_day=5)
    enqueuer = door(database)
    at_once = [enqueuer.submit(noop(), mark("k"), (one,)) for _ in range(10)]
    assert len({a.job_ids[0] for a in await asyncio.gather(*at_once)}) == 1
    assert await used(database, one) == (1, 0)


async def test_a_refused_request_takes_no_key(database: Database) -> None:
    one = await somebody(database, jobs_per_day=0)
    enqueuer = door(database)
    for draft in (noop(), noop(key="unique")):
        with pytest.raises(QuotaExceeded):
            await enqueuer.submit(draft, mark("a"), (one,))
    accepted = await enqueuer.submit(noop(key="unique"), mark("a"))
    assert not accepted.is_replayed
    assert not accepted.existing


async def test_a_job_that_was_there_already_costs_nothing(database: Database) -> None:
    one = await somebody(database, jobs_per_day=1)
    enqueuer = door(database)
    first = await enqueuer.submit(noop(key="order-1"), None, (one,))
    again = await enqueuer.submit_batch([noop(key="order-1")] * 3, None, (one,))
    assert again.existing == frozenset(first.job_ids)
    assert await used(database, one) == (1, 0)


async def test_what_a_full_queue_refuses_costs_nothing_and_neither_the_other_way_round(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))
    one = await somebody(database, jobs_per_day=2)
    enqueuer = door(database)
    await enqueuer.submit(noop(queue="narrow"), None, (one,))
    with pytest.raises(QueueFull):
        await enqueuer.submit(noop(queue="narrow"), None, (one,))
    assert await used(database, one) == (1, 0)
    spent = await somebody(database, jobs_per_day=0)
    with pytest.raises(QuotaExceeded):
        await enqueuer.submit(noop(), None, (spent,))
    await put_queue(database, "narrow", QueueLimits(max_jobs=2))
    calls = [enqueuer.submit(noop(queue="narrow"), None, (who,)) for who in (spent, one)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers[0], QuotaExceeded)
    assert isinstance(answers[1], Accepted), "the other's refusal kept no room of the queue"


async def test_at_midnight_of_utc_it_begins_anew_and_a_clock_that_went_back_gives_nothing(
    database: Database,
) -> None:
    one = await somebody(database, jobs_per_day=2)
    enqueuer = door(database)
    await enqueuer.submit_batch([noop()] * 2, None, (one,))
    await sql(database, "UPDATE windlass.quota_use SET day = day + 1")  # the clock went back
    with pytest.raises(QuotaExceeded) as refused:
        await enqueuer.submit(noop(), None, (one,))
    assert refused.value.retry_after_seconds > 24 * 3600, "until that day ends"
    await sql(database, "UPDATE windlass.quota_use SET day = day - 2")  # it was yesterday
    assert await used(database, one) == (0, 0)
    await enqueuer.submit_batch([noop()] * 2, None, (one,))
    with pytest.raises(QuotaExceeded):
        await enqueuer.submit(noop(), None, (one,))
    today = await value(database, "SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")
    assert await value(database, "SELECT day FROM windlass.quota_use") == today


async def test_somebody_who_is_gone_is_told_so_and_leaves_nothing(database: Database) -> None:
    one = await somebody(database, jobs_per_day=5, bytes_waiting=100)
    enqueuer = door(database)
    await enqueuer.submit(noop(), None, (one,))
    await sql(database, "DELETE FROM windlass.user_account WHERE id = $1", one.id)
    for table in ("quota_use", "quota_job"):
        assert await value(database, f"SELECT count(*) FROM windlass.{table}") == 0
    with pytest.raises(Unauthorized):
        await enqueuer.submit(noop(), None, (one,))


async def test_who_holds_a_quota_keeps_nobody_else_waiting(
    database: Database, database_url: str
) -> None:
    one = await somebody(database, jobs_per_day=5)
    other = await somebody(database, jobs_per_day=5)
    enqueuer = door(database)
    for who in (one, other):
        await enqueuer.submit(noop(), None, (who,))
    async with database.side() as connection, connection.transaction():
        hold = "SELECT FROM windlass.quota_use WHERE subject = $1 FOR UPDATE"
        await connection.execute(hold, one.id)
        waits = asyncio.create_task(enqueuer.submit(noop(), None, (one,)))
        await until(lambda: enqueuer.waiting_for_others == 1)
        await enqueuer.submit(noop(), None, (other,))
        assert not waits.done()
    await waits
    assert await used(database, one) == (2, 0)


# -- bytes that wait -------------------------------------------------------------------------------

BYTES_10 = '{"a":1234}'


async def submit_bytes(enqueuer: Enqueuer, one: SubjectQuota, count: int = 1) -> list[UUID]:
    drafts = [noop(input=BYTES_10)] * count
    return (await enqueuer.submit_batch(drafts, None, (one,))).job_ids


async def recount_now(database: Database) -> None:
    """It was counted a while ago."""
    await sql(
        database,
        "UPDATE windlass.quota_use SET counted_at = counted_at - interval '1 hour'",
    )


async def test_bytes_that_wait_are_refused_and_come_back_as_jobs_end(database: Database) -> None:
    one = await somebody(database, bytes_waiting=30)
    enqueuer = door(database)
    await submit_bytes(enqueuer, one, 2)
    with pytest.raises(QuotaExceeded) as refused:
        await submit_bytes(enqueuer, one, 2)
    assert (refused.value.unit, refused.value.current, refused.value.requested) == ("bytes", 20, 20)
    await submit_bytes(enqueuer, one)
    assert await used(database, one) == (3, 30)
    await run_all(database)
    assert await used(database, one) == (3, 0), "what is shown is exact"
    await recount_now(database)
    await submit_bytes(enqueuer, one, 3)
    assert await used(database, one) == (6, 30)
    assert await value(database, "SELECT count(*) FROM windlass.quota_job") == 3


async def test_room_comes_back_within_two_seconds_by_itself(database: Database) -> None:
    one = await somebody(database, bytes_waiting=10)
    enqueuer = door(database)
    await submit_bytes(enqueuer, one)
    with pytest.raises(QuotaExceeded):
        await submit_bytes(enqueuer, one)
    await run_all(database)

    async def is_taken() -> bool:
        try:
            return bool(await submit_bytes(enqueuer, one))
        except QuotaExceeded:
            return False

    await until(is_taken, within_seconds=30)


async def test_what_runs_and_what_rests_is_still_waiting(database: Database) -> None:
    one = await somebody(database, bytes_waiting=10)
    enqueuer = door(database)
    await submit_bytes(enqueuer, one)
    node = await register(database)
    assert len(await take(database, node)) == 1
    await recount_now(database)
    with pytest.raises(QuotaExceeded):
        await submit_bytes(enqueuer, one)


async def test_bytes_that_wait_are_exact_with_four_nodes_at_once(
    database: Database, database_url: str
) -> None:
    one = await somebody(database, bytes_waiting=105)
    answers = await crowd(database_url, [(noop(input=BYTES_10), (one,))] * 40)
    assert len(ids_in(answers)) == 10
    assert await used(database, one) == (10, 100)


async def test_a_quota_that_is_given_later_knows_what_waits_already(database: Database) -> None:
    one = await somebody(database, bytes_waiting=25)
    key = await somebody(database, "key")
    await sql(database, "UPDATE windlass.api_key SET user_id = $1 WHERE id = $2", one.id, key.id)
    enqueuer = door(database)
    for owner in (one.name, key.name, "somebody_else"):
        await enqueuer.submit(noop(input=BYTES_10, owner=owner))
    with pytest.raises(QuotaExceeded) as refused:
        await submit_bytes(enqueuer, one)
    assert refused.value.current == 20, "his own and that of his key"


async def test_jobs_of_a_schedule_are_not_its_maker_s_either_when_a_quota_is_given_later(
    database: Database,
) -> None:
    one = await somebody(database, bytes_waiting=25)
    await scheduling.put(database, job={"kind": "noop", "input": {"a": "b" * 99}}, owner=one.name)
    await scheduling.rewind(database)
    await scheduling.fire(database)
    await door(database).submit(noop(input=BYTES_10, owner=one.name))
    assert await jobs_there(database) == 2
    await submit_bytes(door(database), one)
    assert await used(database, one) == (1, 20)


async def test_what_has_ended_is_forgotten_before_there_is_too_much_of_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.engine.identity.quotas.QUOTA_ENDED_MAX", 5)
    one = await somebody(database, bytes_waiting=10_000)
    enqueuer = door(database)
    for _ in range(4):
        await submit_bytes(enqueuer, one, 5)
        await run_all(database)
    assert await value(database, "SELECT count(*) FROM windlass.quota_job") <= 10


async def test_an_input_of_nothing_is_not_refused_for_bytes(database: Database) -> None:
    one = await somebody(database, bytes_waiting=0)
    with pytest.raises(QuotaExceeded) as refused:
        await door(database).submit(noop(), None, (one,))
    assert (refused.value.limit, refused.value.requested) == (0, 2), "an empty object has two bytes"


AT_ONCE = "windlass.engine.identity.quotas.QUOTA_COUNTED_AT_ONCE_MAX"
FOUND_AT_ONCE = "windlass.engine.identity.quotas.QUOTA_FOUND_AT_ONCE_BYTES_MAX"


async def test_whoever_has_many_jobs_keeps_nobody_waiting_while_they_are_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AT_ONCE, 5)
    many = await somebody(database, bytes_waiting=100)
    other = await somebody(database, bytes_waiting=100)
    enqueuer = door(database)
    await submit_bytes(enqueuer, many, 10)
    await run_all(database)
    await recount_now(database)
    # To take out what has ended, the count needs these rows: it takes as long as we like.
    async with database.side(readonly=False) as holder:
        await holder.fetch("SELECT FROM windlass.quota_job FOR UPDATE")
        answers = await asyncio.wait_for(
            asyncio.gather(
                *(
                    enqueuer.submit(noop(input=BYTES_10), None, (one,))
                    for one in (many, other, other)
                ),
                return_exceptions=True,
            ),
            10,
        )
        assert isinstance(answers[0], QuotaExceeded), "by what is known"
        assert len(ids_in(answers)) == 2

    async def has_room() -> bool:
        return bool((await value(database, COUNTED, many.id)) == 0)

    await until(has_room, what="it is counted apart")
    await submit_bytes(enqueuer, many)
    assert await used(database, many) == (11, 10)


COUNTED = "SELECT bytes FROM windlass.quota_use WHERE subject = $1"


async def test_however_many_are_counted_apart_others_get_connections(database: Database) -> None:
    subjects = [await somebody(database, bytes_waiting=100) for _ in range(SIDE_CONNECTIONS + 2)]
    for one in subjects:
        await submit_bytes(door(database), one)
    await run_all(database)
    counts = QuotaCounts(database)
    holder: Any = await asyncpg.connect(database.url)
    try:
        async with holder.transaction():
            await holder.fetch("SELECT FROM windlass.quota_job FOR UPDATE")
            counts.begin(subjects)
            await until(lambda: _is_waited_for(holder), what="a count waits for these rows")
            async with asyncio.timeout(10):
                for _ in range(SIDE_CONNECTIONS * 2):
                    async with database.side() as connection:
                        await connection.fetchval("SELECT pg_sleep(0.05)")
    finally:
        await holder.close()
    for one in subjects:
        await until_sql(database, f"SELECT ({COUNTED}) = 0", one.id, seconds=30)


async def _is_waited_for(holder: Any) -> bool:
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    )
    return bool(await holder.fetchval(waiting))


async def test_what_is_left_of_many_jobs_is_shown_as_it_was_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks again and again has none of them looked at."""
    one = await somebody(database, bytes_waiting=1_000)
    await submit_bytes(door(database), one, 10)
    await run_all(database)
    assert await used(database, one) == (10, 0)
    monkeypatch.setattr(AT_ONCE, 9)
    assert await used(database, one) == (10, 100), "never too little"


async def test_what_waits_is_exact_where_it_is_counted_apart_on_four_nodes_at_once(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AT_ONCE, 0)
    monkeypatch.setattr(FOUND_AT_ONCE, -1)
    one = await somebody(database, bytes_waiting=100)
    for _ in range(4):
        await door(database).submit(noop(input=BYTES_10, owner=one.name))
    answers = await crowd(database_url, [(noop(input=BYTES_10, owner=one.name), (one,))] * 40)
    assert len(ids_in(answers)) == 6
    assert all(isinstance(answer, Accepted | QuotaExceeded) for answer in answers), answers
    assert (await used(database, one))[1] == 100
