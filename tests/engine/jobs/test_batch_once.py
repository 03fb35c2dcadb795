"""Plain batches under an Idempotency-Key, as clients send them: made once, all or nothing."""

from __future__ import annotations

import asyncio

import pytest

from tests.engine.hands import counted, door, noop, several
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted, Idempotency
from windlass.errors import IdempotencyMismatch, QueueFull
from windlass.store.database import Database

pytestmark = pytest.mark.usefixtures("patient_door")

MARK = Idempotency(owner="key_1", key="orders", body_hash=b"body")


async def test_twenty_at_once_are_one_batch(database: Database, database_url: str) -> None:
    drafts = [noop() for _ in range(20)]
    async with several(database_url, 4) as databases:
        answers = await asyncio.gather(
            *(door(databases[n % 4]).submit_batch(drafts, MARK) for n in range(20))
        )
    assert len({tuple(answer.job_ids) for answer in answers}) == 1
    assert sorted(answer.is_replayed for answer in answers) == [False] + [True] * 19
    assert await counted(database) == {"default": {"queued": 20, "bytes": 40}}


async def test_another_batch_under_the_key_is_refused(database: Database) -> None:
    await door(database).submit_batch([noop(), noop()], MARK)
    other = Idempotency(owner=MARK.owner, key=MARK.key, body_hash=b"other")
    with pytest.raises(IdempotencyMismatch):
        await door(database).submit_batch([noop(), noop(), noop()], other)
    assert await counted(database) == {"default": {"queued": 2, "bytes": 4}}


async def test_a_batch_without_room_leaves_nothing_and_its_key_free(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=2))
    drafts = [noop(queue="narrow") for _ in range(3)]
    with pytest.raises(QueueFull):
        await door(database).submit_batch(drafts, MARK)
    await put_queue(database, "narrow", QueueLimits(max_jobs=3))

    first = await door(database).submit_batch(drafts, MARK)
    again = await door(database).submit_batch(drafts, MARK)

    assert again == Accepted(job_ids=first.job_ids, is_replayed=True)
    assert await counted(database) == {"narrow": {"queued": 3, "bytes": 6}}


async def test_a_batch_that_comes_twice_fills_a_queue_once(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=3))
    drafts = [noop(queue="narrow") for _ in range(2)]
    await door(database).submit_batch(drafts, MARK)
    assert (await door(database).submit_batch(drafts, MARK)).is_replayed
    with pytest.raises(QueueFull) as refused:
        await door(database).submit_batch(drafts)
    assert (refused.value.current, refused.value.requested) == (2, 2)
