"""Replay, promote and delete: the only ways out of an end, and a nudge for those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

import pytest

from tests.engine.hands import (
    counted,
    end,
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
from windlass.engine.executions.replay_steps import SeenEnd
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.history import database_now
from windlass.engine.jobs.replay import DeadFilter, delete, promote, replay, select_dead
from windlass.engine.jobs.rescue import recover
from windlass.model.job.outcome import Cancelled, Failed, Succeeded
from windlass.store.database import Database, Record

DIE = Failed("x", "no", is_final=True)


async def dead(database: Database, **fields: object) -> UUID:
    job_id = await submit_one(database, **fields)
    node = await register(database)
    await end(database, node, await take_one(database, node), DIE)
    return job_id


async def test_a_dead_job_is_queued_again_with_all_its_tries(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=2, retry='{"max_attempts": 2, "initial": 0}')
    node = await register(database)
    for _ in range(2):
        await end(database, node, await take_one(database, node), Failed("x", "x"))
    [back] = await replay(database, [job_id])
    assert (back["id"], back["queue"]) == (job_id, "default")
    job = await row(database, job_id)
    assert (job["state"], job["attempt"], job["replays"], job["crashes"]) == ("queued", 2, 1, 0)
    numbers = []
    for _ in range(2):
        attempt = await take_one(database, node)
        numbers.append((attempt.number, attempt.tries))
        await end(database, node, attempt, Failed("x", "x"))
    assert numbers == [(3, 1), (4, 2)], "the fence goes on, the tries begin anew"
    assert await state(database, job_id) == "dead"


async def test_what_happened_before_stays_on_record(database: Database) -> None:
    job_id = await dead(database, key="k", tags=("t",), correlation_id="c")
    ended = await row(database, job_id)
    await replay(database, [job_id])
    job = await row(database, job_id)
    for name in ("key", "tags", "correlation_id", "created_at", "input", "kind", "priority"):
        assert job[name] == ended[name]
    [kept] = await database.read("attempt_list", [job_id])
    assert (kept["outcome"], kept["claim_id"]) == ("failed", ended["claim_id"])
    assert (kept["ended_at"], kept["next_run_at"]) == (ended["finished_at"], None)
    events = await database.read("event_of_jobs", [job_id])
    assert [event["type"] for event in events] == ["finished", "replayed"]
    assert events[0]["at"] == ended["finished_at"]


@pytest.mark.parametrize("how", ["succeeded", "cancelled", "expired", "skipped", "cancelled early"])
async def test_every_end_can_be_replayed(database: Database, how: str) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    match how:
        case "succeeded":
            await end(database, node, await take_one(database, node), Succeeded(b"1"))
        case "cancelled":
            await end(database, node, await take_one(database, node), Cancelled())
        case "cancelled early":
            await cancel(database, [job_id])
        case "expired":
            await sql(database, "UPDATE windlass.job SET deadline = now()")
            await recover(database)
        case _:
            parent = job_id
            job_id = await submit_one(database, depends_on=(parent,))
            await cancel(database, [parent])
    assert await state(database, job_id) == how.split(maxsplit=1)[0]
    await replay(database, [job_id])
    attempt = await take_one(database, node)
    assert (attempt.job_id, attempt.tries) == (job_id, 1)
    await end(database, node, attempt, Succeeded(b"2"))
    job = await row(database, job_id)
    assert (job["state"], job["result"], job["cancel_requested_at"]) == ("succeeded", "2", None)
    assert await counted(database) == await true_counts(database)


async def test_the_answer_of_the_life_before_is_powerless(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    old = await take_one(database, node)
    await end(database, node, old, DIE)
    await replay(database, [job_id])
    assert (await end(database, node, old, Succeeded())).refused == {job_id}
    new = await take_one(database, node)
    assert (await end(database, node, old, Succeeded())).refused == {job_id}
    assert (new.number, await state(database, job_id)) == (2, "running")


async def test_replaying_what_has_not_ended_changes_nothing(database: Database) -> None:
    made = await submit(database, noop(), noop(depends_on_places=(0,)), noop(priority=3))
    await take(database, await register(database), 1)
    before = [await row(database, job_id) for job_id in made]
    assert await replay(database, made) == []
    assert [await row(database, job_id) for job_id in made] == before


async def test_a_replay_by_many_at_once_happens_once(database: Database, database_url: str) -> None:
    made = await submit(database, *[noop()] * 20)
    node = await register(database)
    await end(database, node, await take(database, node), DIE)
    async with several(database_url, 4) as databases:
        done = await asyncio.gather(
            *(patiently(partial(replay, databases[n % 4], made)) for n in range(8))
        )
    back = [one["id"] for rows in done for one in rows]
    assert sorted(back) == made
    assert await value(database, "SELECT array_agg(DISTINCT replays) FROM windlass.job") == [1]
    assert await states(database, made) == ["queued"] * 20
    assert await counted(database) == await true_counts(database)


@pytest.mark.parametrize("verb", [replay, delete])
async def test_who_comes_for_a_death_leaves_the_next_one_alone(
    database: Database, verb: Callable[..., Awaitable[list[Record]]]
) -> None:
    """Two replay at once, and what the first brought back dies again before the second comes."""
    job_id = await submit_one(database)
    node = await register(database)
    await end(database, node, await take(database, node), DIE)
    seen = SeenEnd(state="dead", by=await database_now(database))
    assert len(await replay(database, [job_id], seen=seen)) == 1
    await end(database, node, await take(database, node), DIE)
    assert await verb(database, [job_id], seen=seen) == []
    assert await state(database, job_id) == "dead"
    seen = SeenEnd(state="dead", by=await database_now(database))
    assert len(await verb(database, [job_id], seen=seen)) == 1


async def test_replay_cancel_and_delete_at_once_leave_each_job_in_one_table(
    database: Database, database_url: str
) -> None:
    made = await submit(database, *[noop()] * 40)
    node = await register(database)
    await end(database, node, await take(database, node), DIE)
    async with several(database_url, 3) as (one, two, three):
        for n in range(0, 40, 4):
            few = made[n : n + 4]
            await asyncio.gather(
                patiently(partial(replay, one, few)),
                patiently(partial(delete, two, few)),
                patiently(partial(cancel, three, few)),
            )
    rows = await database.read("job_get_many", made)
    assert len(rows) == len({found["id"] for found in rows}), "nowhere or in one table"
    assert {found["state"] for found in rows} <= {"queued", "cancelled", "dead"}
    assert await counted(database) == await true_counts(database)


async def test_a_replayed_parent_does_not_disturb_its_children(database: Database) -> None:
    parent, child = await submit(database, noop(), noop(depends_on_places=(0,)))
    node = await register(database)
    await end(database, node, await take_one(database, node), DIE)
    assert await state(database, child) == "skipped"
    await replay(database, [parent])
    await end(database, node, await take_one(database, node))
    assert await states(database, [parent, child]) == ["succeeded", "skipped"]
    await replay(database, [child])
    assert (await take_one(database, node)).job_id == child


async def test_a_replayed_job_may_have_children_again(database: Database) -> None:
    parent = await dead(database)
    await replay(database, [parent])
    child = await submit_one(database, depends_on=(parent,))
    assert await state(database, child) == "blocked"
    node = await register(database)
    await end(database, node, await take_one(database, node))
    assert await state(database, child) == "queued"


async def test_promoting_makes_a_delayed_job_due_now_and_nothing_else(database: Database) -> None:
    later, now, blocked, retry = await submit(
        database,
        noop(delay_seconds=3600),
        noop(priority=0),
        noop(depends_on_places=(0,), delay_seconds=60),
        noop(priority=3),
    )
    node = await register(database)
    await end(database, node, await take(database, node, 1), Failed("x", "x"))
    promoted = {one["id"] for one in await promote(database, [later, now, blocked, retry])}
    assert promoted == {later, retry}
    assert await promote(database, [later]) == []
    assert {attempt.job_id for attempt in await take(database, node)} == {later, now, retry}
    [event] = await database.read("event_of_jobs", [later])
    assert event["type"] == "promoted"


async def test_deleting_forgets_a_finished_job_and_all_about_it(database: Database) -> None:
    job_id = await submit_one(database, key="k", retry='{"max_attempts": 5, "initial": 0}')
    waiting = await submit_one(database, delay_seconds=60)
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("x", "x"))
    await end(database, node, await take_one(database, node), DIE)
    await replay(database, [job_id])
    await end(database, node, await take_one(database, node))
    assert [one["id"] for one in await delete(database, [job_id, waiting])] == [job_id]
    assert await database.read("job_get_many", [job_id]) == []
    for table in ("attempt", "event"):
        left = f"SELECT count(*) FROM windlass.{table} WHERE job_id = $1"
        assert await value(database, left, job_id) == 0
    assert await value(database, "SELECT count(*) FROM windlass.job_key") == 0
    assert await state(database, waiting) == "queued"
    assert await counted(database) == await true_counts(database)


async def test_dead_letters_are_chosen_by_what_they_are(database: Database) -> None:
    plain = await dead(database)
    tagged = await dead(database, queue="mail", tags=("a", "b"))
    for which, expected in [
        (DeadFilter(), [plain, tagged]),
        (DeadFilter(queue="mail"), [tagged]),
        (DeadFilter(tag="b"), [tagged]),
        (DeadFilter(cause="x", kind="noop"), [plain, tagged]),
        (DeadFilter(cause="y"), []),
        (DeadFilter(kind="http"), []),
    ]:
        assert await select_dead(database, which) == expected
    ended = (await row(database, tagged))["finished_at"]
    assert await select_dead(database, DeadFilter(finished_after=ended)) == [tagged]
    assert await select_dead(database, DeadFilter(finished_before=ended)) == [plain]
