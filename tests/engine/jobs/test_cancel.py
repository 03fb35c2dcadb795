"""Cancelling: at once where a job waits, by asking where it runs, never undone by a race."""

from __future__ import annotations

import asyncio
import random
from uuid import UUID, uuid4

from tests.engine.hands import (
    counted,
    end,
    lapse,
    noop,
    patiently,
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
    true_counts,
    value,
)
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.jobs.cancel import cancel, find_cancel_requested
from windlass.engine.jobs.rescue import recover
from windlass.model.job.outcome import Failed, Outcome, Snoozed, Succeeded
from windlass.store.database import Database


async def test_a_job_that_waits_ends_at_once(database: Database) -> None:
    now, later, blocked = await submit(
        database, noop(), noop(delay_seconds=60), noop(depends_on_places=(0,))
    )
    done = await cancel(database, [now, later, blocked])
    assert done.ended == dict.fromkeys([now, later, blocked], "cancelled")
    assert done.stopping == {}
    job = await row(database, later)
    assert (job["state"], job["outcome"], job["started_at"]) == ("cancelled", None, None)
    assert job["cancel_requested_at"] is not None
    assert await take(database, await register(database)) == []


async def test_a_job_that_waits_for_its_next_try_ends_at_once(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("x", "why"))
    await cancel(database, [job_id])
    job = await row(database, job_id)
    assert (job["state"], job["attempt"]) == ("cancelled", 1)
    assert "why" in job["error"], "what went wrong before stays on record"


async def test_a_running_job_is_asked_and_its_node_can_find_it(database: Database) -> None:
    job_id, other = await submit(database, noop(), noop())
    node, bystander = await register(database), await register(database)
    await take(database, node)
    done = await cancel(database, [job_id])
    assert (done.ended, done.stopping) == ({}, {job_id: node})
    assert await find_cancel_requested(database, node) == [job_id]
    assert await find_cancel_requested(database, bystander) == []
    assert await states(database, [job_id, other]) == ["running", "running"]


async def test_asking_again_changes_nothing(database: Database) -> None:
    job_id = await submit_one(database)
    await take(database, await register(database))
    await cancel(database, [job_id])
    before = await row(database, job_id)
    assert await cancel(database, [job_id]) == Effects()
    assert await row(database, job_id) == before


async def test_a_job_that_has_ended_stays_as_it_is(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    await end(database, node, await take_one(database, node), Succeeded(b"1"))
    before = await row(database, job_id)
    assert await cancel(database, [job_id, uuid4()]) == Effects()
    assert await row(database, job_id) == before


async def test_many_are_cancelled_wherever_they_are(database: Database) -> None:
    made = await submit(database, *[noop(priority=n % 2 * 2) for n in range(100)])
    node = await register(database)
    running = {attempt.job_id: attempt for attempt in await take(database, node, 30)}
    await end(database, node, list(running.values())[:10])
    done = await cancel(database, made)
    assert (len(done.ended), len(done.stopping)) == (70, 20)
    assert await counted(database) == await true_counts(database)
    await end(database, node, list(running.values())[10:])
    assert sorted(await states(database, made)) == ["cancelled"] * 90 + ["succeeded"] * 10


async def race(database: Database, url: str, rounds: int, outcomes: list[Outcome]) -> None:
    """Cancel each job at a random moment of its way through a claim and a finish."""
    chance = random.Random(seed := random.randrange(10**6))
    print("seed", seed)
    retry = '{"max_attempts": 5, "initial": 0}'
    async with several(url, 3) as (canceller, runner, other):
        node = await register(runner)
        took = 0.005  # of a run, the last time

        async def run(one: Database) -> None:
            nonlocal took
            begun = monotonic()
            for _ in range(chance.randint(1, 2)):
                attempts = await take(one, node, 2)
                await end(one, node, attempts, chance.choice(outcomes))
            took = monotonic() - begun

        async def cancel_at_some_moment(job_id: UUID) -> Effects:
            await asyncio.sleep(chance.random() * min(2 * took, 0.1))
            return await patiently(lambda: cancel(canceller, [job_id]))

        said: dict[UUID, Effects] = {}
        for _ in range(rounds):
            job_id = await submit_one(database, retry=retry)
            said[job_id], _, _ = await asyncio.gather(
                cancel_at_some_moment(job_id), run(runner), run(other)
            )
        while attempts := await take(runner, node):
            await end(runner, node, attempts)
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0, "every job has ended"
    assert await value(database, "SELECT count(*) FROM windlass.job_history") == rounds, "once"
    for job_id, done in said.items():
        if job_id in done.ended or job_id in done.stopping:
            assert await state(database, job_id) == "cancelled"
    assert await counted(database) == await true_counts(database)
    ends = await sql(database, "SELECT DISTINCT state FROM windlass.job_history")
    assert {one["state"] for one in ends} >= {"cancelled", "succeeded"}, "both sides won at times"


async def test_a_cancelled_job_never_succeeds_however_close_its_success(
    database: Database, database_url: str
) -> None:
    await race(database, database_url, 200, [Succeeded()])


async def test_a_cancelled_job_is_never_tried_again_however_close_its_retry(
    database: Database, database_url: str
) -> None:
    await race(database, database_url, 200, [Failed("x", "x"), Snoozed(0), Succeeded()])


async def test_a_cancelled_job_is_not_run_again_by_a_rescue(
    database: Database, database_url: str
) -> None:
    chance = random.Random(seed := random.randrange(10**6))
    print("seed", seed)
    async with several(database_url, 2) as (left, right):
        for _ in range(40):
            job_id = await submit_one(database)
            node = await register(database)
            await take_one(database, node)
            await lapse(database, node)

            async def ask(job_id: UUID = job_id) -> Effects:
                await asyncio.sleep(chance.random() * 0.006)
                return await patiently(lambda: cancel(left, [job_id]))

            done, _ = await asyncio.gather(ask(), recover(right))
            await recover(right)
            assert job_id in done.ended or job_id in done.stopping
            assert await state(database, job_id) == "cancelled"
