"""A stretch of the past is counted first and then made up for, once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.hands import sql
from tests.engine.schedules.scheduling import fire, jobs, ledger, put, rewind
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.schedules.backfill import BackfillTooLarge, backfill, count_backfill
from windlass.errors import InvalidInput, NotFound
from windlass.limits import BACKFILL_MAX
from windlass.model.json import strict as strict_json
from windlass.store.database import Database, Record

SINCE = datetime(2024, 1, 1, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=40)
HOURLY = {"cron": "0 * * * *"}
MINUTE = timedelta(minutes=1)


async def test_it_is_counted_and_then_every_instant_is_fired(database: Database) -> None:
    await put(database, rule=HOURLY)
    counted = await count_backfill(database, "minutely", SINCE, UNTIL)
    assert (counted.instants, counted.made) == (40, 0)
    assert await jobs(database) == []

    done = await backfill(database, "minutely", SINCE, UNTIL)
    assert (done.fired, done.skipped) == (40, 0)
    found = await ledger(database)
    assert [f.instant for f in found] == [SINCE + timedelta(hours=n) for n in range(40)]
    assert {(f.state, f.is_asked, f.reason) for f in found} == {("late", True, None)}
    assert {f.job_id for f in found} == {row["id"] for row in await jobs(database)}


async def test_what_was_made_before_is_left_alone(database: Database) -> None:
    await put(database, rule=HOURLY)
    await backfill(database, "minutely", SINCE, SINCE + timedelta(hours=5))
    counted = await count_backfill(database, "minutely", SINCE, UNTIL)
    assert (counted.instants, counted.made) == (40, 5)
    assert (await backfill(database, "minutely", SINCE, UNTIL)).fired == 35
    assert (await backfill(database, "minutely", SINCE, UNTIL)).fired == 0
    assert len(await jobs(database)) == 40


async def test_what_was_skipped_or_coalesced_is_made_up_for(database: Database) -> None:
    await put(database)
    first = await rewind(database, instants=5)
    await fire(database)
    before = {f.instant: f.job_id for f in await ledger(database)}
    done = await backfill(database, "minutely", first, first + timedelta(days=1))
    assert done.fired == 4
    found = await ledger(database)
    assert len(found) == 5
    assert all(f.job_id is not None and f.reason is None for f in found)
    assert found[-1].job_id == before[found[-1].instant]


async def test_a_row_that_stood_for_many_stands_for_those_that_are_left(
    database: Database,
) -> None:
    await put(database)
    first = await rewind(database, instants=50_000)
    await fire(database)
    [standing] = [row for row in await rows_of(database) if row["stands_for"] > 1]
    # A stretch in the middle of what it stands for, then one up to the row itself.
    middle = first + 10 * MINUTE
    assert (await backfill(database, "minutely", middle, middle + 5 * MINUTE)).fired == 5
    found = {row["instant"]: row for row in await rows_of(database)}
    assert sum(row["stands_for"] for row in found.values()) == 50_000
    assert found[middle - MINUTE]["stands_for"] == 10
    assert found[middle - MINUTE]["state"] == standing["state"]
    assert found[standing["instant"]]["stands_for"] == standing["stands_for"] - 15
    near = standing["instant"] - 2 * MINUTE
    assert (await backfill(database, "minutely", near, near + 3 * MINUTE)).fired == 3
    found = {row["instant"]: row for row in await rows_of(database)}
    assert sum(row["stands_for"] for row in found.values()) == 50_000
    filled = found[standing["instant"]]
    assert (filled["state"], filled["stands_for"]) == ("late", 1)
    assert found[near - MINUTE]["stands_for"] == standing["stands_for"] - 18
    assert (await doctor(database)).is_well


async def rows_of(database: Database) -> list[Record]:
    return list(await sql(database, "SELECT instant, stands_for, state FROM windlass.firing"))


async def test_it_ends_before_what_the_leader_has_still_to_decide(database: Database) -> None:
    await put(database)
    first = await rewind(database, instants=5)
    done = await backfill(database, "minutely", first - timedelta(minutes=3), first + timedelta(1))
    assert done.fired == 3


async def test_ten_million_instants_are_refused_with_their_number(database: Database) -> None:
    await put(database, rule={"cron": "* * * * * *"})
    until = SINCE + timedelta(seconds=10_000_000)
    counted = await count_backfill(database, "minutely", SINCE, until)
    assert (counted.instants, counted.made, counted.most) == (10_000_000, None, BACKFILL_MAX)
    with pytest.raises(BackfillTooLarge, match="the stretch has 10000000 instants") as refused:
        await backfill(database, "minutely", SINCE, until)
    assert refused.value.facts["count"] == 10_000_000
    assert await ledger(database) == []


async def test_a_full_queue_leaves_skipped_rows_that_another_backfill_fills(
    database: Database,
) -> None:
    await put_queue(database, "small", QueueLimits(max_jobs=10))
    await put(database, rule=HOURLY, job={"kind": "noop", "queue": "small"})
    done = await backfill(database, "minutely", SINCE, UNTIL)
    assert (done.fired, done.skipped) == (10, 30)
    await put_queue(database, "small", QueueLimits())
    assert (await backfill(database, "minutely", SINCE, UNTIL)).fired == 30
    [row] = await sql(database, "SELECT count(*) AS n FROM windlass.firing WHERE state = 'late'")
    assert row["n"] == 40


async def test_a_stretch_that_runs_backwards_and_a_schedule_that_is_not_there_are_refused(
    database: Database,
) -> None:
    await put(database)
    with pytest.raises(InvalidInput, match="must lie after since"):
        await backfill(database, "minutely", UNTIL, SINCE)
    with pytest.raises(NotFound, match="there is no schedule 'nobody'"):
        await backfill(database, "nobody", SINCE, UNTIL)
    with pytest.raises(NotFound, match="there is no schedule 'nobody'"):
        await count_backfill(database, "nobody", SINCE, UNTIL)


async def test_what_is_made_up_for_knows_for_which_instant(database: Database) -> None:
    job = {
        "kind": "noop",
        "input": {"day": "${schedule.instant}", "said": ["for ${schedule.instant}"]},
        "correlation_id": "books of ${schedule.instant}",
    }
    await put(database, rule=HOURLY, job=job)
    await backfill(database, "minutely", SINCE, SINCE + timedelta(hours=2))
    found = await sql(
        database, "SELECT input::text, correlation_id FROM windlass.job ORDER BY input::text"
    )
    assert [(strict_json.parse(row["input"].encode()), row["correlation_id"]) for row in found] == [
        ({"day": at, "said": [f"for {at}"]}, f"books of {at}")
        for at in ("2024-01-01T00:00:00Z", "2024-01-01T01:00:00Z")
    ]
