"""Limits on what runs: exact in the whole cluster, decided inside the claim."""

from __future__ import annotations

import asyncio
import random

from tests.engine.executions.flow import Flow
from tests.engine.executions.flow import noop as step
from tests.engine.hands import (
    end,
    lapse,
    noop,
    register,
    several,
    sql,
    submit,
    take,
    value,
)
from tests.engine.jobs.receivers import awaited
from windlass.engine.executions.workflows import publish
from windlass.engine.jobs.claim import Frontier, claim, claim_solo, peek
from windlass.engine.jobs.queues import QueueLimits, pause_queue, put_queue
from windlass.engine.jobs.rescue import recover
from windlass.limits import AGING_EVERY
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

LOW, NORMAL, HIGH, CRITICAL = range(4)
RUNNING = "SELECT count(*) FROM windlass.job WHERE state = 'running' AND queue = 'narrow'"


async def test_no_more_run_at_once_than_max_running(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=3))
    await submit(database, *[noop(queue="narrow")] * 10, noop())
    node = await register(database)
    attempts = await take(database, node)
    assert sorted(attempt.queue for attempt in attempts) == ["default", *["narrow"] * 3]
    assert await take(database, await register(database)) == []
    await end(database, node, [a for a in attempts if a.queue == "narrow"][:2])
    assert len(await take(database, node)) == 2


async def test_max_running_is_exact_with_four_nodes_claiming_at_once(
    database: Database, database_url: str
) -> None:
    chance = random.Random(seed := random.randrange(10**6))
    print("seed", seed)
    await put_queue(database, "narrow", QueueLimits(max_running=5))
    await submit(database, *[noop(queue="narrow", priority=n % 4) for n in range(120)])
    seen: list[int] = []

    async def work(one: Database) -> None:
        node = await register(one)
        while await value(one, "SELECT count(*) FROM windlass.job"):
            attempts = await take(one, node, chance.randint(1, 4))
            seen.append(await value(one, RUNNING))
            await end(one, node, attempts)

    async with several(database_url, 4) as databases:
        await asyncio.gather(*(work(one) for one in databases))
    assert max(seen) == 5
    assert await value(database, "SELECT count(*) FROM windlass.job_history") == 120


async def test_a_limit_of_nothing_runs_nothing(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=0))
    await submit(database, noop(queue="narrow"))
    assert await take(database, await register(database)) == []


async def test_a_limit_set_after_the_look_holds(database: Database) -> None:
    await submit(database, *[noop(queue="narrow")] * 3)
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    assert await claim(database, node, frontier, 10) == []
    assert len(await take(database, node)) == 1


async def test_a_limited_queue_can_be_paused(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=5))
    await submit(database, noop(queue="narrow"))
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    await pause_queue(database, "narrow")
    assert await claim(database, node, frontier, 10) == []


async def test_urgent_jobs_of_limited_queues_go_first_whatever_the_queues_are_called(
    database: Database,
) -> None:
    for name in "abc":
        await put_queue(database, name, QueueLimits(max_running=2))
    await submit(
        database,
        *[noop(queue="a", priority=LOW)] * 2,
        *[noop(queue="b", priority=CRITICAL)] * 3,
        noop(queue="c", priority=HIGH),
    )
    node = await register(database)
    taken = [await take(database, node, 1) for _ in range(4)]
    assert [one[0].queue for one in taken] == ["b", "b", "c", "a"]


async def test_low_jobs_of_limited_queues_get_on_beside_other_work(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1_000))
    low = await submit(database, *[noop(queue="narrow", priority=LOW)] * 2)
    node = await register(database)
    frontier = Frontier()
    begun = []
    for _ in range(2 * AGING_EVERY):
        await submit(database, *[noop(queue="narrow", priority=HIGH)] * 2, noop(), noop())
        await peek(database, frontier)
        begun += [a.job_id for a in await claim(database, node, frontier, 1)]
    assert [job_id for job_id in begun if job_id in low] == low


async def test_limited_and_other_queues_are_one_order(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=50))
    await submit(
        database,
        *[noop(queue="narrow", priority=LOW)] * 2,
        *[noop(queue="narrow", priority=HIGH)] * 2,
        noop(priority=CRITICAL),
        noop(priority=NORMAL),
    )
    node = await register(database)
    taken = [(await take(database, node, 1))[0] for _ in range(6)]
    order = [(attempt.queue, attempt.priority) for attempt in taken]
    high, low = [("narrow", HIGH)] * 2, [("narrow", LOW)] * 2
    assert order == [("default", CRITICAL), *high, ("default", NORMAL), *low]


