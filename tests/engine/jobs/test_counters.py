"""Counters: their sum is the truth at every instant, whatever happens and whoever folds."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    lapse,
    noop,
    patiently,
    register,
    several,
    sql,
    states,
    submit,
    take,
    true_counts,
    value,
)
from windlass.clock import monotonic
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.claim import claim_solo, release
from windlass.engine.jobs.replay import delete, promote, replay
from windlass.engine.jobs.rescue import recover
from windlass.engine.jobs.retain import fold_counters
from windlass.errors import InvalidInput
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.model.job.outcome import (
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.store.database import Database

# Below the half minute that a statement may wait; what is slower than this is a busy machine.
SLACK_SECONDS = 20.0
OUTCOMES: list[Outcome] = [
    Succeeded(), Succeeded(), Succeeded(b'"ok"'), Failed("x", "x"), Failed("x", "x", is_final=True),
    TimedOut(1), Snoozed(0), Cancelled(), Crashed("x"),
]  # fmt: skip


class Walk:
    """One walker through all verbs. Several may walk the same database."""

    def __init__(self, database: Database, chance: random.Random) -> None:
        self.database, self.chance = database, chance
        self.made: list[UUID] = []
        self.node = UUID(int=0)
        self.held: list[Attempt] = []

    async def step(self) -> None:
        verbs = [self.submit, self.submit, self.claim, self.claim, self.finish, self.finish]
        verbs += [self.cancel, self.replay, self.promote, self.release, self.die, self.sweep]
        verbs += [self.delete]
        await self.chance.choice(verbs)()

    def some(self, most: int) -> list[UUID]:
        return self.chance.sample(self.made, min(len(self.made), self.chance.randint(1, most)))

    def draft(self, before: int) -> Draft:
        chance = self.chance
        return noop(
            queue=chance.choice("ab"),
            priority=chance.randrange(4),
            input='{"a":"' + "x" * chance.randrange(20) + '"}',
            key=f"key {chance.randrange(40)}" if chance.random() < 0.2 else None,
            delay_seconds=chance.choice([0, 0, 0, 60]),
            max_attempts=chance.choice([1, 2, 5]),
            retry='{"initial": 0}' if chance.random() < 0.8 else None,
            depends_on=tuple(self.some(2)) if self.made and chance.random() < 0.2 else (),
            depends_on_places=(chance.randrange(before),)
            if before and chance.random() < 0.3
            else (),
            on_parent_failure=chance.choice(("skip", "fail", "run")),
        )

    async def submit(self) -> None:
        drafts = [self.draft(before) for before in range(self.chance.randint(1, 5))]
        try:
            accepted = await door(self.database).submit_batch(drafts)
        except InvalidInput:
            return  # a parent has ended, or was deleted
        self.made += accepted.job_ids

    async def claim(self) -> None:
        if not self.node.int:
            self.node = await register(self.database)
        self.held += await take(self.database, self.node, self.chance.randint(1, 6))
        self.held += await claim_solo(self.database, self.node)

    async def finish(self) -> None:
        self.chance.shuffle(self.held)
        ends, self.held = self.held[:3], self.held[3:]
        if ends:
            await end(self.database, self.node, ends, self.chance.choice(OUTCOMES))

    async def cancel(self) -> None:
        await patiently(partial(cancel, self.database, self.some(3)))

    async def replay(self) -> None:
        await patiently(partial(replay, self.database, self.some(4)))

    async def promote(self) -> None:
        await patiently(partial(promote, self.database, self.some(4)))

    async def delete(self) -> None:
        await patiently(partial(delete, self.database, self.some(2)))

    async def release(self) -> None:
        back, self.held = self.held[:2], self.held[2:]
        await release(self.database, back)

    async def die(self) -> None:
        if self.node.int and self.chance.random() < 0.3:
            await lapse(self.database, self.node)
            self.node, self.held = UUID(int=0), []

    async def sweep(self) -> None:
        past = """UPDATE windlass.job SET deadline = now() WHERE id = $1 AND state <> 'running'"""
        for job_id in self.some(1):
            await sql(self.database, past, job_id)
        await recover(self.database)


async def run_out(database: Database) -> None:
    """Let everything end that can."""
    await sql(database, "UPDATE windlass.node SET lease_until = now()")
    await recover(database)
    node = await register(database)
    while True:
        waiting = await sql(database, "SELECT id FROM windlass.job WHERE state = 'queued'")
        await promote(database, [one["id"] for one in waiting])
        attempts = await take(database, node) + await claim_solo(database, node)
        if not attempts:
            return
        await end(database, node, attempts)


async def test_counters_are_true_after_every_step_of_a_random_walk(database: Database) -> None:
    print("seed", seed := random.randrange(10**6))
    walk = Walk(database, random.Random(seed))
    for _ in range(150):
        await walk.step()
        assert await counted(database) == await true_counts(database)
        if walk.chance.random() < 0.2:
            await fold_counters(database)
    await run_out(database)
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0, "everything has ended"
    assert await counted(database) == await true_counts(database)


async def test_counters_are_true_while_four_walk_and_two_fold(
    database: Database, database_url: str
) -> None:
    print("seed", seed := random.randrange(10**6))
    is_over = asyncio.Event()

    async def fold() -> None:
        while not is_over.is_set():
            await fold_counters(database)

    async with several(database_url, 4) as databases:
        walks = [Walk(one, random.Random(seed + n)) for n, one in enumerate(databases)]

        async def stroll(walk: Walk) -> None:
            for _ in range(80):
                await walk.step()
                # They touch each other's jobs too.
                walk.made += walk.chance.choice(walks).made[-3:]

        folding = [asyncio.create_task(fold()) for _ in range(2)]
        await asyncio.gather(*(stroll(walk) for walk in walks))
        is_over.set()
        await asyncio.gather(*folding)
    assert await counted(database) == await true_counts(database)
    await run_out(database)
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0, "none is stuck"
    assert await counted(database) == await true_counts(database)
    rows = await sql(database, "SELECT id FROM windlass.job_history")
    assert len(await states(database, [one["id"] for one in rows])) == len(rows)


async def test_folding_empties_the_deltas_and_changes_no_sum(database: Database) -> None:
    for queue in ("a", "b", "a"):
        await door(database).submit_batch([noop(queue=queue)] * 3)
    before = await counted(database)
    assert await fold_counters(database) > 0
    assert await counted(database) == before
    assert await value(database, "SELECT count(*) FROM windlass.counter_delta") == 0
    assert await fold_counters(database) == 0


@pytest.mark.parametrize("folders", [5])
async def test_several_that_fold_at_once_add_nothing_twice(
    database: Database, database_url: str, folders: int
) -> None:
    enqueuer = door(database)
    for n in range(60):
        await enqueuer.submit(noop(queue=f"q{n % 7}"))
    async with several(database_url, folders) as databases:
        await asyncio.gather(*(fold_counters(one) for one in databases))
    await fold_counters(database)  # what another one had in hand just then
    assert await value(database, "SELECT count(*) FROM windlass.counter_delta") == 0
    assert await counted(database) == await true_counts(database)


async def test_what_is_rolled_back_is_not_counted(database: Database) -> None:
    async with database.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("""SELECT windlass.enqueue('{"kind": "noop"}')""")
        await transaction.rollback()
    assert await counted(database) == {}


async def test_a_counter_that_somebody_holds_keeps_no_other_from_being_folded(
    database: Database,
) -> None:
    await submit(database, noop(queue="held"), noop(queue="free"))
    await fold_counters(database)
    await submit(database, noop(queue="held"), noop(queue="free"))
    deltas = "SELECT queue FROM windlass.counter_delta"
    user: Any = await asyncpg.connect(database.url)
    try:
        await user.execute("BEGIN")
        await user.execute("SELECT FROM windlass.counter WHERE queue = 'held' FOR UPDATE")
        begun = monotonic()
        assert await fold_counters(database) == 1
        assert monotonic() - begun < SLACK_SECONDS
        assert [row["queue"] for row in await sql(database, deltas)] == ["held"]
        assert await counted(database) == await true_counts(database)
    finally:
        await user.close(timeout=5)
    assert await fold_counters(database) == 1
    assert await counted(database) == await true_counts(database)
