"""Unique keys inside a batch: whoever depends on a place waits for the job that is really there."""

from __future__ import annotations

import asyncio

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    noop,
    register,
    run_all,
    sql,
    state,
    states,
    submit,
    submit_one,
    take,
    until_sql,
    value,
)
from windlass.engine.jobs.cancel import cancel
from windlass.errors import InvalidInput
from windlass.model.job.outcome import Failed
from windlass.store.database import Connection, Database, Record


async def test_twins_in_one_batch_are_one_job(database: Database) -> None:
    made = await submit(database, noop(key="k"), noop(), noop(key="k"))
    assert made[0] == made[2] != made[1]
    assert await counted(database) == {"default": {"queued": 2, "bytes": 4}}


async def test_a_child_of_a_twin_waits_for_the_job_there_is(database: Database) -> None:
    first, twin, child = await submit(
        database, noop(key="k"), noop(key="k"), noop(depends_on_places=(0, 1))
    )
    assert first == twin
    assert await states(database, [first, child]) == ["queued", "blocked"]
    await run_all(database)
    assert await states(database, [first, child]) == ["succeeded", "succeeded"]


async def test_a_child_in_a_batch_waits_for_the_earlier_job_that_has_its_parents_key(
    database: Database,
) -> None:
    earlier = await submit_one(database, key="k")
    parent, child = await submit(database, noop(key="k"), noop(depends_on_places=(0,)))
    assert parent == earlier
    assert await states(database, [parent, child]) == ["queued", "blocked"]
    await run_all(database)
    assert await states(database, [parent, child]) == ["succeeded", "succeeded"]


async def test_a_child_in_a_batch_does_not_wait_for_a_holder_that_has_ended(
    database: Database,
) -> None:
    earlier = await submit_one(database, key="k")
    await run_all(database)
    parent, child = await submit(database, noop(key="k"), noop(depends_on_places=(0,)))
    assert parent == earlier
    assert await state(database, child) == "queued"
    assert await value(database, "SELECT depends_on FROM windlass.job") == [parent]


async def test_a_child_of_a_holder_that_has_failed_is_judged_by_its_policy(
    database: Database,
) -> None:
    await submit_one(database, key="k", max_attempts=1)
    node = await register(database)
    await end(database, node, await take(database, node), Failed("x", "x"))
    with pytest.raises(InvalidInput, match="has ended already as dead") as refused:
        await submit(database, noop(key="k"), noop(), noop(depends_on_places=(1, 0)))
    assert [p.pointer for p in refused.value.problems] == ["/jobs/2/depends_on"]
    assert (await counted(database)) == {"default": {"dead": 1}}, "all or nothing"
    _, child = await submit(
        database, noop(key="k"), noop(depends_on_places=(0,), on_parent_failure="run")
    )
    assert await state(database, child) == "queued"


async def test_a_batch_whose_twins_wait_for_each_other_is_refused(database: Database) -> None:
    for places in ((1,), (2,)):
        batch = [
            noop(key="k", depends_on_places=places),
            noop(key="k"),
            noop(depends_on_places=(1,)),
        ]
        with pytest.raises(InvalidInput, match="waits for itself"):
            await submit(database, *batch)
    assert await counted(database) == {}


async def test_a_submission_that_had_to_be_repeated_inside_answers_the_same(
    database: Database,
) -> None:
    """A collision rolls the transaction back and it is done again from the start."""
    holder = await submit_one(database, key="taken")
    await cancel(database, [holder])
    await submit_one(database, queue="slow", key="parent")
    [parent] = await sql(database, "SELECT id FROM windlass.job")

    async def hold(connection: Connection[Record], locked: asyncio.Event) -> None:
        await connection.execute("SET LOCAL deadlock_timeout = '10s'")
        await connection.execute("INSERT INTO windlass.job_key VALUES ('later', gen_random_uuid())")
        locked.set()
        # The submission holds the parent and waits for the key; we close the circle.
        await until_sql(database, "SELECT count(*) FROM pg_locks WHERE NOT granted")
        await connection.execute("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", parent["id"])
        raise LookupError("we give way after all")

    locked = asyncio.Event()
    holding = asyncio.create_task(database.together(lambda c: hold(c, locked)))
    await locked.wait()
    batch = [noop(key="taken"), noop(key="later", depends_on=(parent["id"],))]
    answer = await door(database).submit_batch(batch)
    with pytest.raises(LookupError):
        await holding
    assert answer.job_ids[0] == holder
    assert answer.existing == {holder}
    assert await states(database, [holder, answer.job_ids[1]]) == ["cancelled", "blocked"]
