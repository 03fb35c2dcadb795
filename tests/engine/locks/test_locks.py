"""Jobs that hold locks: who gets them, for how long, and who is next."""

from __future__ import annotations

import asyncio
import math
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.engine.hands import (
    end,
    lapse,
    noop,
    register,
    row,
    sql,
    state,
    submit,
    submit_one,
    take,
    take_one,
    until_sql,
    value,
)
from tests.engine.locks.locking import (
    asks,
    holders,
    locking,
    nothing_left,
    parked_for,
    submit_locking,
    waiters,
)
from tests.store.sql_call import CALL
from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.replay import promote, replay
from windlass.engine.jobs.rescue import recover
from windlass.engine.locks.acquire import LockCall, give_back
from windlass.engine.locks.grant import grant_due
from windlass.engine.locks.mend import forget_locks, mend_locks
from windlass.engine.locks.waiters import LockWaiters
from windlass.engine.targets.unpark import unpark
from windlass.fastlane.lane import FastLane
from windlass.limits import (
    LOCK_PATIENCE_SECONDS,
    LOCK_WAITERS_READ_MAX,
    LOCKS_LATE_MAX,
    SIFT_WAITS_MAX,
)
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Failed
from windlass.store.database import Database

LATER = datetime(2040, 1, 1, tzinfo=UTC)


async def test_a_lock_that_is_free_is_taken_with_the_commit_that_accepts_the_job(
    database: Database,
) -> None:
    job = await submit_locking(database, "a", "b")
    assert await parked_for(database, job) is None
    assert (await holders(database, "a"), await holders(database, "b")) == ([job], [job])
    attempt = await take_one(database, await register(database))
    assert attempt.job_id == job


async def test_whoever_waits_for_a_lock_is_no_ones_to_claim(database: Database) -> None:
    first = await submit_locking(database, "a")
    second = await submit_locking(database, "a")
    other = await submit_one(database)
    assert await parked_for(database, second) == "lock"
    taken = await take(database, await register(database))
    assert {attempt.job_id for attempt in taken} == {first, other}


async def test_the_end_of_a_job_passes_its_lock_on_in_the_same_transaction(
    database: Database,
) -> None:
    node = await register(database)
    first, second, third = [await submit_locking(database, "a") for _ in range(3)]
    settled = await end(database, node, await take_one(database, node))
    assert [ready["id"] for ready in settled.effects.due] == [second]
    assert (await holders(database, "a"), await waiters(database, "a")) == ([second], [third])
    assert await state(database, first) == "succeeded"
    settled = await end(database, node, await take_one(database, node))
    assert [ready["id"] for ready in settled.effects.due] == [third]
    await end(database, node, await take_one(database, node))
    assert await nothing_left(database)


async def test_a_semaphore_has_the_capacity_that_was_said_when_it_was_made(
    database: Database,
) -> None:
    jobs = [await submit_locking(database, ("gpu", 3)) for _ in range(5)]
    assert await holders(database, "gpu") == jobs[:3]
    # Whoever says otherwise later is not heard.
    late = await submit_locking(database, ("gpu", 100))
    assert await waiters(database, "gpu") == [*jobs[3:], late]
    node = await register(database)
    settled = await end(database, node, await take(database, node))
    assert {ready["id"] for ready in settled.effects.due} == {*jobs[3:], late}


async def test_a_job_takes_all_its_locks_at_once_or_none(database: Database) -> None:
    node = await register(database)
    holder = await submit_locking(database, "b")
    both = await submit_locking(database, "a", "b")
    assert await parked_for(database, both) == "lock"
    assert await holders(database, "a") == [], "it does not hold one while it waits for another"
    quick = await submit_locking(database, "a")
    assert await holders(database, "a") == [quick], "and does not stand in the way of others"
    taken = {attempt.job_id: attempt for attempt in await take(database, node)}
    await end(database, node, taken[holder])
    assert await parked_for(database, both) == "lock"
    await end(database, node, taken[quick])
    assert (await holders(database, "a"), await holders(database, "b")) == ([both], [both])


