"""Idempotency keys and unique keys: the same request is one request, whoever sends it how often."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    ids_in,
    noop,
    register,
    several,
    sql,
    state,
    states,
    submit,
    submit_one,
    take,
    until,
    value,
)
from windlass.engine.cancel import cancel
from windlass.engine.enqueue import Enqueuer
from windlass.engine.queues import QueueLimits, put_queue
from windlass.engine.replay import delete
from windlass.engine.request import Accepted, Idempotency
from windlass.errors import IdempotencyMismatch, InvalidInput
from windlass.model.draft import Draft
from windlass.model.outcome import Failed
from windlass.store.database import Connection, Database, Record


def mark(key: str = "order-42", body: bytes = b"body", owner: str = "key_1") -> Idempotency:
    return Idempotency(owner=owner, key=key, body_hash=body)


async def test_the_same_key_and_body_is_answered_with_the_same_job(database: Database) -> None:
    first = await door(database).submit(noop(), mark())
    again = await door(database).submit(noop(), mark())
    assert (first.is_replayed, again.is_replayed) == (False, True)
    assert again.job_ids == first.job_ids
    assert await counted(database) == {"default": {"queued": 1, "bytes": 2}}


async def test_the_same_key_with_another_body_is_refused(database: Database) -> None:
    await door(database).submit(noop(), mark())
    with pytest.raises(IdempotencyMismatch, match="'order-42' was used before with another body"):
        await door(database).submit(noop(), mark(body=b"other"))
    assert await counted(database) == {"default": {"queued": 1, "bytes": 2}}


async def test_owners_do_not_see_each_others_keys(database: Database) -> None:
    mine = await door(database).submit(noop(), mark())
    theirs = await door(database).submit(noop(), mark(body=b"other", owner="key_2"))
    assert mine.job_ids != theirs.job_ids


async def test_a_batch_is_answered_again_as_a_whole(database: Database) -> None:
    drafts = [noop(), noop(depends_on_places=(0,)), noop()]
    first = await door(database).submit_batch(drafts, mark())
    again = await door(database).submit_batch(drafts, mark())
    assert again == Accepted(job_ids=first.job_ids, is_replayed=True)


async def test_what_was_refused_leaves_its_key_free(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=0))
    with pytest.raises(Exception, match="narrow"):
        await door(database).submit(noop(queue="narrow"), mark())
    with pytest.raises(InvalidInput):
        await door(database).submit(noop(depends_on=(UUID(int=1),)), mark())
    assert not (await door(database).submit(noop(), mark(body=b"other"))).is_replayed


async def test_what_was_accepted_is_answered_even_when_the_queue_is_full_by_now(
    database: Database,
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=1))
    first = await door(database).submit(noop(queue="narrow"), mark())
    again = await door(database).submit(noop(queue="narrow"), mark())
    assert again.job_ids == first.job_ids


async def submit_at_once(
    url: str, count: int, *requests: tuple[Draft, Idempotency | None]
) -> list[Accepted | BaseException]:
    """`count` requests, given in turn, through four processes' worth of pools."""
    async with several(url, 4) as databases:
        doors: list[Enqueuer] = [door(database) for database in databases]
        calls = [doors[n % 4].submit(*requests[n % len(requests)]) for n in range(count)]
        return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize("limit", [None, 1], ids=["no limit", "room for one"])
@pytest.mark.parametrize(
    ("key", "idempotency"),
    [(None, mark()), ("order-42", None), ("order-42", mark())],
    ids=["idempotency key", "unique key", "both"],
)
async def test_fifty_identical_submissions_at_once_are_one_job(
    database: Database,
    database_url: str,
    limit: int | None,
    key: str | None,
    idempotency: Idempotency | None,
) -> None:
    await put_queue(database, "default", QueueLimits(max_jobs=limit))
    answers = await submit_at_once(database_url, 50, (noop(key=key), idempotency))
    assert [answer for answer in answers if not isinstance(answer, Accepted)] == []
    assert len(ids_in(answers)) == 1
    assert await counted(database) == {"default": {"queued": 1, "bytes": 2}}


async def test_of_two_bodies_under_one_key_at_once_one_wins(database_url: str) -> None:
    bodies = [(noop(), mark(body=b"a")), (noop(), mark(body=b"b")), (noop(), mark(body=b"c"))]
    answers = await submit_at_once(database_url, 48, *bodies)
    assert len(ids_in(answers)) == 1
    refused = [answer for answer in answers if isinstance(answer, IdempotencyMismatch)]
    assert len(refused) == 32, "all of the two bodies that lost"


async def test_a_repeat_never_names_a_job_that_does_not_exist(
    database: Database, database_url: str
) -> None:
    """One unique key, many idempotency keys: each must remember the one job there is."""
    requests = [(noop(key="order-42"), mark(f"key {n}")) for n in range(40)]
    first = await submit_at_once(database_url, 40, *requests)
    again = await submit_at_once(database_url, 40, *requests)
    assert ids_in(first) == ids_in(again)
    assert len(ids_in(first)) == 1
    assert await states(database, list(ids_in(again))) == ["queued"]


