"""Parents with more children than one transaction tells, and rows that somebody else holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import (
    end,
    lapse,
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
    until_sql,
    value,
)
from tests.engine.jobs.family import no_links, take_all
from windlass.engine.doctor.links import check_links
from windlass.engine.effects import Effects
from windlass.engine.isolated_round import ItemBackoff
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.notify_children import notify_children
from windlass.engine.jobs.replay import replay
from windlass.engine.jobs.rescue import recover
from windlass.limits import CHILDREN_TOLD_MAX
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.store.database import Database, RowLocked
from windlass.store.statements import statement

MANY = 2 * CHILDREN_TOLD_MAX + 500
DIE = Failed("x", "no", is_final=True)
BLOCKED = "SELECT count(*) FROM windlass.job WHERE state = 'blocked'"


async def bear(database: Database, parent: UUID, count: int, *others: UUID) -> None:
    """Children of a parent, by the shortest way."""
    await sql(
        database,
        """
        WITH born AS (
            INSERT INTO windlass.job (id, kind, queue, state, waits_for, was_blocked, run_at,
                created_at, depends_on, attempt, max_attempts, priority, input)
            SELECT gen_random_uuid(), 'noop', 'default', 'blocked', cardinality($1::uuid[]), true,
                   now(), now(), $1, 0, 1, 1, '{}'
            FROM generate_series(1, $2) RETURNING id
        ), marked AS (UPDATE windlass.job SET has_children = true WHERE id = ANY ($1))
        INSERT INTO windlass.dependency SELECT parent, born.id FROM born, unnest($1) AS parent
        """,
        [parent, *others],
        count,
    )


async def chain(database: Database, length: int) -> list[UUID]:
    """Jobs each of which waits for the one before."""
    made = [await submit_one(database), *(uuid4() for _ in range(length - 1))]
    await sql(
        database,
        """
        WITH born AS (
            INSERT INTO windlass.job (id, kind, queue, state, waits_for, was_blocked, has_children,
                run_at, created_at, depends_on, attempt, max_attempts, priority, input)
            SELECT child, 'noop', 'default', 'blocked', 1, true, true, now(), now(), ARRAY[parent],
                   0, 1, 1, '{}'
            FROM unnest($1::uuid[], $2::uuid[]) AS g(parent, child)
        ), marked AS (UPDATE windlass.job SET has_children = true WHERE id = ANY ($1))
        INSERT INTO windlass.dependency SELECT * FROM unnest($1, $2)
        """,
        made[:-1],
        made[1:],
    )
    return made


async def notify(database: Database) -> Effects:
    """One round, as any node may do it."""
    effects = Effects()
    await notify_children(database, ItemBackoff(), effects.add)
    return effects


@asynccontextmanager
async def held(database: Database, *job_ids: UUID) -> AsyncIterator[None]:
    async with database.side() as holder, holder.transaction():
        query = "SELECT FROM windlass.job WHERE id = ANY ($1) FOR UPDATE"
        await holder.fetch(query, list(job_ids))
        yield


@pytest.mark.parametrize(("outcome", "then"), [(Succeeded(), "queued"), (DIE, "skipped")])
async def test_a_parent_of_very_many_ends_at_once_and_its_children_are_told_in_chunks(
    database: Database, outcome: Outcome, then: str
) -> None:
    parent = await submit_one(database)
    node = await register(database)
    attempts = await take_all(database, node)
    await bear(database, parent, MANY)
    settled = await end(database, node, attempts[parent], outcome)
    assert await state(database, parent) == ("succeeded" if then == "queued" else "dead")
    assert settled.effects.unnotified_parents == {parent}
    assert await value(database, BLOCKED) == MANY - CHILDREN_TOLD_MAX
    assert await check_links(database, repair=True) == [], "nothing is out of order meanwhile"
    told = await notify(database)
    assert len(told.due) + len(told.ended) == CHILDREN_TOLD_MAX
    assert await value(database, BLOCKED) == MANY - 2 * CHILDREN_TOLD_MAX
    # Its node dies here; another one finds what is left.
    async with several(database.url, 1) as (other,):
        told = await notify(other)
        assert len(told.due) + len(told.ended) == MANY - 2 * CHILDREN_TOLD_MAX
        assert not await notify_children(other, ItemBackoff(), Effects().add)
    every = "SELECT state FROM windlass.job UNION ALL SELECT state FROM windlass.job_history"
    counted = await sql(database, f"SELECT state, count(*) AS n FROM ({every}) _ GROUP BY state")
    assert {one["state"]: one["n"] for one in counted}[then] == MANY
    assert await no_links(database)
    assert await sql(database, "SELECT FROM windlass.parent_end") == []


async def test_a_child_that_was_not_told_yet_waits_whatever_its_other_parents_do(
    database: Database,
) -> None:
    first, second = await submit(database, noop(), noop())
    node = await register(database)
    attempts = await take_all(database, node)
    await bear(database, first, CHILDREN_TOLD_MAX + 300, second)
    await end(database, node, attempts[first])
    await end(database, node, attempts[second])
    ready = "SELECT count(*) FROM windlass.job WHERE state = 'queued'"
    untold = "SELECT count(*) FROM windlass.dependency WHERE parent_id = ANY ($1)"
    while links := await value(database, untold, [first, second]):
        blocked = "SELECT count(*) FROM windlass.job WHERE state = 'queued' AND waits_for > 0"
        assert await value(database, blocked) == 0
        assert await value(database, ready) <= CHILDREN_TOLD_MAX + 300 - links // 2
        await notify(database)
    assert await value(database, ready) == CHILDREN_TOLD_MAX + 300


async def test_children_that_were_not_told_of_an_end_that_is_taken_back_wait_for_the_next_one(
    database: Database,
) -> None:
    parent = await submit_one(database)
    node = await register(database)
    attempts = await take_all(database, node)
    await bear(database, parent, MANY)
    await end(database, node, attempts[parent], DIE)
    assert len(await replay(database, [parent])) == 1
    late = await submit_one(database, depends_on=(parent,))
    assert (await notify(database)).ended == {}, "it has not ended any more"
    assert await state(database, late) == "blocked"
    assert await check_links(database, repair=False) == []
    attempts = await take_all(database, node)
    await end(database, node, attempts[parent])
    while (await notify(database)).due:
        pass
    every = "SELECT state FROM windlass.job UNION ALL SELECT state FROM windlass.job_history"
    counted = await sql(database, f"SELECT state, count(*) AS n FROM ({every}) _ GROUP BY state")
    assert {one["state"]: one["n"] for one in counted} == {
        "succeeded": 1,
        "skipped": CHILDREN_TOLD_MAX,  # these were told before
        "queued": MANY - CHILDREN_TOLD_MAX + 1,
    }
    assert await no_links(database)
    assert await sql(database, "SELECT FROM windlass.parent_end") == []


async def test_a_long_chain_falls_in_few_transactions(database: Database) -> None:
    made = await chain(database, CHILDREN_TOLD_MAX + 1_000)
    cancelled = await cancel(database, made[:1])
    assert len(cancelled.ended) >= CHILDREN_TOLD_MAX, "a level is no round trip"
    assert cancelled.unnotified_parents
    told = await notify(database)
    assert len(cancelled.ended) + len(told.ended) == len(made)
    assert set(await states(database, made)) == {"cancelled", "skipped"}
    assert await no_links(database)


async def test_a_child_that_somebody_holds_is_told_later_and_the_others_now(
    database: Database,
) -> None:
    parent = await submit_one(database)
    node = await register(database)
    attempts = await take_all(database, node)
    await bear(database, parent, CHILDREN_TOLD_MAX + 40)
    await end(database, node, attempts[parent])
    [child, *_] = await sql(database, "SELECT id FROM windlass.job WHERE state = 'blocked'")
    async with held(database, child["id"]):
        await notify(database)
        assert await value(database, BLOCKED) == 1
    await notify(database)
    assert await state(database, child["id"]) == "queued"
    assert await sql(database, "SELECT FROM windlass.parent_end") == []


async def test_a_child_of_one_that_falls_later_is_told_although_somebody_held_it_then(
    database: Database,
) -> None:
    parent = await submit_one(database)
    node = await register(database)
    attempts = await take_all(database, node)
    await bear(database, parent, CHILDREN_TOLD_MAX + 40)
    await end(database, node, attempts[parent], DIE)
    fallen = await value(database, "SELECT id FROM windlass.job WHERE state = 'blocked' LIMIT 1")
    runs = await submit_one(database, depends_on=(fallen,), on_parent_failure="run")
    async with held(database, runs):
        await notify(database)
        assert await states(database, [fallen, runs]) == ["skipped", "blocked"]
        assert await check_links(database, repair=False) == []
    told = await notify(database)
    assert [one["child_id"] for one in told.due] == [runs]
    assert await no_links(database)
    assert await sql(database, "SELECT FROM windlass.parent_end") == []


async def test_children_that_somebody_holds_keep_no_others_from_being_told(
    database: Database,
) -> None:
    theirs, ours = await submit(database, noop(), noop())
    node = await register(database)
    attempts = await take_all(database, node)
    for parent in (theirs, ours):
        await bear(database, parent, 2 * CHILDREN_TOLD_MAX + 100)
        await end(database, node, attempts[parent])
    links = "SELECT child_id FROM windlass.dependency WHERE parent_id = $1 ORDER BY 1 LIMIT $2"
    some = await sql(database, links, theirs, CHILDREN_TOLD_MAX + 50)
    async with held(database, *(link["child_id"] for link in some)):
        while (await notify(database)).due:
            pass
        left = await sql(database, "SELECT child_id FROM windlass.dependency")
        assert {link["child_id"] for link in left} == {link["child_id"] for link in some}
    await notify(database)
    await notify(database)
    assert await value(database, BLOCKED) == 0
    assert await sql(database, "SELECT FROM windlass.parent_end") == []


async def test_telling_a_child_and_dropping_it_never_wait_for_each_other(
    database: Database,
) -> None:
    """Each takes the job first and its link second: no circle, whoever comes first."""
    parent = await submit_one(database)
    await bear(database, parent, 1)
    child = await value(database, "SELECT id FROM windlass.job WHERE state = 'blocked'")
    lock = "SELECT FROM windlass.job WHERE id = $1 FOR UPDATE"
    async with database.side() as dropper, database.side() as teller:
        dropping, telling = dropper.transaction(), teller.transaction()
        await dropping.start()
        await telling.start()
        await dropper.fetch(lock, child)
        told = asyncio.create_task(
            teller.fetch(statement("child_advance"), [parent], ["succeeded"], 10, True)
        )
        await until_sql(
            database,
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE wait_event_type = 'Lock' AND datname = current_database()",
        )
        drop = [child], ["cancelled"], [None], [None]
        dropped = await dropper.fetch(statement("job_drop_many"), *drop)
        await dropping.commit()
        assert [one["id"] for one in dropped] == [child]
        assert await told == [], "it was not there any more"
        await telling.commit()
    assert await no_links(database)


async def test_to_cancel_many_nobody_waits_for_the_one_that_somebody_holds(
    database: Database,
) -> None:
    made = await submit(database, *[noop()] * 20)
    async with held(database, made[7]):
        with pytest.raises(RowLocked):
            await cancel(database, made)
        expected = ["queued" if job == made[7] else "cancelled" for job in made]
        assert await states(database, made) == expected
    assert (await cancel(database, made)).ended == {made[7]: "cancelled"}


@asynccontextmanager
async def refusing(database: Database, job_id: UUID) -> AsyncIterator[None]:
    """A database in which this one job cannot leave its table."""
    await sql(
        database,
        """
        CREATE FUNCTION pg_temp_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'not this one' USING ERRCODE = 'internal_error'; END $$;
        """,
    )
    await sql(
        database,
        f"""
        CREATE TRIGGER refuse BEFORE UPDATE OR DELETE ON windlass.job FOR EACH ROW
        WHEN (OLD.id = '{job_id}') EXECUTE FUNCTION pg_temp_refuse()
        """,
    )
    try:
        yield
    finally:
        await sql(database, "DROP TRIGGER refuse ON windlass.job")
        await sql(database, "DROP FUNCTION pg_temp_refuse()")


async def test_a_lost_job_that_cannot_be_rescued_keeps_no_other_lost(database: Database) -> None:
    made = await submit(database, *[noop()] * 9)
    node = await register(database)
    await take(database, node)
    await lapse(database, node)
    async with refusing(database, made[4]):
        await recover(database)
        expected = ["running" if job == made[4] else "queued" for job in made]
        assert await states(database, made) == expected
    await recover(database)
    assert await state(database, made[4]) == "queued"


async def test_a_job_that_cannot_expire_keeps_no_other_alive_and_no_node_lost(
    database: Database,
) -> None:
    late: dict[str, Any] = {"deadline": await value(database, "SELECT now() + interval '1 hour'")}
    made = await submit(database, *[noop(**late)] * 9)
    lost = await submit_one(database)
    node = await register(database)
    await sql(
        database, "UPDATE windlass.job SET run_at = now() + interval '2 hours' WHERE id <> $1", lost
    )
    assert len(await take(database, node)) == 1
    await lapse(database, node)
    past = "UPDATE windlass.job SET deadline = now() - interval '1 second' WHERE id = ANY ($1)"
    await sql(database, past, made)
    async with refusing(database, made[0]):
        await recover(database)
        expected = ["queued" if job == made[0] else "expired" for job in made]
        assert await states(database, made) == expected
        assert await state(database, lost) == "queued"
    await recover(database)
    assert (await row(database, made[0]))["state"] == "expired"
