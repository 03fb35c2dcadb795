"""Rescue: what lost nodes held is run again, and what kills nodes is put away."""

from __future__ import annotations

import asyncio
import json
from uuid import UUID

import pytest

from tests.engine.hands import (
    counted,
    end,
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
    true_counts,
    value,
)
from windlass.engine.effects import Effects
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.claim import claim_solo
from windlass.engine.jobs.rescue import next_lapse_seconds, recover
from windlass.limits import CRASHES_MAX, CRASHES_SOLO
from windlass.model.job.outcome import Failed, Outcome, Snoozed, Succeeded
from windlass.store.database import Database


async def die_with(database: Database) -> UUID:
    """A node claims one job, whatever it takes to get it, and is never heard of again."""
    node = await register(database)
    taken = await take(database, node, 1) or await claim_solo(database, node)
    assert len(taken) == 1
    await lapse(database, node)
    return node


async def test_a_living_nodes_jobs_are_left_alone(database: Database) -> None:
    job_id = await submit_one(database)
    await take(database, await register(database))
    assert await recover(database) == Effects()
    assert await state(database, job_id) == "running"


async def test_a_lost_nodes_jobs_are_queued_again_and_the_crash_is_counted(
    database: Database,
) -> None:
    made = await submit(database, *[noop()] * 3)
    node = await register(database)
    attempts = await take(database, node)
    await lapse(database, node)
    done = await recover(database)
    assert {one["id"] for one in done.requeued} == set(made)
    for job_id in made:
        job = await row(database, job_id)
        assert (job["state"], job["attempt"], job["crashes"]) == ("queued", 1, 1)
        assert (job["node_id"], job["claim_id"]) == (None, None)
        [kept] = await database.read("attempt_list", [job_id])
        assert (kept["outcome"], kept["node_id"]) == ("lost", node)
    again = await take(database, await register(database))
    assert {attempt.number for attempt in again} == {2}, "at once: they have waited a whole lease"
    assert len(attempts) == len(again) == 3


async def test_a_lost_node_is_marked_and_cannot_come_back(database: Database) -> None:
    node = await register(database)
    await lapse(database, node)
    await recover(database)
    assert await value(database, "SELECT state FROM windlass.node") == "lost"
    assert await database.run("node_renew", node, 60.0, 0, 0, 0.0) == []
    await submit_one(database)
    assert await take(database, node) == []
    events = await sql(database, "SELECT type FROM windlass.event WHERE noun = 'node' ORDER BY at")
    assert [event["type"] for event in events] == ["joined", "lost"]


async def test_a_lapsed_lease_is_not_renewed_even_before_anybody_noticed(
    database: Database,
) -> None:
    node = await register(database)
    assert len(await database.run("node_renew", node, 60.0, 0, 0, 0.0)) == 1
    await lapse(database, node)
    assert await database.run("node_renew", node, 60.0, 0, 0, 0.0) == []


