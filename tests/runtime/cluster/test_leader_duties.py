"""The table of what only the leader does: each duty, done once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from windlass import ids
from windlass.engine.effects import Effects
from windlass.runtime.cluster.leader_duties import leader_duty_table
from windlass.store.database import Database

OLD_AND_NEW = ("1 year", "1 second")


def tell_nobody(_effects: Effects) -> None: ...


def duty(database: Database, name: str) -> Callable[[], Awaitable[object]]:
    [found] = [row.do for row in leader_duty_table(database, None, tell_nobody) if row.name == name]
    return found


async def count(database: Database, table: str) -> int:
    async with database.side() as connection:
        found: int = await connection.fetchval(f"SELECT count(*) FROM windlass.{table}")
        return found


async def test_operations_that_ended_long_ago_are_forgotten(database: Database) -> None:
    async with database.side() as connection:
        for age in OLD_AND_NEW:
            await connection.execute(
                "INSERT INTO windlass.operation (id, kind, node_id, phase, drain_seconds, ended_at)"
                f" VALUES ($1, 'pause', $2, 'done', 1, now() - interval '{age}')",
                ids.uuid7(),
                ids.uuid7(),
            )
    await duty(database, "forget operations")()
    assert await count(database, "operation") == 1


async def test_signals_that_nobody_waits_for_are_forgotten_with_their_targets(
    database: Database,
) -> None:
    async with database.side() as connection:
        for until in ("now() - interval '1 second'", "now() + interval '1 hour'"):
            signal_id = ids.uuid7()
            await connection.execute(
                f"INSERT INTO windlass.signal (id, name, until) VALUES ($1, 'ping', {until})",
                signal_id,
            )
            await connection.execute(
                "INSERT INTO windlass.signal_target (node_id, signal_id) VALUES ($1, $2)",
                ids.uuid7(),
                signal_id,
            )
    await duty(database, "forget signals")()
    assert await count(database, "signal") == 1
    assert await count(database, "signal_target") == 1


async def test_a_signal_that_somebody_holds_keeps_no_other_from_being_forgotten(
    database: Database,
) -> None:
    async with database.side() as holder:
        for _ in range(3):
            await holder.execute(
                """WITH made AS (INSERT INTO windlass.signal (id, name, until)
                       VALUES (gen_random_uuid(), 'ping', now() - interval '1 hour') RETURNING id)
                   INSERT INTO windlass.signal_target (node_id, signal_id)
                   SELECT gen_random_uuid(), id FROM made"""
            )
        async with holder.transaction():
            await holder.execute("SELECT FROM windlass.signal_target LIMIT 1 FOR UPDATE")
            async with asyncio.timeout(10):  # a statement may wait for half a minute
                await duty(database, "forget signals")()
            assert (await count(database, "signal"), await count(database, "signal_target")) == (
                1,
                1,
            )
    await duty(database, "forget signals")()
    assert (await count(database, "signal"), await count(database, "signal_target")) == (0, 0)


async def test_there_is_a_sweep_only_where_there_is_redis(database: Database) -> None:
    async def sweep() -> None: ...

    names = [row.name for row in leader_duty_table(database, sweep, tell_nobody)]
    without = [row.name for row in leader_duty_table(database, None, tell_nobody)]
    assert set(names) - set(without) == {"sweep coordinators"}
