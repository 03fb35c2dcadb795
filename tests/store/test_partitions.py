"""History by days: rows land in their day, old days go, and the counters and keys go with them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.engine.hands import (
    counted,
    door,
    end,
    noop,
    register,
    sql,
    submit,
    submit_one,
    take,
    true_counts,
    value,
)
from windlass.engine.replay import replay
from windlass.engine.retain import fold_counters, retain
from windlass.model.outcome import Failed
from windlass.store.database import Database

TABLES = ("job_history", "attempt", "event")


def day(ago: int) -> datetime:
    """Midnight, so many days before today."""
    now = datetime.now(UTC)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=ago)


async def make_day(database: Database, ago: int) -> str:
    """Partitions of a day in the past; returns how their names end."""
    name = f"{day(ago):%Y%m%d}"
    for table in TABLES:
        await sql(
            database,
            f"""CREATE TABLE windlass.{table}_{name} PARTITION OF windlass.{table}
                FOR VALUES FROM ('{day(ago).isoformat()}') TO ('{day(ago - 1).isoformat()}')""",
        )
    return name


async def ended_long_ago(database: Database, ago: int, key: str, queue: str = "default") -> UUID:
    """A job with a key, cancelled on that day."""
    job_id = await submit_one(database, key=key, queue=queue)
    await sql(
        database,
        """WITH gone AS (DELETE FROM windlass.job WHERE id = $1 RETURNING *)
           INSERT INTO windlass.job_history (id, run_at, attempt, max_attempts, input_bytes,
               priority, queue, kind, state, key, input, finished_at)
           SELECT id, run_at, attempt, max_attempts, input_bytes, priority, queue, kind,
               'cancelled', key, input, $2
           FROM gone""",
        job_id,
        day(ago) + timedelta(hours=12),
    )
    return job_id


async def partitions_of(database: Database, table: str) -> set[str]:
    """The names of all partitions that hold something."""
    rows = await sql(
        database,
        f"""SELECT DISTINCT relname FROM windlass.{table} t
            JOIN pg_class c ON c.oid = t.tableoid""",
    )
    return {one["relname"] for one in rows}


async def test_what_happens_today_lands_in_the_partitions_of_today(database: Database) -> None:
    node = await register(database)
    await submit(database, noop(max_attempts=2))
    await end(database, node, await take(database, node), Failed("x", "x"))
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await end(database, node, await take(database, node), Failed("x", "x"))
    today = f"{datetime.now(UTC):%Y%m%d}"
    for table in TABLES:
        assert await partitions_of(database, table) == {f"{table}_{today}"}


async def test_the_coming_days_have_their_partitions_already(database: Database) -> None:
    made = {
        one[0] for one in await sql(database, "SELECT relname FROM pg_class WHERE relkind = 'r'")
    }
    days = {f"{day(-ahead):%Y%m%d}" for ahead in range(8)}
    assert {f"{table}_{name}" for table in TABLES for name in days} <= made
    assert (await retain(database, 7)).made == 0


async def test_missing_partitions_are_made_by_many_nodes_at_once(database: Database) -> None:
    for ahead in (3, 5):
        await sql(database, f"DROP TABLE windlass.event_{day(-ahead):%Y%m%d}")
    done = await asyncio.gather(*(retain(database, 7) for _ in range(5)))
    assert sum(one.made for one in done) == 2


async def test_a_day_past_the_retention_goes_with_its_counts_and_keys(database: Database) -> None:
    old = await make_day(database, 20)
    await ended_long_ago(database, 20, "old")
    await ended_long_ago(database, 20, "old too", queue="mail")
    kept = await submit_one(database, key="new")
    assert (await counted(database))["mail"] == {"cancelled": 1}

    done = await retain(database, 14)

    assert sorted(done.dropped) == [f"{table}_{old}" for table in sorted(TABLES)]
    assert (
        await counted(database)
        == await true_counts(database)
        == {"default": {"queued": 1, "bytes": 2}}
    )
    assert [one["key"] for one in await sql(database, "SELECT key FROM windlass.job_key")] == [
        "new"
    ]
    assert await submit_one(database, key="old") != kept, "a key whose job is forgotten is free"


async def test_a_day_within_the_retention_stays(database: Database) -> None:
    await make_day(database, 14)
    job_id = await ended_long_ago(database, 14, "kept")
    assert (await retain(database, 14)).dropped == []
    assert len(await database.read("job_get_many", [job_id])) == 1
    assert len((await retain(database, 13)).dropped) == 3


async def test_several_nodes_may_drop_the_same_day_at_once(database: Database) -> None:
    await make_day(database, 20)
    await ended_long_ago(database, 20, "old")
    done = await asyncio.gather(*(retain(database, 14) for _ in range(5)))
    assert sum(len(one.dropped) for one in done) == 3
    assert await counted(database) == await true_counts(database) == {}


async def test_a_day_that_somebody_reads_is_left_for_later_and_the_rest_goes(
    database: Database,
) -> None:
    busy, free = await make_day(database, 21), await make_day(database, 20)
    async with database.side() as reader, reader.transaction():
        await reader.fetch(f"SELECT * FROM windlass.event_{busy}")
        done = await retain(database, 14)
    gone = [f"{table}_{name}" for table in TABLES for name in (busy, free)]
    assert sorted(done.dropped) == sorted(set(gone) - {f"event_{busy}"})
    assert (await retain(database, 14)).dropped == [f"event_{busy}"]


async def test_a_row_without_a_day_of_its_own_is_kept_and_goes_after_the_retention(
    database: Database,
) -> None:
    # The node was off for longer than partitions had been made ahead.
    job_id = await ended_long_ago(database, 3, "kept")
    forgotten = await ended_long_ago(database, 20, "old")
    assert await partitions_of(database, "job_history") == {"job_history_rest"}
    await retain(database, 14)
    found = await database.read("job_get_many", [job_id, forgotten])
    assert [one["id"] for one in found] == [job_id]
    assert await counted(database) == await true_counts(database) == {"default": {"cancelled": 1}}
    assert await value(database, "SELECT array_agg(key) FROM windlass.job_key") == ["kept"]


async def test_a_replay_across_days_keeps_what_was_known(database: Database) -> None:
    await make_day(database, 2)
    job_id = await ended_long_ago(database, 2, "k")
    await replay(database, [job_id])
    node = await register(database)
    await end(database, node, await take(database, node))
    assert await partitions_of(database, "job_history") == {
        f"job_history_{datetime.now(UTC):%Y%m%d}"
    }
    assert (await counted(database)) == await true_counts(database) == {"default": {"succeeded": 1}}
    types = await sql(
        database, "SELECT type FROM windlass.event WHERE job_id = $1 ORDER BY at", job_id
    )
    assert [one["type"] for one in types] == ["finished", "replayed"]


async def test_idempotency_records_are_forgotten_after_their_day(database: Database) -> None:
    for key, age in (("old", "25 hours"), ("new", "23 hours")):
        await sql(
            database,
            """INSERT INTO windlass.idempotency
               VALUES ('owner', $1, '', '{}', now() - $2::text::interval)""",
            key,
            age,
        )
    assert (await retain(database, 14)).forgotten_keys == 1
    assert await value(database, "SELECT array_agg(key) FROM windlass.idempotency") == ["new"]


async def test_folding_while_days_are_dropped_keeps_the_counters_true(database: Database) -> None:
    for ago in (20, 21, 22):
        await make_day(database, ago)
        await ended_long_ago(database, ago, f"key {ago}")

    async def fold() -> None:
        for _ in range(20):
            await fold_counters(database)
            await door(database).submit(noop())

    await asyncio.gather(retain(database, 14), fold(), fold())
    assert (
        await counted(database)
        == await true_counts(database)
        == {"default": {"queued": 40, "bytes": 80}}
    )
