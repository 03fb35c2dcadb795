"""Keys that are unique for a time, and debounce: one job for what is submitted again and again."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    noop,
    patiently,
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
from tests.engine.locks.locking import WRONG, nothing_left, parked_for
from tests.store.sql_call import CALL
from windlass import ids
from windlass.engine.doctor.doctor import doctor
from windlass.engine.jobs.history import job_at
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted
from windlass.engine.jobs.retain import fold_counters
from windlass.engine.locks.grant import grant_due
from windlass.errors import WindlassError
from windlass.model.identity.quota import Quota, SubjectQuota
from windlass.model.job.outcome import Snoozed
from windlass.model.job.submission import SubmissionContext, read_job
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


async def again(database: Database, way: str, **fields: Any) -> Any:
    """The row of the job that such a call leads to."""
    fields = {"key": "k", "debounce": 60, **fields}
    if way == "sql":
        shown = await value(database, CALL, json.dumps(fields))
        return await row(database, ids.parse("job", shown))
    kinds = SubmissionContext(kinds={"noop": lambda _: [], "http": lambda _: []})
    draft = read_job(fields, kinds, datetime.now(UTC))
    return await row(database, (await door(database).submit(draft)).job_ids[0])


ways = pytest.mark.parametrize("way", ["http", "sql"])


@ways
async def test_a_debounced_job_has_the_limits_of_its_newest_input(
    database: Database, way: str
) -> None:
    per = {"name": "a", "max_running": 1, "per": ["/of"]}
    first = await again(database, way, kind="noop", limits=[per], input={"of": "ada"})
    second = await again(database, way, kind="noop", limits=[per], input={"of": "bob"})
    assert (second["id"], second["locks"]) == (first["id"], ["limit/a/bob"])
    assert await value(database, "SELECT array_agg(lock) FROM windlass.lock_wait") == [
        "limit/a/bob"
    ]
    bare = await again(database, way, kind="noop", input={"of": "bob"})
    assert (bare["id"], bare["locks"]) == (first["id"], None)
    assert await parked_for(database, bare["id"]) is None
    assert await value(database, "SELECT count(*) FROM windlass.lock_wait") == 0
    back = await again(database, way, kind="noop", limits=[per], input={"of": "cy"})
    assert back["locks"] == ["limit/a/cy"]
    assert await parked_for(database, back["id"]) == "lock"
    await sql(database, "UPDATE windlass.job SET run_at = now()")
    await sql(database, "UPDATE windlass.lock_wait SET since = now(), look_at = now()")
    await grant_due(database)
    await run_all(database)
    assert await states(database, [first["id"]]) == ["succeeded"]


@ways
async def test_a_debounced_call_goes_to_whom_the_newest_input_names(
    database: Database, way: str
) -> None:
    first = await again(database, way, kind="http", input={"url": "https://a.example/"})
    second = await again(database, way, kind="http", input={"url": "https://b.example/"})
    assert (second["id"], second["target"]) == (first["id"], "b.example")


@ways
async def test_a_job_of_another_kind_is_not_put_off_but_followed(
    database: Database, way: str
) -> None:
    first = await again(database, way, kind="http", input={"url": "https://a.example/"})
    second = await again(database, way, kind="noop")
    assert second["id"] != first["id"]
    assert json.loads((await row(database, first["id"]))["input"]) == {"url": "https://a.example/"}


async def test_of_one_batch_the_last_that_debounces_a_key_counts(database: Database) -> None:
    drafts = [
        noop(key="k", debounce_seconds=60.0, delay_seconds=60.0, input=json.dumps({"n": n}))
        for n in range(3)
    ]
    for _ in range(2):
        answer = await door(database).submit_batch(drafts)
        [job_id] = set(answer.job_ids)
        assert json.loads((await row(database, job_id))["input"]) == {"n": 2}
    assert await value(database, "SELECT count(*) FROM windlass.job") == 1


@pytest.mark.parametrize("seed", range(2))
async def test_whatever_is_put_off_meanwhile_no_limit_is_exceeded_and_nobody_is_left(
    database: Database, database_url: str, seed: int
) -> None:
    """Seeded by its parameter: a key leads to other limits with each call, while jobs run."""
    chance = random.Random(seed)
    a, b = {"name": "a", "max_running": 2}, {"name": "b", "max_running": 1, "per": ["/n"]}
    rate = {"name": "r", "rate": 50.0}
    wrong: list[int] = []

    async def live(mine: Database, node: UUID) -> None:
        for _ in range(25):
            way = chance.choice(["http", "sql", "look", "look", "end", "snooze"])
            if way in ("http", "sql"):
                await again(
                    mine,
                    way,
                    kind="noop",
                    key=f"k{chance.randrange(4)}",
                    debounce=chance.choice([0.01, 0.05]),
                    limits=chance.choice([[a], [b], [a, b, rate], []]),
                    input={"n": chance.randrange(2)},
                )
            elif way == "look":
                await patiently(partial(grant_due, mine))
            else:
                for attempt in await take(mine, node, 2):
                    await end(mine, node, attempt, None if way == "end" else Snoozed(0.0))
            wrong.append(await value(mine, WRONG))

    async with several(database_url, 4) as crowd:
        await asyncio.gather(*[live(mine, await register(mine)) for mine in crowd])
    assert set(wrong) == {0}
    async with asyncio.timeout(30):
        while await value(database, "SELECT count(*) FROM windlass.job"):
            await grant_due(database)
            await run_all(database)
    assert await nothing_left(database)
    assert (await doctor(database)).is_well


@pytest.mark.parametrize("why", ["a quota", "a full queue", "an unknown parent", "another kind"])
async def test_what_is_refused_has_put_nothing_off_and_freed_no_key(
    database: Database, why: str
) -> None:
    """A batch is taken whole or not at all; who stands beside it in the commit is not hindered."""
    first = await by_http(database, key="k", debounce=900.0, input={"n": 1})
    before = await row(database, first)
    again = noop(key="k", debounce_seconds=60.0, delay_seconds=60.0, input='{"n": 2}')
    quotas: tuple[SubjectQuota, ...] = ()
    drafts = [again, noop(depends_on=(ids.uuid7(),) if why == "an unknown parent" else ())]
    if why in ("a quota", "another kind"):
        user = ids.uuid7()
        add = "INSERT INTO windlass.user_account (id, name, role) VALUES ($1, 'ann', 'operator')"
        await sql(database, add, user)
        quotas = (SubjectQuota(noun="user", id=user, quota=Quota(jobs_per_day=0)),)
    if why == "a full queue":
        await put_queue(database, "mail", QueueLimits(max_jobs=0))
        drafts[1] = noop(queue="mail")
    if why == "another kind":
        drafts = [replace(again, kind="wait")]
    enqueuer = door(database)
    refused, beside = await asyncio.gather(
        enqueuer.submit_batch(drafts, None, quotas),
        enqueuer.submit(noop(key="else", debounce_seconds=60.0, delay_seconds=60.0)),
        return_exceptions=True,
    )
    assert isinstance(refused, WindlassError)
    assert refused.status in (400, 422, 429), refused
    assert isinstance(beside, Accepted)
    assert await row(database, first) == before
    assert await value(database, "SELECT job_id FROM windlass.job_key WHERE key = 'k'") == first
    both = [first, *beside.job_ids]
    assert await value(database, "SELECT count(*) FROM windlass.job") == len(both)
    assert await by_http(database, key="k", debounce=900.0) == first