async def test_whoever_has_waited_long_enough_keeps_capacity(database: Database) -> None:
    holder = await submit_locking(database, "b")
    both = await submit_locking(database, "a", "b")
    await sql(
        database,
        "UPDATE windlass.lock_wait SET since = since - $1 * interval '1 second'",
        LOCK_PATIENCE_SECONDS + 1,
    )
    behind = await submit_locking(database, "a")
    assert await parked_for(database, behind) == "lock"
    node = await register(database)
    settled = await end(database, node, await take_one(database, node))
    assert [ready["id"] for ready in settled.effects.due] == [both]
    assert await state(database, holder) == "succeeded"
    settled = await end(database, node, await take_one(database, node))
    assert [ready["id"] for ready in settled.effects.due] == [behind]


async def test_the_more_urgent_goes_first_and_is_not_always_first(database: Database) -> None:
    holder = await submit_locking(database, "a")
    low = await submit_locking(database, "a", priority=0)
    high = await submit_locking(database, "a", priority=2)
    normal = await submit_locking(database, "a")
    assert await waiters(database, "a") == [high, normal, low]
    await sql(
        database,
        "UPDATE windlass.lock_wait SET since = since - x.ago, rank = rank - x.ago"
        " FROM (SELECT interval '1 hour' AS ago) x WHERE waiter = $1",
        low,
    )
    await cancel(database, [holder])
    assert await holders(database, "a") == [low]


async def test_a_job_that_rests_before_its_next_try_holds_its_lock(database: Database) -> None:
    node = await register(database)
    first = await submit_locking(database, "a", max_attempts=2)
    second = await submit_locking(database, "a")
    settled = await end(database, node, await take_one(database, node), Failed("oh", "no"))
    assert [again["id"] for again in settled.effects.requeued] == [first]
    assert await parked_for(database, second) == "lock"
    await promote(database, [first])
    settled = await end(database, node, await take_one(database, node), Failed("oh", "no"))
    assert await state(database, first) == "dead"
    assert [ready["id"] for ready in settled.effects.due] == [second]


async def test_a_job_that_a_dead_node_ran_holds_its_lock_until_it_ends(database: Database) -> None:
    node = await register(database)
    first, second = [await submit_locking(database, "a") for _ in range(2)]
    await take_one(database, node)
    await lapse(database, node)
    effects = await recover(database)
    assert [again["id"] for again in effects.requeued] == [first]
    assert (await holders(database, "a"), await parked_for(database, second)) == ([first], "lock")
    living = await register(database)
    await end(database, living, await take_one(database, living))
    assert await holders(database, "a") == [second]


async def test_cancelling_a_job_frees_what_it_holds_and_ends_its_wait(
    database: Database,
) -> None:
    jobs = [await submit_locking(database, "a") for _ in range(4)]
    await cancel(database, [jobs[1]])
    assert await waiters(database, "a") == jobs[2:]
    done = await cancel(database, [jobs[0]])
    assert [ready["id"] for ready in done.due] == [jobs[2]]
    await cancel(database, jobs[2:])
    assert await nothing_left(database)


async def test_a_deadline_ends_the_wait(database: Database) -> None:
    holder = await submit_locking(database, "a")
    soon = datetime.now(UTC) + timedelta(seconds=0.2)
    waiting = await submit_locking(database, "a", deadline=soon)
    await until_sql(database, "SELECT clock_timestamp() > $1", soon)
    await recover(database)
    assert await state(database, waiting) == "expired"
    assert (await waiters(database, "a"), await holders(database, "a")) == ([], [holder])


async def test_a_blocked_job_asks_for_its_locks_when_its_parents_have_ended(
    database: Database,
) -> None:
    node = await register(database)
    parent = await submit_one(database)
    child = await submit_locking(database, ("a", 2), depends_on=(parent,))
    assert (await holders(database, "a"), await waiters(database, "a")) == ([], [])
    other = await submit_locking(database, "a")
    taken = {attempt.job_id: attempt for attempt in await take(database, node)}
    settled = await end(database, node, taken[parent])
    assert [ready["id"] for ready in settled.effects.due] == [child]
    assert await holders(database, "a") == [other, child], "there is capacity for two"
    third = await submit_one(database, depends_on=(child,), locks=asks(["a"]))
    await end(database, node, await take_one(database, node))
    assert await holders(database, "a") == [other, third]