async def test_one_claim_takes_from_both_sorts_of_queues(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=2))
    await submit(
        database,
        *[noop(queue="narrow", priority=HIGH)] * 3,
        *[noop(priority=CRITICAL)] * 2,
        *[noop(priority=LOW)] * 2,
    )
    taken = await take(database, await register(database), 5)
    assert [(attempt.queue, attempt.priority) for attempt in taken] == [
        *[("default", CRITICAL)] * 2,
        *[("narrow", HIGH)] * 2,
        ("default", LOW),
    ]


async def test_beside_a_limited_queue_others_of_its_level_take_turns(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1_000))
    await submit(database, *[noop(queue="narrow")] * 20, *[noop()] * 20)
    node, frontier = await register(database), Frontier()
    seen = []
    for _ in range(10):
        await peek(database, frontier)
        seen += [attempt.queue for attempt in await claim(database, node, frontier, 1)]
    assert seen.count("narrow") == seen.count("default") == 5


async def rate_of_a_queue(database: Database, rate: float, idle: str) -> None:
    """A queue whose bucket was last used so long ago."""
    await put_queue(database, "narrow", QueueLimits(rate=rate))
    await sql(database, f"UPDATE windlass.queue SET rate_free_at = now() - interval '{idle}'")


async def test_a_rate_lets_start_what_has_dripped_in(database: Database) -> None:
    await submit(database, *[noop(queue="narrow")] * 30)
    node = await register(database)
    await rate_of_a_queue(database, 10, "0.55 seconds")
    free_at = await value(database, "SELECT rate_free_at FROM windlass.queue WHERE name = 'narrow'")
    taken = await take(database, node)
    dripped = min(10 * (taken[0].started_at - free_at).total_seconds(), 10)
    assert 5 <= len(taken) <= dripped + 1
    await rate_of_a_queue(database, 10, "-1 hour")
    assert await take(database, node) == []
    await rate_of_a_queue(database, 10, "1 hour")
    before = await value(database, "SELECT clock_timestamp()")
    burst = await take(database, node)
    assert 10 <= len(burst) <= 11, "at most a second's worth at once, however long it was idle"
    if more := await take(database, node):
        since = (more[-1].started_at - before).total_seconds()
        assert len(more) <= 10 * since + 1


async def test_a_rate_below_one_a_second_lets_one_start_in_its_time(database: Database) -> None:
    await submit(database, *[noop(queue="narrow")] * 5)
    node = await register(database)
    await put_queue(database, "narrow", QueueLimits(rate=0.01))
    assert len(await take(database, node)) == 1
    assert await take(database, node) == []
    await sql(database, "UPDATE windlass.queue SET rate_free_at = rate_free_at - interval '50 s'")
    assert await take(database, node) == []
    await sql(database, "UPDATE windlass.queue SET rate_free_at = rate_free_at - interval '50 s'")
    assert len(await take(database, node)) == 1


async def test_another_rate_holds_from_its_change_on(database: Database) -> None:
    """What a start owes by a low rate, up to a quarter of an hour, is not owed by the next one."""
    await submit(database, *[noop(queue="narrow")] * 3)
    node = await register(database)
    await put_queue(database, "narrow", QueueLimits(rate=0.001))
    assert len(await take(database, node)) == 1
    owed = "SELECT rate_free_at > now() + interval '9 minutes' FROM windlass.queue WHERE name = $1"
    await put_queue(database, "narrow", QueueLimits(rate=0.001, max_jobs=100))
    assert await value(database, owed, "narrow"), "the rate is the same"
    assert await take(database, node) == []
    await put_queue(database, "narrow", QueueLimits(rate=100))
    await sql(database, "SELECT pg_sleep(0.1)")
    assert len(await take(database, node)) == 2


async def test_a_rate_holds_for_all_nodes_together(database: Database, database_url: str) -> None:
    await put_queue(database, "narrow", QueueLimits(rate=50))
    await submit(database, *[noop(queue="narrow")] * 200)

    count = 0

    async def work(one: Database) -> None:
        node = await register(one)
        nonlocal count
        async with asyncio.timeout(20):
            began = asyncio.get_running_loop().time()
            while count < 51 or asyncio.get_running_loop().time() - began < 0.5:
                taken = await take(one, node)
                count += len(taken)  # which others have raised meanwhile

    async with several(database_url, 4) as databases:
        began = await value(database, "SELECT clock_timestamp()")
        await asyncio.gather(*(work(one) for one in databases))
    ended = await value(
        database, "SELECT max(started_at) FROM windlass.job WHERE state = 'running'"
    )
    # A second's worth at once, and then as it drips in.
    assert count <= 52 + 50 * (ended - began).total_seconds()