async def test_a_unique_key_is_answered_with_its_holder_as_long_as_the_job_is_kept(
    database: Database,
) -> None:
    holder = await submit_one(database, key="k")
    node = await register(database)
    told = await door(database).submit(noop(key="k"))
    attempts = await take(database, node)
    assert await door(database).submit(noop(key="k")) == told, "while it runs"
    await end(database, node, attempts)
    assert await door(database).submit(noop(key="k")) == told, "when it has ended"
    assert told == Accepted(job_ids=[holder], existing=frozenset({holder}))
    await delete(database, [holder])
    assert (await door(database).submit(noop(key="k"))).job_ids != [holder]


async def test_twins_in_one_batch_are_one_job(database: Database) -> None:
    made = await submit(database, noop(key="k"), noop(), noop(key="k"))
    assert made[0] == made[2] != made[1]
    assert await counted(database) == {"default": {"queued": 2, "bytes": 4}}


async def run_all(database: Database) -> None:
    """Run whatever is due until nothing is."""
    node = await register(database)
    while attempts := await take(database, node):
        await end(database, node, attempts)


async def test_a_child_of_a_twin_waits_for_the_job_there_is(database: Database) -> None:
    first, twin, child = await submit(
        database, noop(key="k"), noop(key="k"), noop(depends_on_places=(0, 1))
    )
    assert first == twin
    assert await states(database, [first, child]) == ["queued", "blocked"]
    await run_all(database)
    assert await states(database, [first, child]) == ["succeeded", "succeeded"]


async def test_a_child_in_a_batch_waits_for_the_earlier_job_that_has_its_parents_key(
    database: Database,
) -> None:
    earlier = await submit_one(database, key="k")
    parent, child = await submit(database, noop(key="k"), noop(depends_on_places=(0,)))
    assert parent == earlier
    assert await states(database, [parent, child]) == ["queued", "blocked"]
    await run_all(database)
    assert await states(database, [parent, child]) == ["succeeded", "succeeded"]


async def test_a_child_in_a_batch_does_not_wait_for_a_holder_that_has_ended(
    database: Database,
) -> None:
    earlier = await submit_one(database, key="k")
    await run_all(database)
    parent, child = await submit(database, noop(key="k"), noop(depends_on_places=(0,)))
    assert parent == earlier
    assert await state(database, child) == "queued"
    assert await value(database, "SELECT depends_on FROM windlass.job") == [parent]


async def test_a_child_of_a_holder_that_has_failed_is_judged_by_its_rule(
    database: Database,
) -> None:
    await submit_one(database, key="k", max_attempts=1)
    node = await register(database)
    await end(database, node, await take(database, node), Failed("x", "x"))
    with pytest.raises(InvalidInput, match="has ended already as dead") as refused:
        await submit(database, noop(key="k"), noop(), noop(depends_on_places=(1, 0)))
    assert [p.pointer for p in refused.value.problems] == ["/jobs/2/depends_on"]
    assert (await counted(database)) == {"default": {"dead": 1}}, "all or nothing"
    _, child = await submit(
        database, noop(key="k"), noop(depends_on_places=(0,), on_parent_failure="run")
    )
    assert await state(database, child) == "queued"


async def test_a_child_in_a_batch_is_not_forgotten_when_another_takes_the_parents_key_first(
    database: Database, database_url: str
) -> None:
    """Ten batches at once want the same parent; one makes it, all children wait for it."""
    async with several(database_url, 4) as databases:
        batches = [
            door(databases[n % 4]).submit_batch([noop(key="k"), noop(depends_on_places=(0,))])
            for n in range(10)
        ]
        answers = await asyncio.gather(*batches)
    parents = {answer.job_ids[0] for answer in answers}
    children = [answer.job_ids[1] for answer in answers]
    assert len(parents) == 1
    assert await states(database, children) == ["blocked"] * 10
    await run_all(database)
    assert await states(database, children) == ["succeeded"] * 10


async def test_a_batch_whose_twins_wait_for_each_other_is_refused(database: Database) -> None:
    for places in ((1,), (2,)):
        batch = [
            noop(key="k", depends_on_places=places),
            noop(key="k"),
            noop(depends_on_places=(1,)),
        ]
        with pytest.raises(InvalidInput, match="waits for itself"):
            await submit(database, *batch)
    assert await counted(database) == {}


async def test_a_submission_that_had_to_be_repeated_inside_answers_the_same(
    database: Database,
) -> None:
    """A collision rolls the transaction back and it is done again from the start."""
    holder = await submit_one(database, key="taken")
    await cancel(database, [holder])
    await submit_one(database, queue="slow", key="parent")
    [parent] = await sql(database, "SELECT id FROM windlass.job")

    async def hold(connection: Connection[Record], locked: asyncio.Event) -> None:
        await connection.execute("SET LOCAL deadlock_timeout = '10s'")
        await connection.execute("INSERT INTO windlass.job_key VALUES ('later', gen_random_uuid())")
        locked.set()
        # The submission holds the parent and waits for the key; we close the circle.
        await until(database, "SELECT count(*) FROM pg_locks WHERE NOT granted")
        await connection.execute("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", parent["id"])
        raise LookupError("we give way after all")

    locked = asyncio.Event()
    holding = asyncio.create_task(database.together(lambda c: hold(c, locked)))
    await locked.wait()
    batch = [noop(key="taken"), noop(key="later", depends_on=(parent["id"],))]
    answer = await door(database).submit_batch(batch)
    with pytest.raises(LookupError):
        await holding
    assert answer.job_ids[0] == holder
    assert answer.existing == {holder}
    assert await states(database, [holder, answer.job_ids[1]]) == ["cancelled", "blocked"]