async def test_a_lock_that_somebody_holds_keeps_neither_another_nor_the_rescue_waiting(
    database: Database,
) -> None:
    held = await submit_locking(database, ("a", 1), delay_seconds=3600)
    free = await submit_locking(database, ("b", 1), delay_seconds=3600)
    lost = await submit_one(database)
    node = await register(database)
    await take(database, node)
    await lapse(database, node)
    await sql(database, "UPDATE windlass.job SET run_at = now() WHERE state = 'queued'")
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    async with database.side() as holder, holder.transaction():
        await holder.execute("SELECT FROM windlass.lock WHERE name = 'a' FOR UPDATE")
        async with asyncio.timeout(20):  # a statement may wait for half a minute
            recovered = await recover(database)
            await grant_due(database)
        assert [again["id"] for again in recovered.requeued] == [lost]
        assert await holders(database, "b") == [free]
        assert await holders(database, "a") == []
    await grant_due(database)
    assert await holders(database, "a") == [held]


# Somebody looks at what is late, and waits for what is held.
LOOKS = """
SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
AND query LIKE '-- lock_hold_many%' AND datname = current_database()
"""


async def test_callers_hand_a_lock_on_while_others_that_are_late_are_held(
    database: Database,
) -> None:
    for number in range(SIFT_WAITS_MAX):
        await submit_locking(database, (f"held {number:02}", 1), delay_seconds=3600)
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    callers = LockWaiters(database, Announcer(FastLane(None)), lambda _: None)

    def call() -> LockCall:
        return LockCall(name="free", ticket=uuid4(), ttl_seconds=60.0, wait_seconds=60.0)

    async with database.side() as holder, holder.transaction():
        await holder.execute("SELECT FROM windlass.lock WHERE name LIKE 'held %' FOR UPDATE")
        held = await callers.take(call())
        async with asyncio.timeout(60):
            for _ in range(5):
                following = asyncio.create_task(callers.take(call()))
                waiting = "SELECT count(*) FROM windlass.lock_wait WHERE lock = 'free'"
                await until_sql(database, waiting, seconds=30)
                await until_sql(database, LOOKS, seconds=30)
                assert held is not None
                await give_back(database, "free", held.token)
                held = await following
    assert held is not None


@pytest.mark.parametrize(
    ("held", "at_once"), [(SIFT_WAITS_MAX + 1, LOCKS_LATE_MAX), (9, 4)], ids=["waits", "late"]
)
async def test_a_late_lock_behind_many_that_are_held_has_its_look(
    database: Database, monkeypatch: pytest.MonkeyPatch, held: int, at_once: int
) -> None:
    """Whether more are held than a round waits for, or more are late than a round takes."""
    monkeypatch.setattr("windlass.engine.locks.grant.LOCKS_LATE_MAX", at_once)
    for number in range(held):
        await submit_locking(database, (f"held {number:02}", 1), delay_seconds=3600)
    last = await submit_locking(database, ("last", 1), delay_seconds=3600)
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    await sql(database, "UPDATE windlass.lock_wait SET look_at = now() WHERE lock = 'last'")
    async with database.side() as holder, holder.transaction():
        await holder.execute("SELECT FROM windlass.lock WHERE name LIKE 'held %' FOR UPDATE")
        for _ in range(math.ceil((held + 1) / min(at_once, SIFT_WAITS_MAX))):
            effects = await grant_due(database)
            assert effects.look_seconds is not None, "somebody has to look again"
        assert await holders(database, "last") == [last]
    while waiting := await value(database, "SELECT count(*) FROM windlass.lock_wait"):
        await grant_due(database)
        assert await value(database, "SELECT count(*) FROM windlass.lock_wait") < waiting
    assert await value(database, "SELECT count(*) FROM windlass.lock_hold") == held + 1


