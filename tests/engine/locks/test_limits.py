"""Limits that jobs carry: how many of a name run at once and start a second, also per value."""

from __future__ import annotations

import asyncio
import json
import random
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.engine.hands import (
    door,
    end,
    lapse,
    noop,
    patiently,
    register,
    row,
    run_all,
    several,
    sql,
    submit,
    submit_one,
    take,
    take_one,
    until_sql,
    value,
)
from tests.engine.locks.locking import holders, nothing_left, parked_for, waiters
from tests.store.sql_call import CALL, enqueue
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.finish import finish
from windlass.engine.jobs.replay import promote, replay
from windlass.engine.jobs.rescue import recover
from windlass.engine.jobs.why import explain
from windlass.engine.locks.grant import grant_due
from windlass.engine.locks.mend import forget_locks, mend_locks
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import Failed, Snoozed
from windlass.model.job.settle import settle
from windlass.model.job.submission import SubmissionContext, read_job
from windlass.store.database import Database

MAIL = "limit/mail"


def limited(*limits: dict[str, Any], **fields: Any) -> Draft:
    body = {"kind": "noop", "limits": list(limits), **fields}
    return read_job(body, SubmissionContext(kinds={"noop": lambda _: []}), datetime.now(UTC))


async def submit_limited(database: Database, *limits: dict[str, Any], **fields: Any) -> UUID:
    return (await submit(database, limited(*limits, **fields)))[0]


def mail(max_running: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"name": "mail", "max_running": max_running, **more}


async def fail_and_rest(database: Database, node: UUID, attempt: Attempt, seconds: float) -> None:
    """The attempt failed; the next one is due so much later."""
    oops = Failed("Oops", "no", retry_after_seconds=seconds, is_exact=True)
    settlement = settle(attempt, oops, 0.5)
    assert settlement.state == "queued"
    await patiently(lambda: finish(database, node, [settlement]))


async def test_of_the_jobs_of_a_limit_so_many_run_at_once_in_the_order_they_came(
    database: Database,
) -> None:
    jobs = [await submit_limited(database, mail(2)) for _ in range(5)]
    other = await submit_one(database)
    node = await register(database)
    await grant_due(database)
    taken = await take(database, node)
    assert {attempt.job_id for attempt in taken} == {*jobs[:2], other}
    assert await waiters(database, MAIL) == jobs[2:]
    settled = await end(database, node, taken)
    assert {due["id"] for due in settled.effects.due} == {*jobs[2:4]}, (
        "passed on by the same commit"
    )
    await end(database, node, await take(database, node))
    await end(database, node, await take(database, node))
    assert await nothing_left(database)


async def test_a_job_that_rests_between_two_tries_leaves_its_place_to_others(
    database: Database,
) -> None:
    node = await register(database)
    first, second = [await submit_limited(database, mail()) for _ in range(2)]
    await grant_due(database)
    await fail_and_rest(database, node, await take_one(database, node), 3600)
    assert await holders(database, MAIL) == []
    effects = await grant_due(database)
    assert [due["id"] for due in effects.due] == [second]
    assert await parked_for(database, first) == "lock"
    assert effects.look_seconds is not None
    assert 3500 < effects.look_seconds <= 3600, "it is looked at when it is due"
    await promote(database, [first])
    assert await holders(database, MAIL) == [second], "due, and it waits for its turn"
    await end(database, node, await take_one(database, node))
    assert await holders(database, MAIL) == [first]
    await end(database, node, await take_one(database, node))
    assert await nothing_left(database)


async def test_a_job_that_is_due_again_stands_behind_whoever_came_before(
    database: Database,
) -> None:
    node = await register(database)
    first, second, third = [await submit_limited(database, mail()) for _ in range(3)]
    await grant_due(database)
    attempt = await take_one(database, node)
    assert attempt.job_id == first
    await end(database, node, attempt, Snoozed(0.0))
    await grant_due(database)
    assert await holders(database, MAIL) == [second]
    assert await waiters(database, MAIL) == [third, first]


