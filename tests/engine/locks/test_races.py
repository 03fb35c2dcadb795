"""Many at once: submissions, ends, cancels and callers of the API around the same locks."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import (
    end,
    noop,
    patiently,
    register,
    run_all,
    several,
    sql,
    submit,
    take,
    until_sql,
    value,
)
from tests.engine.locks.locking import WRONG, asks, nothing_left
from windlass.engine.jobs.cancel import cancel
from windlass.engine.locks.acquire import LockCall, LockHold, acquire, give_back, give_up
from windlass.engine.locks.grant import grant_due
from windlass.errors import LockLost
from windlass.store.database import Database, RowLocked
from windlass.store.statements import statement

CAPACITY = {"a": 1, "b": 2, "c": 3, "d": 1}
ROUNDS = 60


class Crowd:
    def __init__(self, database: Database, node_id: UUID, chance: random.Random) -> None:
        self.database = database
        self.node_id = node_id
        self.chance = chance
        self.made: list[UUID] = []
        self.holds: list[LockHold] = []

    async def live(self) -> None:
        deeds: list[Callable[[], Awaitable[object]]] = [
            self.submit,
            self.submit,
            self.end,
            self.end,
            self.cancel,
            self.call,
            self.give_back,
        ]
        for _ in range(ROUNDS):
            await self.chance.choice(deeds)()

    async def submit(self) -> None:
        drafts = [
            noop(locks=asks([(name, CAPACITY[name]) for name in self._some()]), priority=level)
            for level in self.chance.choices(range(4), k=3)
        ]
        self.made += await patiently(partial(submit, self.database, *drafts))

    async def end(self) -> None:
        if attempts := await take(self.database, self.node_id, 4):
            await end(self.database, self.node_id, attempts)

    async def cancel(self) -> None:
        if self.made:
            few = self.chance.choices(self.made, k=2)
            await patiently(lambda: cancel(self.database, few))

    async def call(self) -> None:
        name = self.chance.choice(sorted(CAPACITY))
        call = LockCall(
            name=name,
            ticket=uuid4(),
            ttl_seconds=60,
            wait_seconds=self.chance.choice((0.0, 30.0)),
            capacity=CAPACITY[name],
        )
        held, _ = await patiently(lambda: acquire(self.database, call))
        if held is None and call.wait_seconds:
            held, _ = await patiently(lambda: give_up(self.database, call))
        if held is not None:
            self.holds.append(held)

    async def give_back(self) -> None:
        if self.holds:
            held = self.holds.pop(self.chance.randrange(len(self.holds)))
            with contextlib.suppress(LockLost):  # its time may be up
                await patiently(lambda: give_back(self.database, held.name, held.token))

    def _some(self) -> list[str]:
        return self.chance.sample(sorted(CAPACITY), self.chance.choice((1, 1, 2, 3)))


def call_for(name: str) -> LockCall:
    return LockCall(name=name, ticket=uuid4(), ttl_seconds=60)


async def test_a_hold_that_is_granted_while_a_call_reads_is_not_granted_again(
    database: Database,
) -> None:
    """Held still between what a call has read and the row that it then locks."""
    first, second = call_for("a"), call_for("a")
    made, _ = await acquire(database, call_for("a"))
    assert made is not None
    await give_back(database, "a", made.token)
    whole = statement("lock_take")
    slow = whole.replace(
        "WHERE l.name = $1 FOR NO KEY UPDATE",
        "WHERE l.name = $1 AND pg_advisory_xact_lock(7)::text = '' FOR NO KEY UPDATE",
    )
    assert slow != whole
    async with database.side() as reader, database.side() as gate:
        await gate.execute("SELECT pg_advisory_lock(7)")
        reading = asyncio.create_task(reader.fetch(slow, "a", first.ticket, None, 60.0))
        waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        await until_sql(database, waits)
        held, _ = await acquire(database, second)
        assert held is not None
        await gate.execute("SELECT pg_advisory_unlock(7)")
        assert await reading == [], "it goes the long way"
    assert await value(database, WRONG) == 0
    assert (await acquire(database, first))[0] is None
    await give_back(database, "a", held.token)
    assert (await acquire(database, first))[0] is not None


async def test_callers_who_meet_nobody_leave_no_waiter(database: Database) -> None:
    """Rows that are gone are read over by everybody for as long as any transaction is open."""
    made, _ = await acquire(database, call_for("a"))
    assert made is not None
    await give_back(database, "a", made.token)
    async with nobody_waiting(database):
        for _ in range(3):
            held, passed = await acquire(database, call_for("a"))
            assert held is not None
            assert passed.look_seconds == 60, "somebody looks when its time is up"
            await give_back(database, "a", held.token)
            with pytest.raises(LockLost):
                await give_back(database, "a", held.token)
    assert await nothing_left(database)


async def test_who_gives_back_what_somebody_holds_is_told_and_keeps_nobody_from_other_locks(
    database: Database,
) -> None:
    """The row of the hold, and not the lock's own: it is met only after that one was to be had."""
    made = [(await acquire(database, call_for(name)))[0] for name in ("a", "b")]
    async with database.side() as user, user.transaction():
        await user.execute("SELECT FROM windlass.lock_hold FOR UPDATE")
        giving = [
            asyncio.create_task(give_back(database, held.name, held.token))
            for held in made
            if held is not None
        ]
        assert (await acquire(database, call_for("c")))[0] is not None
        told = await asyncio.gather(*giving, return_exceptions=True)
    assert [type(one) for one in told] == [RowLocked, RowLocked], "after seconds, not after thirty"


