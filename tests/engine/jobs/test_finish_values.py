"""Finishing many: one bad row harms no neighbour, and a lost answer is asked for again."""

from __future__ import annotations

import asyncio
import contextlib
import json
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import (
    counted,
    end,
    noop,
    register,
    row,
    sql,
    states,
    submit,
    submit_one,
    take,
    take_one,
    true_counts,
)
from windlass.engine.jobs.finish import Settled, finish
from windlass.errors import Unavailable
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Cancelled, Failed, Outcome, Snoozed, Succeeded
from windlass.model.job.settle import Settlement, settle
from windlass.store.database import Database


def settled(attempt: Attempt, result: str) -> Settlement:
    settlement = settle(attempt, Succeeded(), 0.5)
    settlement.result = result  # as if nobody had looked at it before
    return settlement


@pytest.mark.parametrize("result", ["not json", '"\x00"', '"\ud800"', ""])
async def test_a_result_that_cannot_be_stored_does_not_keep_the_job_running(
    database: Database, result: str
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    finished = await finish(database, node, [settled(attempt, result=result)])
    assert finished.effects.ended == {job_id: "succeeded"}
    job = await row(database, job_id)
    assert job["result"] is None
    assert json.loads(job["error"])["cause"] == "unstorable"


async def test_a_bad_row_among_good_ones_harms_none_of_them(database: Database) -> None:
    made = await submit(database, *[noop()] * 12)
    node = await register(database)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    batch = [settled(attempts[job_id], result=f"{n}") for n, job_id in enumerate(made)]
    batch[4].result = "not json"
    batch[7] = settle(attempts[made[7]], Failed("x", "x"), 0.5)
    batch[9].claim_id = uuid4()
    finished = await finish(database, node, batch)
    assert finished.refused == {made[9]}
    assert finished.effects.ended == {made[n]: "succeeded" for n in range(12) if n not in (7, 9)}
    again = [one["id"] for one in finished.effects.requeued]
    assert again == [made[7]], "and whoever waits for it is told"
    expected = ["queued" if n == 7 else "running" if n == 9 else "succeeded" for n in range(12)]
    assert await states(database, made) == expected
    results = [(await row(database, made[n]))["result"] for n in (0, 3, 4, 5, 11)]
    assert results == ["0", "3", None, "5", "11"]


async def test_a_bad_error_among_retries_harms_none_of_them(database: Database) -> None:
    made = await submit(database, *[noop()] * 5)
    node = await register(database)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    batch = [settle(attempts[job_id], Failed("x", "x"), 0.5) for job_id in made]
    batch[2].error = "not json"
    settled = await finish(database, node, batch)
    assert {one["id"] for one in settled.effects.requeued} == set(made)
    assert (settled.effects.ended, settled.refused) == ({}, set())
    assert json.loads((await row(database, made[2]))["error"])["cause"] == "unstorable"


async def test_a_large_mixed_batch_ends_as_it_says(database: Database) -> None:
    outcomes: list[Outcome] = [Succeeded(b"1"), Failed("x", "x"), Failed("x", "x", is_final=True)]
    outcomes += [Snoozed(60), Cancelled()]
    made = await submit(database, *[noop()] * 250)
    node = await register(database)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    chosen = {job_id: outcomes[n % 5] for n, job_id in enumerate(made)}
    batch = [settle(attempts[job_id], outcome, 0.5) for job_id, outcome in chosen.items()]
    settled = await finish(database, node, batch)
    assert len(settled.effects.ended) == 150
    assert len(settled.effects.requeued) == 100
    names = ["succeeded", "queued", "dead", "queued", "cancelled"]
    assert await states(database, made) == [names[n % 5] for n in range(250)]
    assert await counted(database) == await true_counts(database)


async def test_a_finish_whose_answer_is_lost_may_be_repeated(database: Database) -> None:
    """The connection is cut while the answer is on its way, again and again."""
    node = await register(database)
    made = await submit(database, *[noop()] * 40)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    kill = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND application_name LIKE '% settling'"""

    async def cut(after_seconds: float) -> None:
        await asyncio.sleep(after_seconds)
        await sql(database, kill)

    async def until_answered(attempt: Attempt, outcome: Outcome) -> Settled:
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(Unavailable):
                    return await end(database, node, attempt, outcome)

    refused: set[UUID] = set()
    for n, job_id in enumerate(made):
        outcome = Succeeded() if n % 2 else Failed("x", "x")
        settled, _ = await asyncio.gather(
            until_answered(attempts[job_id], outcome), cut(0.0005 * (n % 8))
        )
        refused |= settled.refused
    assert await states(database, made) == ["queued", "succeeded"] * 20
    assert refused == set()
    assert len(await database.read("attempt_list", made)) == 20