async def test_each_value_has_a_limit_of_its_own(database: Database) -> None:
    per = mail(per=["/args/0", "/to"])
    jobs = {
        name: await submit_limited(database, per, input=given)
        for name, given in {
            "ada": {"args": ["ada"]},
            "ada again": {"to": "ada"},
            "bob": {"to": "bob"},
            "four": {"args": [4, "ada"]},
            "none": {},
            "none either": {"args": [], "to": None},
            "long": {"to": "x" * 100},
        }.items()
    }
    await grant_due(database)
    waiting = {name for name, job in jobs.items() if await parked_for(database, job)}
    assert waiting == {"ada again", "none either"}
    names = await value(database, "SELECT array_agg(name ORDER BY name) FROM windlass.lock")
    long = [name for name in names if len(name) > 30]
    assert [name for name in names if name not in long] == [
        "limit/mail/",
        "limit/mail/4",
        "limit/mail/ada",
        "limit/mail/bob",
    ]
    assert [len(name) for name in long] == [len("limit/mail/") + 64]


async def test_a_rate_lets_a_second_s_worth_go_and_then_each_when_it_is_due(
    database: Database,
) -> None:
    node = await register(database)
    jobs = [await submit_limited(database, mail(None, rate=4.0)) for _ in range(12)]
    effects = await grant_due(database)
    assert [due["id"] for due in effects.due] == jobs[:4]
    assert effects.look_seconds is not None
    assert 0.1 < effects.look_seconds <= 0.25
    await take(database, node)
    # The clock goes on by half a second.
    earlier = "UPDATE windlass.lock SET rate_due_at = rate_due_at - interval '0.5 s'"
    await sql(database, f"{earlier} WHERE name = $1", MAIL)
    await sql(database, "UPDATE windlass.lock_wait SET look_at = now() WHERE look_at IS NOT NULL")
    effects = await grant_due(database)
    assert [due["id"] for due in effects.due] == jobs[4:6]


async def test_a_slow_rate_lets_one_go_at_a_time(database: Database) -> None:
    first, _ = [await submit_limited(database, mail(None, rate=1 / 3600)) for _ in range(2)]
    effects = await grant_due(database)
    assert [due["id"] for due in effects.due] == [first]
    assert effects.look_seconds is not None
    assert 3590 < effects.look_seconds <= 3600
    await run_all(database)
    assert await value(database, "SELECT count(*) FROM windlass.lock_wait") == 1
    assert await value(database, "SELECT count(*) FROM windlass.lock WHERE rate IS NOT NULL") == 1


async def test_who_was_let_go_and_cannot_start_keeps_a_crowd_from_gathering(
    database: Database,
) -> None:
    """A paused queue, say: all of them would start at once when it is resumed."""
    node = await register(database)
    for _ in range(5):
        await submit_limited(database, mail(None, rate=1.0))
    for _ in range(3):
        await sql(database, "UPDATE windlass.lock SET rate_due_at = now() - interval '1 day'")
        await sql(database, "UPDATE windlass.lock_wait SET look_at = now()")
        await grant_due(database)
    assert len(await holders(database, MAIL)) == 1
    await take(database, node)
    await sql(database, "UPDATE windlass.lock SET rate_due_at = now() - interval '1 day'")
    await sql(database, "UPDATE windlass.lock_wait SET look_at = now()")
    await grant_due(database)
    assert len(await holders(database, MAIL)) == 2


async def test_the_newest_job_says_what_a_limit_allows(database: Database) -> None:
    node = await register(database)
    await submit_limited(database, mail(1))
    old = await submit_limited(database, mail(1))
    await grant_due(database)
    await submit_limited(database, mail(3))
    await grant_due(database)
    assert len(await holders(database, MAIL)) == 3
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    await fail_and_rest(database, node, attempts[old], 0)
    await grant_due(database)
    allowed = await value(database, "SELECT capacity FROM windlass.lock WHERE name = $1", MAIL)
    assert allowed == 3, "an older job that is tried again says nothing new"


async def test_a_limit_that_was_forgotten_comes_back_with_what_its_job_said(
    database: Database,
) -> None:
    node = await register(database)
    job = await submit_limited(database, mail(7, rate=50.0))
    await grant_due(database)
    await end(database, node, await take_one(database, node), Failed("Oops", "no", is_final=True))
    await sql(database, "UPDATE windlass.lock SET rate_due_at = now() - interval '1 s'")
    assert await forget_locks(database, 0.0) == 1
    await replay(database, [job])
    [kept] = await sql(database, "SELECT capacity, rate, is_limit FROM windlass.lock")
    assert dict(kept) == {"capacity": 7, "rate": 50.0, "is_limit": True}
    assert await holders(database, MAIL) == [job]