async def test_a_job_that_is_due_later_holds_nothing_until_then(database: Database) -> None:
    later = await submit_locking(database, "a", delay_seconds=3600.0)
    now = await submit_locking(database, "a")
    assert await holders(database, "a") == [now]
    effects = await grant_due(database)
    assert effects.look_seconds is not None, "somebody has to look when it is due"
    assert effects.look_seconds <= 3600.0
    await cancel(database, [now])
    assert await holders(database, "a") == []
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    effects = await grant_due(database)
    assert [ready["id"] for ready in effects.due] == [later]
    assert effects.look_seconds is None


async def test_promoting_a_job_lets_it_take_its_lock_at_once(database: Database) -> None:
    later = await submit_locking(database, "a", run_at=LATER)
    assert await parked_for(database, later) == "lock"
    await promote(database, [later])
    assert (await parked_for(database, later), await holders(database, "a")) == (None, [later])


async def test_a_replayed_job_waits_again(database: Database) -> None:
    node = await register(database)
    first = await submit_locking(database, "a")
    await end(database, node, await take_one(database, node))
    second = await submit_locking(database, "a")
    await replay(database, [first])
    assert (await parked_for(database, first), await holders(database, "a")) == ("lock", [second])
    await end(database, node, await take_one(database, node))
    assert (await parked_for(database, first), await holders(database, "a")) == (None, [first])


async def test_a_target_does_not_let_go_whom_a_lock_holds_back(database: Database) -> None:
    await submit_locking(database, "a")
    made = Draft(kind="http", input="{}", target="shop.example", locks=asks(["a"]))
    [waiting] = await submit(database, made)
    await sql(database, "INSERT INTO windlass.target (host) VALUES ('shop.example')")
    assert await unpark(database, {"shop.example": 10}) == []
    assert await parked_for(database, waiting) == "lock"


async def test_a_job_whose_execution_is_paused_gets_its_lock_and_stays_where_it_is(
    database: Database,
) -> None:
    execution = uuid4()
    await sql(
        database,
        "INSERT INTO windlass.execution (id, workflow, version, shard, paused_at)"
        " VALUES ($1, 'w', 1, 0, now())",
        execution,
    )
    holder = await submit_locking(database, "a")
    waiting = await submit_locking(database, "a")
    await sql(
        database, "UPDATE windlass.job SET execution_id = $1 WHERE id = $2", execution, waiting
    )
    done = await cancel(database, [holder])
    assert done.due == []
    assert (await parked_for(database, waiting), await holders(database, "a")) == (
        "paused",
        [waiting],
    )


async def test_a_job_that_somebody_has_in_hand_is_passed_by_and_looked_at_again(
    database: Database,
) -> None:
    holder = await submit_locking(database, "a")
    busy = await submit_locking(database, "a")
    async with database.side(readonly=False) as other:
        await other.execute("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", busy)
        done = await cancel(database, [holder])
        assert done.look_seconds is not None
        assert (await parked_for(database, busy), await holders(database, "a")) == ("lock", [])
    due = "SELECT count(*) FROM windlass.lock_wait WHERE look_at <= clock_timestamp()"
    await until_sql(database, due)
    effects = await recover(database)
    assert [ready["id"] for ready in effects.due] == [busy]


async def test_a_wait_list_longer_than_a_look_is_served_to_the_last_waiter(
    database: Database,
) -> None:
    count = 3 * LOCK_WAITERS_READ_MAX
    holder = await submit_locking(database, ("a", 1))
    await submit(database, *(locking("a") for _ in range(count + 5)))
    await sql(database, "UPDATE windlass.lock SET capacity = $1", count)
    done = await cancel(database, [holder])
    assert len(done.due) == count
    assert len(await waiters(database, "a")) == 5


async def test_tokens_grow_even_when_a_lock_was_forgotten_in_between(database: Database) -> None:
    tokens = []
    for _ in range(3):
        job = await submit_locking(database, "a")
        tokens.append(await value(database, "SELECT token FROM windlass.lock WHERE name = 'a'"))
        assert await forget_locks(database, 0) == 0, "it is held"
        await cancel(database, [job])
        assert await forget_locks(database, 3600) == 0, "it was used just now"
        assert await forget_locks(database, 0) == 1
    assert tokens == sorted(set(tokens))