async def test_a_call_that_comes_twice_at_once_has_one_hold_and_does_not_wait(
    database: Database, database_url: str
) -> None:
    """To two nodes, with one key: a ticket beside the hold would be granted, and nobody know."""
    async with several(database_url, 2) as nodes:
        for number in range(20):
            call = replace(call_for(f"new {number}"), wait_seconds=30.0)
            both = await asyncio.gather(*(patiently(partial(acquire, one, call)) for one in nodes))
            (first, _), (second, _) = both
            assert first is not None
            assert second is not None
            assert first.token == second.token
            assert await sql(database, "SELECT FROM windlass.lock_wait") == []
            await give_back(database, call.name, first.token)
            assert await nothing_left(database)


async def test_a_ticket_that_waits_beside_a_hold_is_no_trouble_to_others(
    database: Database,
) -> None:
    """As a node of the release before may leave it."""
    call = replace(call_for("a"), capacity=2)
    held, _ = await acquire(database, call)
    assert held is not None
    await sql(
        database,
        "INSERT INTO windlass.lock_wait (lock, waiter, ttl_seconds, priority, since, rank, until)"
        " VALUES ('a', $1, 60, 1, now(), now(), now() + interval '1 minute')",
        call.ticket,
    )
    other, _ = await acquire(database, call_for("a"))
    assert other is not None
    await give_back(database, "a", other.token)
    await give_back(database, "a", held.token)
    assert await nothing_left(database)


@contextlib.asynccontextmanager
async def nobody_waiting(database: Database) -> AsyncIterator[None]:
    """A database in which whoever comes to wait for a lock gets an error."""
    table = "ALTER TABLE windlass.lock_wait"
    await sql(database, f"{table} ADD CONSTRAINT nobody CHECK (false) NOT VALID")
    try:
        yield
    finally:
        await sql(database, f"{table} DROP CONSTRAINT nobody")


async def test_whatever_happens_at_once_nothing_is_granted_twice_and_nobody_is_forgotten(
    database: Database, database_url: str
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    node_id = await register(database)
    done = asyncio.Event()

    async def watch() -> int:
        looks = 0
        while not done.is_set():
            assert await value(database, WRONG) == 0
            looks += 1
        return looks

    async with several(database_url, 4) as databases:
        crowds = [
            Crowd(one, node_id, random.Random(seed + n)) for n, one in enumerate(databases * 2)
        ]
        async with asyncio.TaskGroup() as group:  # if one fails, none of the others lives on
            watching = group.create_task(watch())
            await asyncio.gather(*(group.create_task(crowd.live()) for crowd in crowds))
            done.set()
        assert watching.result() > 0
        for crowd in crowds:
            while crowd.holds:
                await crowd.give_back()
    await run_all(database)
    # What somebody had in hand just then is looked at a moment later.
    async with asyncio.timeout(10):
        while not await nothing_left(database):
            await grant_due(database)
            await run_all(database)
    assert await sql(database, "SELECT id FROM windlass.job") == []
