"""Accepting jobs: an answer means committed, and a refused one harms no neighbour."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.engine.hands import (
    counted,
    door,
    ids_in,
    noop,
    row,
    several,
    sql,
    states,
    submit,
    submit_one,
    true_counts,
)
from windlass import ids
from windlass.clock import monotonic
from windlass.engine.effects import Effects
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted
from windlass.errors import InvalidInput
from windlass.limits import ENQUEUE_BATCH_MAX
from windlass.model.job.draft import Draft
from windlass.store.database import Database, Refused

LATER = datetime(2040, 1, 1, tzinfo=UTC)


async def test_a_plain_job_is_queued_and_due_at_once(database: Database) -> None:
    answer = await door(database).submit(noop())
    job = await row(database, answer.job_ids[0])
    assert (job["state"], job["queue"], job["kind"], job["attempt"]) == (
        "queued",
        "default",
        "noop",
        0,
    )
    assert abs((job["run_at"] - job["created_at"]).total_seconds()) < 1
    assert (answer.is_replayed, answer.existing) == (False, frozenset())


async def test_every_field_of_a_draft_is_kept(database: Database) -> None:
    draft = Draft(
        kind="python",
        input='{"task": "ä"}',
        queue="mail",
        priority=3,
        run_at=LATER,
        deadline=LATER + timedelta(days=1),
        timeout_ms=1500,
        max_attempts=7,
        retry='{"max_attempts": 7}',
        key="order 42",
        tags=("a", "b"),
        correlation_id="c",
        trace_id="t",
        owner="key_1",
    )
    answer = await door(database).submit(draft)
    [job] = await sql(database, "SELECT * FROM windlass.job WHERE id = $1", answer.job_ids[0])
    for name in ("kind", "input", "queue", "priority", "run_at", "deadline", "timeout_ms"):
        assert job[name] == getattr(draft, name)
    for name in ("max_attempts", "retry", "key", "correlation_id", "trace_id", "owner"):
        assert job[name] == getattr(draft, name)
    assert (job["tags"], job["input_bytes"]) == (["a", "b"], len('{"task": "ä"}'.encode()))


async def test_a_delay_counts_from_the_databases_now(database: Database) -> None:
    job = await row(database, await submit_one(database, delay_seconds=3600))
    assert (job["run_at"] - job["created_at"]).total_seconds() == pytest.approx(3600, abs=1)


async def test_a_batch_keeps_its_order_and_is_all_there(database: Database) -> None:
    made = await submit(database, *(noop(tags=(f"{n}",)) for n in range(1_000)))
    rows = await sql(database, "SELECT id, tags FROM windlass.job ORDER BY id")
    assert [one["id"] for one in rows] == made
    assert [one["tags"] for one in rows] == [[f"{n}"] for n in range(1_000)]


async def test_a_queue_that_nobody_made_is_made(database: Database) -> None:
    await submit_one(database, queue="new")
    await submit(database, noop(queue="newer"), noop(queue="default"))
    found = await sql(database, "SELECT name FROM windlass.queue ORDER BY name")
    assert [one["name"] for one in found] == ["default", "new", "newer"]


async def test_twenty_nodes_that_make_the_same_queue_at_once_all_succeed(database_url: str) -> None:
    async with several(database_url, 4) as databases:
        answers = await asyncio.gather(
            *(door(databases[n % 4]).submit(noop(queue="new")) for n in range(20))
        )
        assert len(ids_in(answers)) == 20
        assert await counted(databases[0]) == {"new": {"queued": 20, "bytes": 40}}


async def test_concurrent_submissions_share_commits(database: Database) -> None:
    enqueuer = door(database)
    await enqueuer.submit(noop())
    count = 2 * ENQUEUE_BATCH_MAX
    before = await sql(database, "SELECT pg_current_xact_id()::text::bigint AS x")
    answers = await asyncio.gather(*(enqueuer.submit(noop()) for _ in range(count)))
    after = await sql(database, "SELECT pg_current_xact_id()::text::bigint AS x")
    assert len(ids_in(answers)) == count
    assert after[0]["x"] - before[0]["x"] < count / 10


async def test_what_is_accepted_is_told_after_the_commit(database: Database) -> None:
    told: list[Effects] = []
    enqueuer = Enqueuer(database, follow=told.append)
    await enqueuer.submit(noop(priority=2, delay_seconds=5))
    await enqueuer.submit_batch([noop(run_at=LATER), noop(queue="b"), noop(depends_on_places=(0,))])
    assert told == [
        Effects(lines={("default", 2): 5.0}),
        Effects(lines={("default", 1): LATER, ("b", 1): 0.0}),
    ]


BAD = noop(correlation_id="NUL \x00")


async def test_one_refused_row_does_not_harm_its_neighbours(database: Database) -> None:
    enqueuer = door(database)
    drafts = [noop() if n != 7 else BAD for n in range(20)]
    answers = await asyncio.gather(
        *(enqueuer.submit(draft) for draft in drafts), return_exceptions=True
    )
    assert isinstance(answers[7], Refused)
    assert len(ids_in(answers)) == 19
    assert await counted(database) == {"default": {"queued": 19, "bytes": 38}}


async def test_one_refused_row_does_not_harm_neighbours_that_take_the_long_way(
    database: Database,
) -> None:
    [holder] = await submit(database, noop(key="taken"))
    enqueuer = door(database)
    drafts = [
        noop(key="taken"),
        noop(key="fresh"),
        noop(key="bad", correlation_id="NUL \x00"),
        noop(key="fresh"),
        noop(key="other", depends_on=(holder,)),
    ]
    answers = await asyncio.gather(
        *(enqueuer.submit(draft) for draft in drafts), return_exceptions=True
    )
    assert isinstance(answers[2], Refused)
    taken, fresh, again, other = (ids_in([answers[n]]) for n in (0, 1, 3, 4))
    assert taken == {holder}
    assert fresh == again
    assert await states(database, [*taken, *fresh, *other]) == ["queued", "queued", "blocked"]
    keys = await sql(database, "SELECT key, job_id FROM windlass.job_key ORDER BY key")
    assert [(one["key"], {one["job_id"]}) for one in keys] == [
        ("fresh", fresh), ("other", other), ("taken", {holder}),
    ]  # fmt: skip


async def test_a_batch_with_one_refused_row_leaves_nothing(database: Database) -> None:
    with pytest.raises(Refused):
        await door(database).submit_batch([noop(), noop(key="k"), BAD, noop(queue="b")])
    assert await counted(database) == await true_counts(database) == {}
    assert await sql(database, "SELECT FROM windlass.job_key") == []


async def test_a_batch_with_a_full_queue_in_the_middle_leaves_nothing(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))
    with pytest.raises(Exception, match="queue 'narrow' holds 0 of 1 jobs and 2 more"):
        await door(database).submit_batch(
            [noop(), noop(queue="narrow"), noop(queue="wide"), noop(queue="narrow")]
        )
    assert await counted(database) == {}
    answer = await door(database).submit_batch([noop(), noop(queue="narrow"), noop(queue="wide")])
    assert await states(database, answer.job_ids) == ["queued"] * 3


async def test_a_parent_that_nobody_knows_is_named(database: Database) -> None:
    stranger = uuid4()
    with pytest.raises(InvalidInput, match="is not a job that is known here") as refused:
        await door(database).submit(noop(depends_on=(stranger,)))
    assert [p.pointer for p in refused.value.problems] == ["/depends_on/0"]
    assert ids.show("job", stranger) in str(refused.value)
    for extra in ((), (noop(),)):
        with pytest.raises(InvalidInput) as refused:
            await door(database).submit_batch([noop(depends_on=(stranger,)), *extra])
        assert [p.pointer for p in refused.value.problems] == ["/jobs/0/depends_on/0"]
    assert await counted(database) == {}


async def test_an_unknown_commit_is_resolved_by_looking(database: Database) -> None:
    """Connections are cut at any moment of a submission; what is answered must be true."""
    chance = random.Random(seed := random.randrange(10**6))
    print("seed", seed)
    enqueuer = door(database)
    numbers = itertools.count()
    answers: dict[int, Accepted | BaseException] = {}

    async def submit_another(is_keyed: bool) -> bool:
        n = next(numbers)
        draft = noop(input=json.dumps({"n": n}), key=f"key {n}" if is_keyed else None)
        [answers[n]] = await asyncio.gather(enqueuer.submit(draft), return_exceptions=True)
        return isinstance(answers[n], Accepted)

    async def seconds_of(is_keyed: bool) -> float:
        """How long one takes on a connection that is there and knows its statements."""
        while True:
            if await submit_another(is_keyed):
                start = monotonic()
                if await submit_another(is_keyed):
                    return monotonic() - start

    async def cut(within: float) -> None:
        await asyncio.sleep(chance.random() * within)
        kill = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name LIKE '% hot'"""
        await sql(database, kill)

    for is_keyed in [False, False, True] * 10:
        seconds = await seconds_of(is_keyed)
        await asyncio.gather(submit_another(is_keyed), cut(within=seconds))
    rows = await sql(database, "SELECT id, input FROM windlass.job")
    stored = {json.loads(one["input"])["n"]: one["id"] for one in rows}
    assert len(stored) == len(rows), "no job twice"
    for n, answer in answers.items():
        assert ids_in([answer]) <= {stored.get(n)}, "accepted means stored"
    assert await counted(database) == await true_counts(database)