async def suspects(database: Database, count: int, queue: str = "default") -> None:
    """Jobs that two nodes have died with."""
    await submit(database, *[noop(queue=queue)] * count)
    await sql(database, "UPDATE windlass.job SET crashes = 2 WHERE queue = $1", queue)


async def test_a_job_on_its_last_chance_is_claimed_alone(database: Database) -> None:
    await suspects(database, 2)
    await submit(database, *[noop(queue="healthy")] * 2)
    node = await register(database)
    frontier = Frontier()
    await peek(database, frontier)
    assert frontier.has_solo
    assert {a.queue for a in await claim(database, node, frontier, 10)} == {"healthy"}
    [first] = await claim_solo(database, node)
    [second] = await claim_solo(database, node)
    assert (first.crashes, second.crashes) == (2, 2)
    assert first.job_id < second.job_id, "the one that has been due for longer goes first"
    assert await claim_solo(database, node) == []


async def test_a_job_on_its_last_chance_keeps_to_the_limits_of_its_queue(
    database: Database,
) -> None:
    await suspects(database, 3, "narrow")
    node = await register(database)
    await pause_queue(database, "narrow")
    assert await claim_solo(database, node) == []
    await sql(database, "UPDATE windlass.queue SET is_paused = false")
    await sql(database, "UPDATE windlass.job SET deadline = now() - interval '1 s'")
    assert await claim_solo(database, node) == []
    await sql(database, "UPDATE windlass.job SET deadline = NULL, run_at = now() + interval '1 h'")
    assert await claim_solo(database, node) == []
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    assert len(await claim_solo(database, node)) == 1
    assert await claim_solo(database, node) == [], "one runs, and one may"


async def test_a_full_queue_does_not_hide_a_last_chance_behind_it(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    await suspects(database, 2, "narrow")
    await suspects(database, 1, "wide")
    node = await register(database)
    taken = [await claim_solo(database, node) for _ in range(3)]
    assert [[a.queue for a in one] for one in taken] == [["narrow"], ["wide"], []]


async def test_a_job_on_its_last_chance_keeps_to_the_rate_of_its_queue(database: Database) -> None:
    await suspects(database, 2, "narrow")
    await submit(database, noop(queue="narrow"))
    node = await register(database)
    await put_queue(database, "narrow", QueueLimits(rate=0.001))
    assert len(await claim_solo(database, node)) == 1
    assert await claim_solo(database, node) == [], "one has started, and the next drips in later"
    assert await take(database, node) == [], "it was counted for the others, too"
    await sql(database, "UPDATE windlass.queue SET rate_free_at = now() - interval '1 h'")
    assert len(await claim_solo(database, node)) == 1


async def test_steps_that_only_wait_take_no_part_of_max_running(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    child = {"name": "child", "steps": [step("inner")], "queue": "narrow"}
    await publish(database, trust_definition(child), by=None)
    flow = await Flow.start(
        database,
        [
            {"id": "go", "kind": "signal", "input": {"name": "go"}},
            {"id": "ok", "kind": "approval", "input": {"title": "May I?"}},
            {"id": "below", "kind": "workflow", "input": {"workflow": "child"}},
            {"id": "each", "kind": "map", "items": "${[1, 2]}", "step": {"kind": "noop"}},
            step("last"),
        ],
        queue="narrow",
    )
    await flow.run()
    states = await flow.states()
    assert states["each"] == states["last"] == "succeeded"
    assert await value(database, RUNNING) == 3, "the signal, the approval and the child's end"


async def test_a_delivery_that_is_completed_later_takes_no_part_of_max_running(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=1))
    await submit(database, *[noop(queue="narrow")] * 2)
    node = await register(database)
    [first] = await take(database, node)
    await end(database, node, first, awaited())
    assert len(await take(database, node)) == 1


async def test_what_lost_nodes_ran_counts_no_more_after_the_rescue(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_running=2))
    await submit(database, *[noop(queue="narrow")] * 4)
    lost, living = await register(database), await register(database)
    await take(database, lost)
    await lapse(database, lost)
    assert await take(database, living) == [], "they may still be running"
    await recover(database)
    assert len(await take(database, living)) == 2
