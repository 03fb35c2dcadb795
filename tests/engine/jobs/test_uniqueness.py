"""Idempotency keys and unique keys: the same request is one request, whoever sends it how often."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import asyncpg
import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    ids_in,
    noop,
    register,
    run_all,
    several,
    states,
    submit_one,
    take,
    until_sql,
)
from windlass.engine.executions.step_rows import StepJob
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.replay import delete
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.engine.upcalls import Reservation
from windlass.errors import IdempotencyMismatch, InvalidInput
from windlass.model.job.attempt import Attempt
from windlass.model.job.draft import Draft
from windlass.store.database import Database
from windlass.store.statements import statement

pytestmark = pytest.mark.usefixtures("patient_door")

WAITS_FOR_A_ROW = """
SELECT count(*) FROM pg_stat_activity
WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%idempotency_take%'
"""


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


async def test_two_bodies_that_a_unique_key_leads_to_one_job_are_two_all_the_same(
    database: Database, database_url: str
) -> None:
    """What one of them asks for is not what the other does, and its caller must hear of that."""
    job_id = await submit_one(database, key="order-42")
    async with several(database_url, 1) as [other], database.side() as first:
        async with first.transaction():
            taken = ["key_1"], ["order-42"], [b"a"], [str(job_id)]
            await first.fetch(statement("idempotency_take_many"), *taken)
            asked = door(other).submit(noop(key="order-42"), mark(body=b"b"))
            second = asyncio.create_task(asked)
            await until_sql(database, WAITS_FOR_A_ROW)
        with pytest.raises(IdempotencyMismatch):
            await second


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


class FreeNode:
    """A node with a place for whatever comes; what it is given to begin is `begun`."""

    def __init__(self, node_id: UUID) -> None:
        self._node_id = node_id
        self.begun: list[Attempt] = []

    def park(self, drafts: Sequence[Draft]) -> list[str]:
        return []

    def parked(self) -> None:
        raise AssertionError("nothing was")

    def reserve(self, drafts: Sequence[Draft]) -> Reservation:
        starts = [True] * len(drafts)
        return Reservation(
            node_id=self._node_id, claim_id=uuid4(), starts=starts, slots=len(drafts)
        )

    def reserve_first(self, jobs: Sequence[StepJob]) -> None:
        return None

    def begin(self, reservation: Reservation, attempts: list[Attempt]) -> None:
        self.begun += attempts

    def doubt(self, reservation: Reservation) -> None:
        raise AssertionError("nothing was cut")


async def test_a_job_with_an_idempotency_key_begins_as_it_is_inserted_and_only_once(
    database: Database,
) -> None:
    await submit_one(database)  # its queue is known from now on
    node = FreeNode(await register(database))
    enqueuer = Enqueuer(database, follow=lambda _: None, starter=node)
    answers = await asyncio.gather(*(enqueuer.submit(noop(), mark(f"{n % 5}")) for n in range(15)))
    assert len(ids_in(answers)) == 5
    assert sorted(a.is_replayed for a in answers) == [False] * 5 + [True] * 10
    assert {attempt.job_id for attempt in node.begun} == ids_in(answers)
    assert len(node.begun) == 5
    again = await enqueuer.submit(noop(), mark("3"))
    assert again.is_replayed
    assert again.job_ids[0] in ids_in(answers)
    with pytest.raises(IdempotencyMismatch):
        await enqueuer.submit(noop(), mark("3", body=b"other"))
    assert len(node.begun) == 5
    assert await counted(database) == {"default": {"queued": 1, "running": 5, "bytes": 12}}


async def test_a_key_that_somebody_is_just_taking_keeps_no_other_submission(
    database: Database, database_url: str
) -> None:
    enqueuer = door(database)
    await submit_one(database)
    other = await asyncpg.connect(database_url)
    try:
        taking = other.transaction()
        await taking.start()
        await other.fetch(
            statement("idempotency_take_many"), ["key_1"], ["held"], [b"body"], [uuid4().hex]
        )
        held = asyncio.create_task(enqueuer.submit(noop(), mark("held")))
        for n in range(10):
            assert not (await enqueuer.submit(noop(), mark(f"free {n}"))).is_replayed
            await enqueuer.submit(noop())
        assert not held.done()
        await taking.rollback()
        assert not (await held).is_replayed
    finally:
        await other.close()
