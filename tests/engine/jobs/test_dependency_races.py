"""Parents that end and children that come, all at the same time."""

from __future__ import annotations

import asyncio
from uuid import UUID

from tests.engine.hands import (
    door,
    end,
    noop,
    register,
    several,
    states,
    submit,
    value,
)
from tests.engine.jobs.family import after, no_links, take_all
from windlass.model.job.outcome import Failed
from windlass.store.database import Database

DIE = Failed("x", "no", is_final=True)


async def test_two_parents_that_end_at_the_same_time_do_not_forget_their_child(
    database: Database, database_url: str
) -> None:
    """Both might think that the other is still open."""
    rounds = 60
    drafts = [d for n in range(rounds) for d in (noop(), noop(), noop(**after(3 * n, 3 * n + 1)))]
    made = await submit(database, *drafts)
    node = await register(database)
    attempts = await take_all(database, node)
    async with several(database_url, 2) as (left, right):
        for n in range(0, len(made), 3):
            await asyncio.gather(
                end(left, node, attempts[made[n]]), end(right, node, attempts[made[n + 1]])
            )
    assert await states(database, made[2::3]) == ["queued"] * rounds
    assert await no_links(database)


async def test_families_that_are_woven_together_end_from_many_sides_at_once(
    database: Database, database_url: str
) -> None:
    """Every child has three parents among twelve that end in different commits."""
    children = [noop(**after(n % 12, (n * 5 + 1) % 12, (n * 7 + 2) % 12)) for n in range(60)]
    made = await submit(database, *[noop()] * 12, *children)
    node = await register(database)
    attempts = await take_all(database, node)
    async with several(database_url, 4) as databases:
        await asyncio.gather(*(end(databases[n % 4], node, attempts[made[n]]) for n in range(12)))
    assert await states(database, made[12:]) == ["queued"] * 60
    assert await value(database, "SELECT count(*) FROM windlass.dependency") == 0


async def test_a_child_that_is_submitted_while_its_parent_ends_is_not_forgotten(
    database: Database, database_url: str
) -> None:
    rounds = 200
    parents = await submit(database, *[noop()] * rounds)
    node = await register(database)
    attempts = await take_all(database, node)
    async with several(database_url, 2) as (left, right):
        enqueuer = door(left)

        async def race(n: int) -> UUID:
            submitting = asyncio.create_task(enqueuer.submit(noop(depends_on=(parents[n],))))
            if n % 2:
                await asyncio.sleep(0)  # each may be the first
            await end(right, node, attempts[parents[n]])
            return (await submitting).job_ids[0]

        children = []
        for start in range(0, rounds, 4):  # a few families at a time
            children += await asyncio.gather(*(race(n) for n in range(start, start + 4)))
    assert await states(database, parents) == ["succeeded"] * rounds
    assert await states(database, children) == ["queued"] * rounds
    assert await no_links(database)