async def test_what_a_node_left_running_is_rescued_when_it_has_gone(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    await take(database, node)
    await database.run("node_set_state", node, "draining")
    assert await recover(database) == Effects(), "it may still finish"
    await database.run("node_set_state", node, "left")
    assert [one["id"] for one in (await recover(database)).requeued] == [job_id]


async def test_what_belongs_to_a_node_that_nobody_knows_is_rescued(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    await take(database, node)
    await sql(database, "DELETE FROM windlass.node")
    assert [one["id"] for one in (await recover(database)).requeued] == [job_id]


async def test_a_job_that_kills_its_nodes_is_dead_exactly_at_the_limit(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=50)
    for crash in range(1, CRASHES_MAX + 1):
        await die_with(database)
        done = await recover(database)
        assert (job_id in done.ended) == (crash == CRASHES_MAX)
    job = await row(database, job_id)
    assert (job["state"], job["cause"], job["outcome"]) == ("dead", "worker_died", "lost")
    assert job["attempt"] == CRASHES_MAX
    assert "died or was cut off" in json.loads(job["error"])["message"]


async def test_a_suspect_is_claimed_alone_before_it_is_given_up(database: Database) -> None:
    await submit_one(database, max_attempts=50)
    for _ in range(CRASHES_SOLO):
        await die_with(database)
        await recover(database)
    node = await register(database)
    assert await take(database, node) == []
    assert [attempt.crashes for attempt in await claim_solo(database, node)] == [CRASHES_SOLO]


async def test_a_crash_spends_no_try(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=2)
    await die_with(database)
    assert (await recover(database)).ended == {}
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("x", "y"))
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await die_with(database)
    assert (await recover(database)).ended == {}, "on its last try, which is still to come"
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    [last] = await claim_solo(database, node)
    assert (last.number, last.crashes, last.tries) == (4, 2, 2)
    settled = await end(database, node, last, Failed("x", "y"))
    assert settled.effects.ended == {job_id: "dead"}
    assert (await row(database, job_id))["cause"] == "x"


async def test_the_next_lease_to_lapse_is_known(database: Database) -> None:
    assert await next_lapse_seconds(database) is None
    await register(database, lease_seconds=600)
    soon = await register(database, lease_seconds=60)
    seconds = await next_lapse_seconds(database)
    assert seconds is not None
    assert 0 < seconds <= 60
    await lapse(database, soon)
    seconds = await next_lapse_seconds(database)
    assert seconds is not None
    assert seconds > 60, "what has lapsed is looked for in any case"


async def test_a_job_with_one_try_is_quarantined_at_the_limit_as_well(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=1)
    for crash in range(1, CRASHES_MAX + 1):
        await die_with(database)
        assert (job_id in (await recover(database)).ended) == (crash == CRASHES_MAX)


async def test_a_job_asked_to_stop_ends_cancelled_when_its_node_dies(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    await take(database, node)
    await cancel(database, [job_id])
    await lapse(database, node)
    done = await recover(database)
    assert (done.ended, done.requeued) == ({job_id: "cancelled"}, [])


async def test_rescuers_at_the_same_time_do_it_once(database: Database, database_url: str) -> None:
    made = await submit(database, *[noop()] * 60)
    nodes = [await register(database) for _ in range(3)]
    for node in nodes:
        assert len(await take(database, node, 20)) == 20
    await lapse(database, *nodes)
    async with several(database_url, 4) as databases:
        done = await asyncio.gather(*(recover(one) for one in databases))
    rescued = [one["id"] for effects in done for one in effects.requeued]
    assert sorted(rescued) == made
    assert await value(database, "SELECT array_agg(DISTINCT crashes) FROM windlass.job") == [1]
    assert len(await database.read("attempt_list", made)) == 60
    assert await counted(database) == await true_counts(database)


async def test_a_node_that_answers_while_it_is_rescued_wins_or_loses_as_a_whole(
    database: Database, database_url: str
) -> None:
    async with several(database_url, 2) as (frozen, rescuer):
        for _ in range(40):
            job_id = await submit_one(database)
            node = await register(database)
            attempt = await take_one(database, node)
            await lapse(database, node)
            said, done = await asyncio.gather(end(frozen, node, attempt), recover(rescuer))
            was_rescued = job_id in {one["id"] for one in done.requeued}
            assert (job_id in said.refused) == was_rescued
            assert await state(database, job_id) == ("queued" if was_rescued else "succeeded")
            await cancel(database, [job_id])


@pytest.mark.parametrize("crashes", [0, 2])
async def test_a_snooze_forgives_no_crash(database: Database, crashes: int) -> None:
    job_id = await submit_one(database)
    await sql(database, "UPDATE windlass.job SET crashes = $1", crashes)
    node = await register(database)
    attempts = await take(database, node) or await claim_solo(database, node)
    await end(database, node, attempts, Snoozed(0))
    assert (await row(database, job_id))["crashes"] == crashes
    attempts = await take(database, node) or await claim_solo(database, node)
    await end(database, node, attempts, Succeeded())
    assert await state(database, job_id) == "succeeded"


@pytest.mark.parametrize(
    ("outcome", "cause", "message"),
    [
        (None, "deadline", "the deadline passed before it could start"),
        (Failed("http 503", "busy"), "http 503", "busy"),
        (Snoozed(0), "deadline", "the deadline passed before it could start again"),
    ],
)
async def test_a_job_that_expires_keeps_the_error_of_the_attempt_that_failed(
    database: Database, outcome: Outcome | None, cause: str, message: str
) -> None:
    job_id = await submit_one(database, max_attempts=3)
    node = await register(database)
    if outcome is not None:
        await end(database, node, await take(database, node), outcome)
    await sql(database, "UPDATE windlass.job SET deadline = now() - interval '1 second'")
    assert (await recover(database)).ended == {job_id: "expired"}
    found = await row(database, job_id)
    error = json.loads(found["error"])
    assert (error["cause"], error["message"]) == (cause, message)
    assert found["cause"] == "deadline", "whatever went wrong before, this is why it ended"
    assert found["attempt"] == (outcome is not None)
