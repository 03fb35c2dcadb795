"""Claiming: in which order, by whom, and what is not to be had."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import (
    lapse,
    noop,
    register,
    row,
    several,
    sql,
    state,
    submit,
    submit_one,
    take,
    take_one,
    value,
)
from windlass.engine.jobs.claim import Frontier, claim, claim_solo, find_claimed, peek
from windlass.engine.jobs.queues import pause_queue, resume_queue
from windlass.limits import AGING_EVERY
from windlass.store.database import Database

LOW, NORMAL, HIGH, CRITICAL = range(4)


async def test_a_claim_gives_the_job_an_owner_and_a_fence(database: Database) -> None:
    job_id = await submit_one(database, input='{"a":1}', correlation_id="c", timeout_ms=5)
    node = await register(database)
    attempt = await take_one(database, node)
    job = await row(database, job_id)
    assert (job["state"], job["node_id"], job["attempt"]) == ("running", node, 1)
    assert (attempt.job_id, attempt.number, attempt.claim_id) == (job_id, 1, job["claim_id"])
    assert (attempt.input, attempt.correlation_id, attempt.timeout_ms) == ('{"a":1}', "c", 5)
    assert attempt.started_at == job["started_at"] >= job["run_at"]


async def test_urgent_jobs_go_first_and_equals_in_the_order_they_are_due(
    database: Database,
) -> None:
    order = [NORMAL, LOW, CRITICAL, HIGH, NORMAL, CRITICAL]
    made = await submit(database, *(noop(priority=p) for p in order))
    node = await register(database)
    taken = [(await take_one(database, node)).job_id for _ in order]
    assert taken == [made[n] for n in (2, 5, 3, 0, 4, 1)]


async def test_a_batch_of_claims_is_filled_from_the_top(database: Database) -> None:
    made = await submit(database, *(noop(priority=n % 4) for n in range(8)))
    node = await register(database)
    taken = {attempt.job_id for attempt in await take(database, node, 5)}
    assert {made[n] for n in (3, 7, 2, 6)} < taken


async def test_low_jobs_get_on_although_high_ones_never_run_out(database: Database) -> None:
    low = await submit(database, *[noop(priority=LOW)] * 3)
    node = await register(database)
    frontier = Frontier()
    begun: list[UUID] = []
    for _ in range(3 * AGING_EVERY):
        await submit(database, *[noop(priority=HIGH)] * 2)
        await peek(database, frontier)
        begun += [attempt.job_id for attempt in await claim(database, node, frontier, 1)]
    assert len(begun) == 3 * AGING_EVERY
    assert [job_id for job_id in begun if job_id in low] == low


async def test_queues_of_one_level_take_turns(database: Database) -> None:
    await submit(database, *(noop(queue=name) for name in "abc" for _ in range(20)))
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    begun = [(await claim(database, node, frontier, 1))[0].queue for _ in range(18)]
    # Claims from the lowest priority on have turns of their own.
    assert min(begun.count(name) for name in "abc") >= 5


async def test_several_nodes_never_get_the_same_job(database: Database, database_url: str) -> None:
    made = await submit(database, *[noop()] * 300)
    async with several(database_url, 4) as databases:

        async def node_of(one: Database) -> list[UUID]:
            node = await register(one)
            mine: list[UUID] = []
            frontier = Frontier()
            await peek(one, frontier)
            while attempts := await claim(one, node, frontier, 7):
                mine += [attempt.job_id for attempt in attempts]
            return mine

        shares = await asyncio.gather(*(node_of(one) for one in databases))
    taken = [job_id for share in shares for job_id in share]
    assert sorted(taken) == sorted(set(taken)), "none twice"
    node = await register(database)
    taken += [attempt.job_id for attempt in await take(database, node)]
    assert sorted(taken) == made, "and none forgotten"


async def test_a_job_is_not_begun_before_it_is_due(database: Database) -> None:
    job_id = await submit_one(database, delay_seconds=3600.0)
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    assert await claim(database, node, frontier, 10) == []
    job = await row(database, job_id)
    assert frontier.next_due_at == job["run_at"]
    # Even a node that was told wrongly finds nothing.
    frontier.since[("default", NORMAL)] = job["created_at"] - timedelta(days=1)
    assert await claim(database, node, frontier, 10) == []
    await sql(database, "UPDATE windlass.job SET run_at = clock_timestamp()")
    job = await row(database, job_id)
    attempt = await take_one(database, node)
    assert attempt.started_at >= job["run_at"]


async def test_a_paused_queue_gives_nothing_until_it_is_resumed(database: Database) -> None:
    await submit(database, noop(), noop(queue="other"))
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    await pause_queue(database, "default")
    # Paused after the look: the claim itself decides.
    assert [a.queue for a in await claim(database, node, frontier, 10)] == ["other"]
    assert await take(database, node) == []
    await resume_queue(database, "default")
    assert len(await take(database, node)) == 1


async def test_a_job_past_its_deadline_is_not_begun(database: Database) -> None:
    job_id = await submit_one(database)
    await sql(database, "UPDATE windlass.job SET deadline = now() - interval '1 ms'")
    assert await take(database, await register(database)) == []
    assert await state(database, job_id) == "queued"


async def unknown(database: Database) -> UUID:
    return uuid4()


async def lapsed(database: Database) -> UUID:
    await lapse(database, node := await register(database))
    return node


async def draining(database: Database) -> UUID:
    node = await register(database)
    await database.run("node_set_state", node, "draining")
    return node


async def left(database: Database) -> UUID:
    node = await register(database)
    await database.run("node_set_state", node, "left")
    return node


@pytest.mark.parametrize("kind", [unknown, lapsed, draining, left])
async def test_a_node_without_the_right_to_work_gets_nothing(
    database: Database, kind: Callable[[Database], Awaitable[UUID]]
) -> None:
    await submit(database, noop(), noop(queue="narrow"), noop(queue="last"))
    await sql(database, "UPDATE windlass.queue SET max_running = 5 WHERE name = 'narrow'")
    await sql(database, "UPDATE windlass.job SET crashes = 2 WHERE queue = 'last'")
    node = await kind(database)
    frontier = Frontier()
    await peek(database, frontier)
    assert await claim(database, node, frontier, 10) == []
    assert await claim_solo(database, node) == []
    assert await value(database, "SELECT count(*) FROM windlass.job WHERE state = 'queued'") == 3


async def test_what_was_committed_late_is_found_by_the_next_look(database: Database) -> None:
    node = await register(database)
    frontier = Frontier()
    await submit(database, noop(), noop())
    await peek(database, frontier)
    await claim(database, node, frontier, 1)
    # A transaction that took an hour commits a job that was due when it began.
    late = await submit_one(database)
    await sql(
        database, "UPDATE windlass.job SET run_at = now() - interval '1 hour' WHERE id = $1", late
    )
    assert late not in {a.job_id for a in await claim(database, node, frontier, 10)}
    await peek(database, frontier)
    assert [a.job_id for a in await claim(database, node, frontier, 10)] == [late]


async def test_a_retry_is_a_new_attempt_under_a_new_fence(database: Database) -> None:
    await submit_one(database)
    node = await register(database)
    fences = set()
    for number in (1, 2, 3):
        attempt = await take_one(database, node)
        assert attempt.number == number
        fences.add(attempt.claim_id)
        await database.run(
            "job_requeue_many", [attempt.job_id], [number], [attempt.claim_id], ["failed"], [0.0],
            [None], [False], [node], [None],
        )  # fmt: skip
    assert len(fences) == 3


async def test_a_claim_that_is_broken_off_forgets_no_job(database: Database) -> None:
    made = await submit(database, *[noop()] * 20)
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    for turns in range(20):  # a little later each time
        task = asyncio.create_task(claim(database, node, frontier, 1))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    known = {one["id"] for one in await find_claimed(database, node, 0)}
    free = {attempt.job_id for attempt in await take(database, node)}
    assert sorted([*known, *free]) == made, "each is either free or known to be held"


async def test_an_empty_house_has_no_lines(database: Database) -> None:
    frontier = Frontier()
    await peek(database, frontier)
    assert (frontier.since, frontier.has_solo, frontier.next_due_at) == ({}, False, None)
    assert await claim(database, await register(database), frontier, 10) == []