async def test_a_rate_that_keeps_the_next_one_waiting_is_not_forgotten(database: Database) -> None:
    await submit_limited(database, mail(None, rate=0.001))
    await grant_due(database)
    await run_all(database)
    assert await forget_locks(database, 0.0) == 0


async def test_whoever_submits_waits_for_nobody_who_has_the_limit_s_row(
    database: Database, database_url: str
) -> None:
    await submit_limited(database, mail())
    await grant_due(database)
    async with several(database_url, 1) as [other], other.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SELECT FROM windlass.lock WHERE name = $1 FOR UPDATE", MAIL)
        async with asyncio.timeout(5):
            request = [door(database).submit(limited(mail())), door(database).submit(noop())]
            answers = await asyncio.gather(*request)
        assert [len(answer.job_ids) for answer in answers] == [1, 1]
        await transaction.rollback()
    await grant_due(database)
    await run_all(database)
    await run_all(database)
    assert await nothing_left(database)


async def test_a_dead_node_s_jobs_give_their_places_back(database: Database) -> None:
    node = await register(database)
    first, second = [await submit_limited(database, mail()) for _ in range(2)]
    await grant_due(database)
    await take_one(database, node)
    await lapse(database, node)
    await recover(database)
    await grant_due(database)
    assert await holders(database, MAIL) == [second]
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    await sql(database, "UPDATE windlass.job SET run_at = now() WHERE id = $1", first)
    await run_all(database)
    assert await nothing_left(database)


async def test_a_cancelled_job_leaves_the_wait_list_and_its_place(database: Database) -> None:
    first, second, third = [await submit_limited(database, mail()) for _ in range(3)]
    await grant_due(database)
    await cancel(database, [second])
    await cancel(database, [first])
    assert await holders(database, MAIL) == [third]
    assert await waiters(database, MAIL) == []


async def test_locks_are_kept_while_a_job_rests_and_limits_are_not(database: Database) -> None:
    node = await register(database)
    both = await submit_limited(database, mail(), locks=["card"])
    await grant_due(database)
    await fail_and_rest(database, node, await take_one(database, node), 0)
    assert await holders(database, "card") == [both]
    await grant_due(database)
    assert (await holders(database, "card"), await holders(database, MAIL)) == ([both], [both])
    await end(database, node, await take_one(database, node))
    assert await nothing_left(database)


async def test_sql_and_http_ask_for_the_same_limits(database: Database) -> None:
    limits = [
        {"name": "mail", "max_running": 2, "per": ["/a~1b/0", "/to"]},
        {"name": "all", "rate": 2.5, "max_running": None},
        {"name": "long", "max_running": 1, "per": ["/long"]},
        {"name": "yes", "max_running": 1, "per": ["/yes"]},
    ]
    given = {"a/b": [-12, 1], "to": "é", "long": "ü" * 65, "yes": True}
    ours = await row(database, await submit_limited(database, *limits, input=given))
    theirs = await enqueue(database, limits=limits, input=given)
    assert set(theirs["locks"]) == set(ours["locks"])
    kept = [{one["lock"]: one for one in json.loads(job["limits"])} for job in (ours, theirs)]
    assert kept[0] == kept[1]
    assert theirs["locks"][0].startswith("limit/")
    await grant_due(database)
    assert await parked_for(database, theirs["id"]) == "lock", "it waits where the other one runs"


async def test_why_names_the_limit_and_who_has_it(database: Database) -> None:
    first, second = [
        await submit_limited(database, mail(per=["/to"]), input={"to": "ada"}) for _ in range(2)
    ]
    third, fourth = [await submit_limited(database, mail(None, rate=0.01)) for _ in range(2)]
    await grant_due(database)
    why = await explain(database, second)
    assert why is not None
    assert why.gates[0].gate == "limit"
    assert why.gates[0].reason == (
        f"limit 'mail' of 'ada' lets 1 run at once: job_{first.hex}; it is 1st to wait"
    )
    why = await explain(database, fourth)
    assert why is not None
    assert why.gates[0].reason == "limit 'mail' lets 36 an hour start; it is 1st to wait"
    assert why.gates[0].until is not None
    assert await parked_for(database, third) is None


