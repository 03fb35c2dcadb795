"""History by days: rows land in their day, old days go, and the counters and keys go with them."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from tests.engine.aging import age, age_execution
from tests.engine.executions.flow import Flow
from tests.engine.executions.flow import noop as step
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
    until_sql,
    value,
)
from windlass.engine.jobs import partitions
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.partitions import are_low
from windlass.engine.jobs.replay import replay
from windlass.engine.jobs.retain import fold_counters, retain
from windlass.limits import DAY_TRIES, DAYS_BUSY_MAX, PARTITIONS_AHEAD_DAYS
from windlass.model.job.outcome import Failed, Succeeded
from windlass.store.database import Database

TABLES = ("job_history", "attempt", "event")
# Far from the half minute that a statement may wait.
FORGET_SECONDS = 20.0


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
    days = {f"{day(-ahead):%Y%m%d}" for ahead in range(PARTITIONS_AHEAD_DAYS + 1)}
    assert {f"{table}_{name}" for table in TABLES for name in days} <= made
    done = await retain(database, 7)
    assert (done.made, done.days_ahead, done.is_whole) == (0, PARTITIONS_AHEAD_DAYS, True)


async def test_a_day_that_is_made_apart_is_as_one_that_is_made_as_a_partition(
    database: Database,
) -> None:
    """The indexes, checks and triggers of the table are those of the day."""
    new, old = f"{day(-2):%Y%m%d}", await make_day(database, 20)
    for table in TABLES:
        await sql(database, f"DROP TABLE windlass.{table}_{new}")
    assert (await retain(database, 30)).made == len(TABLES)
    for table in TABLES:
        of_a_day = """SELECT array_agg(line ORDER BY line) FROM (
            SELECT replace(indexdef, $1, 'x') AS line FROM pg_indexes WHERE tablename = $1
            UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
            WHERE conrelid = to_regclass('windlass.' || $1) AND contype = 'c'
            UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass('windlass.' || $1)
            UNION ALL SELECT attname || format_type(atttypid, atttypmod) || attnotnull
            FROM pg_attribute WHERE attrelid = to_regclass('windlass.' || $1) AND attnum > 0
        ) lines"""
        made = await value(database, of_a_day, f"{table}_{new}")
        assert len(made) > 5
        assert made == await value(database, of_a_day, f"{table}_{old}"), table
        apart = """SELECT count(*) FROM pg_index x WHERE x.indrelid = $1::text::regclass
                   AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = x.indexrelid)"""
        assert await value(database, apart, f"windlass.{table}_{new}") == 0


async def test_who_reads_the_history_stops_neither_finishing_nor_the_rest_of_the_house(
    database: Database,
) -> None:
    old = await make_day(database, 20)
    await ended_long_ago(database, 20, "old")
    for table in TABLES:
        await sql(database, f"DROP TABLE windlass.{table}_{day(-2):%Y%m%d}")
    node = await register(database)
    await submit(database, *(noop() for _ in range(200)))
    async with database.side() as reader, reader.transaction():
        for table in TABLES:  # a dump
            await reader.fetch(f"SELECT count(*) FROM windlass.{table}")
        keeping = asyncio.create_task(retain(database, 14))
        # Without a bound on its wait for a lock it would take as long as the reader.
        async with asyncio.timeout(25):
            while attempts := await take(database, node, 10):
                await end(database, node, attempts)
            done = await keeping
    assert await counted(database) == {"default": {"succeeded": 200}}, "the old one is forgotten"
    assert (done.made, done.days_ahead, done.is_whole) == (0, 1, False)
    assert await are_low(database)
    assert set(done.overdue) == {f"{table}_{old}" for table in TABLES}
    again = await retain(database, 14)
    assert (again.made, again.days_ahead) == (3, PARTITIONS_AHEAD_DAYS)
    assert set(again.dropped) == set(done.overdue)
    assert again.is_whole
    assert not await are_low(database)


async def test_a_large_day_goes_in_bites_and_an_interrupted_one_is_gone_on_with(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitions, "THIN_BLOCKS", 1)
    old = await make_day(database, 20)
    names = [f"key {n}" for n in range(200)]
    jobs = await submit(database, *(noop(key=name, queue="q") for name in names))
    await cancel(database, jobs)
    await age(database, jobs, 20)
    blocks = (await database.read("table_blocks", f"job_history_{old}"))[0]["blocks"]
    assert blocks > 3
    async with database.side() as other, other.transaction():
        # Somebody holds a row near the end: what lies before it goes meanwhile, and is uncounted.
        await other.fetch(
            f"SELECT FROM windlass.job_history_{old} WHERE ctid >= $1 FOR SHARE", (blocks - 1, 0)
        )
        keeping = asyncio.create_task(retain(database, 14))
        left = f"SELECT count(*) < 100 FROM windlass.job_history_{old}"
        await until_sql(database, left, seconds=60)
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert 0 < (await counted(database))["q"]["cancelled"] < 100
    assert await counted(database) == await true_counts(database)
    assert f"job_history_{old}" in (await retain(database, 14)).dropped
    assert await counted(database) == await true_counts(database) == {}
    assert await value(database, "SELECT count(*) FROM windlass.job_key") == 0


@pytest.mark.parametrize("row", ["job_history_{day}", "event_{day}", "job_key WHERE key = 'held'"])
async def test_a_row_that_somebody_holds_keeps_its_own_day_and_no_other(
    database: Database, row: str
) -> None:
    held, free = await make_day(database, 21), await make_day(database, 20)
    await ended_long_ago(database, 21, "held")
    await ended_long_ago(database, 20, "free")
    await sql(
        database,
        "INSERT INTO windlass.event (at, noun, subject, type) VALUES ($1, 'queue', 'q', 'paused')",
        day(21) + timedelta(hours=12),
    )
    async with database.side() as somebody, somebody.transaction():
        row = row.format(day=held)
        assert len(await somebody.fetch(f"SELECT 1 FROM windlass.{row} FOR SHARE")) == 1
        async with asyncio.timeout(FORGET_SECONDS):
            done = await retain(database, 14)
        assert done.troubles == []
        assert {f"{table}_{free}" for table in TABLES} <= set(done.dropped)
        assert await value(database, f"SELECT count(*) FROM windlass.{row}") == 1
        assert await counted(database) == await true_counts(database)
    await retain(database, 14)
    assert await counted(database) == await true_counts(database) == {}
    assert await value(database, "SELECT count(*) FROM windlass.job_key") == 0


async def test_beside_a_reader_of_the_history_few_days_are_tried(database: Database) -> None:
    """Each try keeps finishing waiting for a moment."""
    days = [await make_day(database, ago) for ago in range(20, 26)]
    async with database.side() as reader, reader.transaction():
        await reader.fetch("SELECT count(*) FROM windlass.job_history")
        with capture_logs() as said:
            done = await retain(database, 14)
    tries = [line for line in said if line["event"] == "day_busy"]
    assert 0 < len(tries) <= DAYS_BUSY_MAX * DAY_TRIES
    assert set(done.overdue) == {f"job_history_{name}" for name in days}
    assert {f"event_{name}" for name in days} <= set(done.dropped), "nobody reads those"
    assert set((await retain(database, 14)).dropped) == set(done.overdue)


async def test_a_day_that_keeps_few_large_results_stays_until_it_keeps_less(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To move them while finishing waits would take long, however few they are."""
    monkeypatch.setattr(partitions, "DAY_KEPT_BYTES_MAX", 50_000)
    flow = await Flow.start(database, [step("a"), step("b", "a")])
    large = b'"' + secrets.token_hex(50_000).encode() + b'"'
    await end(database, flow.node_id, await take(database, flow.node_id), Succeeded(large))
    old = await age_execution(database, flow.execution_id, 20)
    assert f"job_history_{old}" not in (await retain(database, 14)).dropped
    [kept] = await sql(
        database, f"SELECT octet_length(result::text) FROM windlass.job_history_{old}"
    )
    assert kept[0] == len(large)
    monkeypatch.setattr(partitions, "DAY_KEPT_BYTES_MAX", 500_000)
    await sql(database, f"COMMENT ON TABLE windlass.job_history_{old} IS 'thinned yesterday'")
    assert f"job_history_{old}" in (await retain(database, 14)).dropped
    assert await flow.run() == {"a": "succeeded", "b": "succeeded"}


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
    for key, since in (("old", "25 hours"), ("new", "23 hours")):
        await sql(
            database,
            """INSERT INTO windlass.idempotency
               VALUES ('owner', $1, '', '{}', now() - $2::text::interval)""",
            key,
            since,
        )
    assert (await retain(database, 14)).forgotten_keys == 1
    assert await value(database, "SELECT array_agg(key) FROM windlass.idempotency") == ["new"]


async def test_however_many_idempotency_records_are_old_they_are_all_forgotten_in_one_round(
    database: Database,
) -> None:
    await sql(
        database,
        """INSERT INTO windlass.idempotency
           SELECT 'owner', n::text, sha256('body'), '{}', now() - (n % 5) * interval '10 hours'
           FROM generate_series(1, 40000) n""",
    )
    assert (await retain(database, 14)).forgotten_keys == 16_000
    assert await value(database, "SELECT count(*) FROM windlass.idempotency") == 24_000
    assert (await retain(database, 14)).forgotten_keys == 0


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
