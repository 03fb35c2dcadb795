"""Many at once: submissions, ends, cancels and callers of the API around the same locks."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

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
    value,
)
from tests.engine.locking import WRONG, asks, nothing_left
from windlass.engine.cancel import cancel
from windlass.engine.lock_acquire import Held, LockCall, acquire, give_back, give_up
from windlass.engine.lock_look import look
from windlass.errors import LockLost
from windlass.store.database import Database

CAPACITY = {"a": 1, "b": 2, "c": 3, "d": 1}
ROUNDS = 60


class Crowd:
    def __init__(self, database: Database, node_id: UUID, chance: random.Random) -> None:
        self.database = database
        self.node_id = node_id
        self.chance = chance
        self.made: list[UUID] = []
        self.holds: list[Held] = []

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
        self.made += await submit(
            self.database,
            *(
                noop(locks=asks([(name, CAPACITY[name]) for name in self._some()]), priority=level)
                for level in self.chance.choices(range(4), k=3)
            ),
        )

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
        held, _ = await acquire(self.database, call)
        if held is None and call.wait_seconds:
            held, _ = await give_up(self.database, call)
        if held is not None:
            self.holds.append(held)

    async def give_back(self) -> None:
        if self.holds:
            held = self.holds.pop(self.chance.randrange(len(self.holds)))
            with contextlib.suppress(LockLost):  # its time may be up
                await give_back(self.database, held.name, held.token)

    def _some(self) -> list[str]:
        return self.chance.sample(sorted(CAPACITY), self.chance.choice((1, 1, 2, 3)))


async def test_whatever_happens_at_once_no_place_is_given_twice_and_nobody_is_forgotten(
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
            await look(database)
            await run_all(database)
    assert await sql(database, "SELECT id FROM windlass.job") == []