async def test_a_step_that_died_in_between_is_nobody_s_stray(database: Database) -> None:
    node = await register(database)
    for _ in range(3):
        await submit_limited(database, mail(2))
    await grant_due(database)
    [attempt, _] = await take(database, node)
    await fail_and_rest(database, node, attempt, 0)
    # Whoever asked for the rest died here: nobody was told to look.
    await mend_locks(database)
    await recover(database)
    assert len(await holders(database, MAIL)) == 2
    await run_all(database)
    assert (await doctor(database)).is_well


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_many_do_at_once_no_limit_is_exceeded(
    database: Database, database_url: str, seed: int
) -> None:
    """Seeded by its parameter: submits, ends, failures, lost nodes and looks around two limits."""
    chance = random.Random(seed)
    a, b = {"name": "a", "max_running": 2}, {"name": "b", "max_running": 3, "per": ["/n"]}
    over = """SELECT count(*) FROM (
        SELECT h.lock, count(*) AS held, max(l.capacity) AS capacity
        FROM windlass.lock_hold h JOIN windlass.lock l ON l.name = h.lock GROUP BY h.lock) one
        WHERE held > capacity"""
    unheld = """SELECT count(*) FROM windlass.job j CROSS JOIN LATERAL unnest(j.locks) AS n(lock)
        WHERE j.state = 'running' AND NOT EXISTS (
            SELECT FROM windlass.lock_hold h WHERE h.job_id = j.id AND h.lock = n.lock)"""
    wrong: list[tuple[int, int]] = []

    async def live(mine: Database, node: UUID) -> None:
        for _ in range(25):
            match chance.choice(["submit", "submit", "end", "fail", "look", "look"]):
                case "submit":
                    limits = chance.choice([[a], [b], [a, b]])
                    given = {"n": chance.randrange(2)}
                    draft = limited(*limits, input=given)
                    await patiently(partial(submit, mine, draft))
                case "look":
                    await patiently(partial(grant_due, mine))
                case how:
                    for attempt in await take(mine, node, 2):
                        outcome = None if how == "end" else Snoozed(0.0)
                        await end(mine, node, attempt, outcome)
            wrong.append((await value(mine, over), await value(mine, unheld)))

    async with several(database_url, 4) as crowd:
        await asyncio.gather(*[live(mine, await register(mine)) for mine in crowd])
    assert set(wrong) == {(0, 0)}
    while await value(database, "SELECT count(*) FROM windlass.job"):
        await grant_due(database)
        await run_all(database)
    assert await nothing_left(database)


async def test_jobs_of_a_limit_that_are_due_later_take_no_place_before(database: Database) -> None:
    later = await submit_limited(database, mail(), delay="1h")
    now = await submit_limited(database, mail())
    effects = await grant_due(database)
    assert [due["id"] for due in effects.due] == [now]
    assert await parked_for(database, later) == "lock"


async def test_a_child_waits_for_its_limit_after_its_parent(database: Database) -> None:
    node = await register(database)
    parent = await submit_one(database)
    child = await submit_limited(database, mail(4), depends_on=[f"job_{parent.hex}"])
    await end(database, node, await take_one(database, node))
    await until_sql(database, "SELECT parked_at IS NULL FROM windlass.job WHERE id = $1", child)
    assert await value(database, "SELECT capacity FROM windlass.lock WHERE name = $1", MAIL) == 4


async def test_an_older_job_that_is_due_only_now_does_not_take_back_what_a_newer_one_said(
    database: Database,
) -> None:
    old = await submit_limited(database, mail(1), delay="1h")
    await submit_limited(database, mail(3))
    await grant_due(database)
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    await sql(database, "UPDATE windlass.job SET run_at = now() WHERE id = $1", old)
    await grant_due(database)
    assert len(await holders(database, MAIL)) == 2


async def test_who_waits_for_a_slow_rate_does_not_bring_it_back_at_each_look(
    database: Database,
) -> None:
    for _ in range(3):
        await submit_limited(database, mail(None, rate=0.001))
    await grant_due(database)
    await submit_limited(database, mail(None, rate=1.0))
    for _ in range(2):
        await grant_due(database)
        await sql(database, "UPDATE windlass.lock_wait SET look_at = now() WHERE look_at > now()")
    assert await value(database, "SELECT rate FROM windlass.lock WHERE name = $1", MAIL) == 1.0


