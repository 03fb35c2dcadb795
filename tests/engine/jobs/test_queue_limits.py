"""Queue limits: exact under concurrency, and told in figures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
    ids_in,
    noop,
    register,
    several,
    submit,
    take,
    true_counts,
    value,
)
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.queues import QueueLimits, put_queue
from windlass.engine.jobs.request import Accepted
from windlass.engine.jobs.retain import fold_counters
from windlass.errors import QueueFull
from windlass.model.job.draft import Draft
from windlass.store.database import Database

pytestmark = pytest.mark.usefixtures("patient_door")


async def crowd(url: str, batches: Sequence[Sequence[Draft]]) -> list[Accepted | BaseException]:
    """All at once, through four processes' worth of pools."""
    async with several(url, 4) as databases:
        doors = [door(database) for database in databases]
        calls = [
            doors[n % 4].submit(batch[0]) if len(batch) == 1 else doors[n % 4].submit_batch(batch)
            for n, batch in enumerate(batches)
        ]
        return await asyncio.gather(*calls, return_exceptions=True)


async def test_a_full_queue_refuses_and_says_by_how_much(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=2))
    await submit(database, noop(queue="narrow"))
    with pytest.raises(QueueFull) as refused:
        await submit(database, noop(queue="narrow"), noop(queue="narrow"))
    full = {"queue": "narrow", "limit": 2, "current": 1, "requested": 2, "unit": "jobs"}
    assert refused.value.facts == full
    assert await counted(database) == {"narrow": {"queued": 1, "bytes": 2}}


async def test_bytes_are_counted_as_they_are_stored(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_bytes=20))
    await submit(database, noop(queue="narrow", input='{"a":"éé"}'))
    assert await counted(database) == {"narrow": {"queued": 1, "bytes": 12}}
    with pytest.raises(QueueFull) as refused:
        await submit(database, noop(queue="narrow", input='{"a":"é"}'))
    full = {"queue": "narrow", "limit": 20, "current": 12, "requested": 10, "unit": "bytes"}
    assert refused.value.facts == full
    await submit(database, noop(queue="narrow", input='{"a":12}'))


async def test_a_limit_of_nothing_lets_nothing_in(database: Database) -> None:
    await put_queue(database, "closed", QueueLimits(max_jobs=0))
    with pytest.raises(QueueFull):
        await submit(database, noop(queue="closed"))


@pytest.mark.parametrize("folds", [False, True], ids=["", "while counters are folded"])
async def test_max_jobs_is_exact_with_twenty_submitters_at_once(
    database: Database, database_url: str, folds: bool
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=17))
    batches = [[noop(queue="narrow")] * (1 + n % 3) for n in range(20)]
    is_over = asyncio.Event()

    async def fold() -> None:
        while folds and not is_over.is_set():
            await fold_counters(database)

    folding = asyncio.create_task(fold())
    answers = await crowd(database_url, batches)
    is_over.set()
    await folding
    assert {type(answer) for answer in answers} == {Accepted, QueueFull}
    stored = await value(database, "SELECT count(*) FROM windlass.job")
    assert stored == len(ids_in(answers)) <= 17
    refused = [len(b) for b, a in zip(batches, answers, strict=True) if isinstance(a, QueueFull)]
    assert stored + min(refused) > 17, "what was refused would not have fitted"


async def test_max_bytes_is_exact_with_twenty_submitters_at_once(
    database: Database, database_url: str
) -> None:
    await put_queue(database, "narrow", QueueLimits(max_bytes=500))
    batches = [[noop(queue="narrow", input=f'{{"a":"{"x" * 10 * n}"}}')] for n in range(20)]
    answers = await crowd(database_url, batches)
    assert {type(answer) for answer in answers} == {Accepted, QueueFull}
    stored = await value(database, "SELECT sum(input_bytes) FROM windlass.job")
    assert stored <= 500
    refused = [
        len(b[0].input) for b, a in zip(batches, answers, strict=True) if isinstance(a, QueueFull)
    ]
    assert stored + min(refused) > 500
    assert await counted(database) == await true_counts(database)


async def test_the_owners_default_holds_for_queues_without_a_limit_of_their_own(
    database: Database,
) -> None:
    await put_queue(database, "wide", QueueLimits(max_jobs=3))
    narrow = door(database, max_jobs=1)
    await narrow.submit(noop())
    with pytest.raises(QueueFull, match="holds 1 of 1 jobs"):
        await narrow.submit(noop())
    await narrow.submit_batch([noop(queue="wide")] * 3)


async def test_an_end_makes_room_and_a_retry_does_not(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=2))
    first, _ = await submit(database, noop(queue="narrow"), noop(queue="narrow"))
    node = await register(database)
    attempts = await take(database, node, 1)
    with pytest.raises(QueueFull):
        await submit(database, noop(queue="narrow"))
    await end(database, node, attempts)
    await submit(database, noop(queue="narrow"))
    with pytest.raises(QueueFull):
        await submit(database, noop(queue="narrow"))
    await cancel(database, await submit(database, noop()))
    assert attempts[0].job_id == first


async def test_a_refused_neighbour_in_the_same_commit_takes_no_room(database: Database) -> None:
    await put_queue(database, "narrow", QueueLimits(max_jobs=3))
    enqueuer = door(database)
    batches = [[noop(queue="narrow")] * 4, [noop(queue="narrow")] * 2, [noop(queue="narrow")]]
    answers = [
        await asyncio.gather(enqueuer.submit_batch(b), return_exceptions=True) for b in batches
    ]
    assert [isinstance(answer[0], Accepted) for answer in answers] == [False, True, True]


async def test_a_limit_that_is_set_meanwhile_holds_for_whoever_comes_after(
    database: Database,
) -> None:
    enqueuer = door(database)
    await enqueuer.submit_batch([noop()] * 5)
    await put_queue(database, "default", QueueLimits(max_jobs=5))
    with pytest.raises(QueueFull):
        await enqueuer.submit(noop())
    await put_queue(database, "default", QueueLimits())
    await enqueuer.submit(noop())
