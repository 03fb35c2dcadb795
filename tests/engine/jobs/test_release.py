"""Handing back what was claimed and not begun, and ending what waited for too long."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tests.engine.hands import (
    end,
    noop,
    register,
    row,
    several,
    sql,
    state,
    states,
    submit,
    submit_one,
    take,
    take_one,
    value,
)
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.claim import find_claimed, release, release_rows
from windlass.engine.jobs.finish import finish
from windlass.engine.jobs.rescue import recover
from windlass.model.job.outcome import Cancelled
from windlass.model.job.settle import settle
from windlass.store.database import Database


async def test_a_waiting_job_past_its_deadline_expires(database: Database) -> None:
    late, blocked, running, in_time = await submit(
        database, noop(priority=0), noop(depends_on_places=(0,)), noop(priority=3), noop(priority=0)
    )
    node = await register(database)
    await take(database, node, 1)
    past = "UPDATE windlass.job SET deadline = now() - interval '1 s' WHERE id = ANY ($1)"
    await sql(database, past, [late, blocked, running])
    done = await recover(database)
    assert done.ended == {late: "expired", blocked: "expired"}
    assert await states(database, [running, in_time]) == ["running", "queued"]
    job = await row(database, late)
    assert (job["cause"], job["outcome"], job["started_at"]) == ("deadline", None, None)
    assert (await recover(database)).ended == {}


async def test_expiring_and_claiming_at_once_disagree_about_no_job(
    database: Database, database_url: str
) -> None:
    made = await submit(database, *[noop()] * 100)
    deadline = "UPDATE windlass.job SET deadline = clock_timestamp() + interval '30 ms'"
    await sql(database, deadline)
    node = await register(database)
    async with several(database_url, 2) as (left, right):

        async def claim_on() -> set[UUID]:
            got: set[UUID] = set()
            while await value(left, "SELECT count(*) FROM windlass.job WHERE state = 'queued'"):
                got |= {attempt.job_id for attempt in await take(left, node, 3)}
            return got

        async def expire_on() -> set[UUID]:
            got: set[UUID] = set()
            while await value(right, "SELECT count(*) FROM windlass.job WHERE state = 'queued'"):
                got |= set((await recover(right)).ended)
            return got

        begun, expired = await asyncio.gather(claim_on(), expire_on())
    assert begun.isdisjoint(expired)
    assert sorted(begun | expired) == made


async def test_what_was_claimed_ahead_is_handed_back_as_if_it_had_never_been_claimed(
    database: Database,
) -> None:
    job_id = await submit_one(database, max_attempts=1)
    node = await register(database)
    before = await row(database, job_id)
    attempts = await take(database, node)
    assert [one["id"] for one in await release(database, attempts)] == [job_id]
    assert await row(database, job_id) == before
    assert await release(database, attempts) == [], "once is enough"
    assert (await end(database, node, attempts)).refused == {job_id}
    again = await take_one(database, node)
    assert (again.number, again.tries) == (1, 1)
    assert again.claim_id != attempts[0].claim_id


async def test_a_hand_back_after_the_end_changes_nothing(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempts = await take(database, node)
    await end(database, node, attempts)
    assert await release(database, attempts) == []
    assert await state(database, job_id) == "succeeded"


async def test_a_claim_whose_answer_was_lost_is_found_and_handed_back(database: Database) -> None:
    lost, known = await submit(database, noop(), noop())
    node = await register(database)
    await take(database, node)
    assert await find_claimed(database, node, 60) == [], "its answer may still be on its way"
    rows = await find_claimed(database, node, 0)
    assert {one["id"] for one in rows} == {lost, known}
    orphans = [one for one in rows if one["id"] == lost]
    assert [one["id"] for one in await release_rows(database, orphans)] == [lost]
    assert await states(database, [lost, known]) == ["queued", "running"]


async def test_a_job_asked_to_stop_is_not_handed_back_but_ends_cancelled(
    database: Database,
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    [attempt] = await take(database, node)
    await cancel(database, [job_id])
    assert await release(database, [attempt]) == []
    await finish(database, node, [settle(attempt, Cancelled(), 0)])
    assert await state(database, job_id) == "cancelled"
    assert await take(database, await register(database)) == []