@pytest.mark.parametrize("slow", [{"rate": 0.001}, {"max_running": 1}], ids=["rate", "places"])
async def test_a_customer_who_has_to_wait_keeps_no_places_from_the_others(
    database: Database, slow: dict[str, Any]
) -> None:
    both = [{"name": "all", "max_running": 3}, {"name": "each", "per": ["/of"], **slow}]
    for _ in range(6):
        await submit_limited(database, *both, input={"of": "ada"})
    await grant_due(database)
    patient = "since = since - interval '20 s', rank = rank - interval '20 s'"
    await sql(database, f"UPDATE windlass.lock_wait SET {patient}")
    other = await submit_limited(database, *both, input={"of": "bob"})
    await grant_due(database)
    assert await parked_for(database, other) is None


async def test_a_waiter_in_a_caller_s_hand_keeps_neither_ends_nor_the_next_one(
    database: Database, database_url: str
) -> None:
    node = await register(database)
    await submit_limited(database, mail())
    await grant_due(database)
    attempt = await take_one(database, node)
    put_off = {"kind": "noop", "key": "k", "debounce": 60, "limits": [mail()]}
    await value(database, CALL, json.dumps(put_off | {"debounce": 0.5}))
    async with several(database_url, 1) as [other], other.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute(CALL, json.dumps(put_off))
        await until_sql(database, "SELECT bool_and(run_at < now()) FROM windlass.job")
        following = await submit_limited(database, mail())
        async with asyncio.timeout(5):
            await end(database, node, attempt)
            await grant_due(database)
        assert await holders(database, MAIL) == [following]
        await transaction.rollback()


@pytest.mark.parametrize("pointer", ["/a/-1", "/a/01", "/a/+1", "/a/", "/", "//", "/a~0/x", "/o/0"])
async def test_a_pointer_leads_to_the_same_by_sql_and_by_http(
    database: Database, pointer: str
) -> None:
    given: dict[str, Any] = {"a": ["p", "q"], "a~": {"x": "t"}, "o": {"0": "zero"}, "": "empty"}
    ours = await submit_limited(database, mail(per=[pointer]), input=given)
    theirs = await enqueue(database, limits=[mail(per=[pointer])], input=given)
    assert theirs["locks"] == (await row(database, ours))["locks"]


async def test_a_slow_rate_whose_jobs_cannot_start_is_not_looked_at_all_the_time(
    database: Database,
) -> None:
    """A paused queue with a thousand customers would keep the database busy with nothing."""
    for _ in range(2):
        await submit_limited(database, mail(None, rate=1 / 3600))
    await grant_due(database)
    await sql(database, "UPDATE windlass.lock SET rate_due_at = now() - interval '1 day'")
    await sql(database, "UPDATE windlass.lock_wait SET look_at = now()")
    effects = await grant_due(database)
    assert len(await holders(database, MAIL)) == 1
    again = await value(database, "SELECT min(look_at - now()) FROM windlass.lock_wait")
    assert again.total_seconds() > 5
    assert effects.look_seconds is None or effects.look_seconds > 5


async def test_a_job_that_is_put_back_into_its_wait_lists_does_not_wait_for_itself(
    database: Database,
) -> None:
    node = await register(database)
    await submit_limited(database, mail(), locks=["card"])
    await grant_due(database)
    await fail_and_rest(database, node, await take_one(database, node), 0)
    await sql(database, "DELETE FROM windlass.lock_wait")
    await mend_locks(database)
    await grant_due(database)
    await run_all(database)
    assert await nothing_left(database)


async def test_why_says_that_those_who_were_let_go_have_not_started(database: Database) -> None:
    _, second = [await submit_limited(database, mail(None, rate=1.0)) for _ in range(2)]
    await grant_due(database)
    await sql(database, "UPDATE windlass.lock SET rate_due_at = now() - interval '1 day'")
    why = await explain(database, second)
    assert why is not None
    assert why.gates[0].reason == (
        "limit 'mail' lets 1 a second start, and those that it let go have not started; "
        "it is 1st to wait"
    )
