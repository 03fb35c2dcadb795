"""Keys that are unique for a time, and debounce: one job for what is submitted again and again."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    noop,
    register,
    row,
    run_all,
    several,
    sql,
    states,
    submit_one,
    take,
    true_counts,
    value,
)
from tests.store.sql_call import CALL
from windlass import ids
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.history import job_at
from windlass.engine.jobs.retain import fold_counters
from windlass.engine.locks.grant import grant_due
from windlass.store.database import Database

KEY_IS_OVER = "UPDATE windlass.job_key SET until = now() - interval '1 second'"


async def by_http(database: Database, **fields: Any) -> UUID:
    given = {
        "key": fields.get("key"),
        "unique_seconds": fields.get("unique_for"),
        "debounce_seconds": fields.get("debounce"),
        "debounce_max_seconds": fields.get("debounce_max"),
        "input": json.dumps(fields.get("input", {})),
        "delay_seconds": fields.get("debounce", 0.0),
    }
    return (await door(database).submit(noop(**given))).job_ids[0]


async def by_sql(database: Database, **fields: Any) -> UUID:
    shown = await value(database, CALL, json.dumps({"kind": "noop", **fields}))
    return ids.parse("job", shown)


WAYS = [by_http, by_sql]
both_ways = pytest.mark.parametrize("submit", WAYS, ids=["http", "sql"])


@both_ways
async def test_a_key_is_unique_for_its_time_also_after_its_job_has_ended(
    database: Database, submit: Any
) -> None:
    first = await submit(database, key="k", unique_for=60)
    assert await submit(database, key="k", unique_for=60) == first
    await run_all(database)
    assert await submit(database, key="k") == first
    await sql(database, KEY_IS_OVER)
    second = await submit(database, key="k", unique_for=60)
    assert second != first
    assert await submit(database, key="k") == second
    assert await states(database, [first, second]) == ["succeeded", "queued"]


@both_ways
async def test_a_debounced_job_waits_for_the_last_and_has_its_input(
    database: Database, submit: Any
) -> None:
    first = await submit(database, key="k", debounce=60, input={"n": 1})
    due = (await row(database, first))["run_at"]
    assert await submit(database, key="k", debounce=60, input={"n": 22}) == first
    job = await row(database, first)
    assert job["run_at"] > due
    assert json.loads(job["input"]) == {"n": 22}
    assert await counted(database) == await true_counts(database)
    await fold_counters(database)
    assert await counted(database) == await true_counts(database)
    assert (await doctor(database)).is_well, "its events give its row"
    before = await job_at(database, first, due - timedelta(seconds=59.99))
    assert before is not None


@both_ways
async def test_a_debounced_job_is_put_off_no_longer_than_was_said(
    database: Database, submit: Any
) -> None:
    first = await submit(database, key="k", debounce=60, debounce_max=90)
    made = (await row(database, first))["created_at"]
    await sql(database, "UPDATE windlass.job SET created_at = created_at - interval '80 s'")
    assert await submit(database, key="k", debounce=60, debounce_max=90) == first
    assert (await row(database, first))["run_at"] == made + timedelta(seconds=10)


@both_ways
async def test_once_it_is_due_or_runs_the_next_one_is_another_job(
    database: Database, submit: Any
) -> None:
    first = await submit(database, key="k", debounce=60)
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    second = await submit(database, key="k", debounce=60)
    assert second != first
    node = await register(database)
    await end(database, node, await take(database, node))
    third = await submit(database, key="k", debounce=60)
    assert third == second
    assert await states(database, [first, second]) == ["succeeded", "queued"]


async def test_a_debounced_job_takes_its_limit_when_it_is_due(database: Database) -> None:
    limits = [{"name": "a", "max_running": 1}]
    first = await by_sql(database, key="k", debounce=60, limits=limits)
    assert await by_sql(database, key="k", debounce=120, limits=limits) == first
    due = "SELECT bool_and(w.since = j.run_at AND w.look_at = j.run_at) FROM windlass.lock_wait w"
    assert await value(database, f"{due} JOIN windlass.job j ON j.id = w.waiter")
    await grant_due(database)
    assert await value(database, "SELECT parked_for FROM windlass.job") == "lock"


async def test_many_who_submit_one_key_at_once_make_one_job(
    database: Database, database_url: str
) -> None:
    async with several(database_url, 3) as nodes:
        made = await asyncio.gather(
            *[by_http(nodes[n % 3], key="k", debounce=60, input={"n": n}) for n in range(30)],
            *[by_sql(nodes[n % 3], key="k", debounce=60, input={"n": n}) for n in range(6)],
        )
    assert len(set(made)) == 1
    assert await value(database, "SELECT count(*) FROM windlass.job") == 1
    assert await counted(database) == await true_counts(database)


async def test_in_one_batch_neighbours_of_a_debounced_job_are_not_kept(database: Database) -> None:
    await by_http(database, key="k", debounce=60)
    enqueuer = door(database)
    answers = await asyncio.gather(
        *[
            enqueuer.submit(noop(key="k", debounce_seconds=60.0, delay_seconds=60.0))
            for _ in range(3)
        ],
        *[enqueuer.submit(noop(key=f"other {n}")) for n in range(3)],
    )
    assert len({answer.job_ids[0] for answer in answers}) == 4


async def test_what_somebody_holds_keeps_a_debounce_for_no_longer_than_a_key_does(
    database: Database, database_url: str
) -> None:
    await by_http(database, key="k", debounce=60)
    async with several(database_url, 1) as [other], other.side() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("SELECT FROM windlass.job FOR UPDATE")
        enqueuer = door(database)
        waiting = asyncio.create_task(
            enqueuer.submit(noop(key="k", debounce_seconds=60.0, delay_seconds=60.0))
        )
        async with asyncio.timeout(5):
            await enqueuer.submit(noop(key="other"))
            await submit_one(database)
        await transaction.rollback()
        assert (await waiting).existing