async def test_a_lock_with_a_capacity_of_its_own_is_not_forgotten(database: Database) -> None:
    job = await submit_locking(database, ("a", 2))
    await cancel(database, [job])
    assert await forget_locks(database, 0) == 0


async def test_what_an_earlier_version_left_behind_is_mended(database: Database) -> None:
    node = await register(database)
    gone, waiting = [await submit_locking(database, "a") for _ in range(2)]
    attempt = await take_one(database, node)
    # It ends without a word to its locks, and a job is in no wait list.
    await sql(database, "UPDATE windlass.job SET locks = NULL WHERE id = $1", gone)
    await end(database, node, attempt)
    await sql(database, "DELETE FROM windlass.lock_wait")
    found = (await doctor(database)).counts
    assert (found["lock_held"], found["lock_in_no_line"]) == (1, 1)
    effects = await mend_locks(database)
    assert [ready["id"] for ready in effects.due] == [waiting]
    assert await holders(database, "a") == [waiting]
    assert (await mend_locks(database)).due == []
    assert (await doctor(database)).is_well


async def test_the_doctor_mends_wait_lists_too(database: Database) -> None:
    job = await submit_locking(database, "a")
    waiter = (
        "INSERT INTO windlass.lock_wait SELECT 'b', $1, now(), now(), NULL, NULL, NULL, NULL, 1"
    )
    await sql(database, waiter, job)
    report = await doctor(database, repair=True)
    assert (report.counts["lock_in_line"], report.is_well) == (1, True)
    assert await waiters(database, "b") == []


async def test_the_job_remembers_its_locks_to_the_end(database: Database) -> None:
    node = await register(database)
    job = await submit_locking(database, "b", "a")
    await end(database, node, await take_one(database, node))
    kept = "SELECT locks FROM windlass.job_history WHERE id = $1"
    assert await value(database, kept, job) == ["b", "a"]
    assert (await row(database, job))["state"] == "succeeded"


async def test_a_job_submitted_by_sql_is_found_and_gets_its_lock(database: Database) -> None:
    first = await value(database, CALL, '{"kind": "noop", "locks": ["a", "b"]}')
    job = ids.parse("job", first)
    assert await parked_for(database, job) == "lock", "the caller's transaction holds no lock"
    effects = await grant_due(database)
    assert [ready["id"] for ready in effects.due] == [job]
    urgent = await value(database, CALL, '{"kind": "noop", "locks": ["a"], "priority": "high"}')
    both = [ids.parse("job", urgent), await submit_locking(database, "a", priority=2)]
    lead = "SELECT count(DISTINCT since - rank) FROM windlass.lock_wait WHERE waiter = ANY ($1)"
    assert await value(database, lead, both) == 1, "priority is worth the same, however it came"
    await value(database, CALL, '{"kind": "noop", "locks": [{"name": "gpu", "capacity": 2}]}')
    assert len((await grant_due(database)).due) == 1
    assert await value(database, "SELECT capacity FROM windlass.lock WHERE name = 'gpu'") == 2


async def test_two_hundred_jobs_of_one_lock_run_one_after_the_other(database: Database) -> None:
    node = await register(database)
    await submit(database, *(locking("a") for _ in range(200)))
    for _ in range(200):
        [attempt] = await take(database, node)
        await end(database, node, attempt)
    assert await take(database, node) == []
    assert await nothing_left(database)


async def test_ends_and_arrivals_at_once_leave_nobody_waiting(database: Database) -> None:
    """A job that comes just as the lock is freed is seen by one of the two."""
    node = await register(database)
    for _ in range(30):
        await submit_locking(database, "a")
        attempt = await take_one(database, node)
        _, arrived = await asyncio.gather(
            end(database, node, attempt), submit_locking(database, "a")
        )
        assert await parked_for(database, arrived) is None
        await cancel(database, [arrived])
    assert noop().locks == ()
