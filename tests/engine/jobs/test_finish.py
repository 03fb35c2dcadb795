"""Finishing: at most once, only under the newest fence, and one bad row harms no neighbour."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.engine.hands import (
    counted,
    end,
    lapse,
    register,
    row,
    state,
    submit_one,
    take_one,
    value,
)
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.finish import finish
from windlass.engine.jobs.rescue import recover
from windlass.model.job.outcome import (
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.model.job.settle import settle
from windlass.store.database import Database


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Succeeded(b'{"a": 1}'), "succeeded"),
        (Succeeded(), "succeeded"),
        (Failed("http 404", "gone", is_final=True), "dead"),
        (Cancelled(), "cancelled"),
    ],
    ids=["result", "no result", "final failure", "cancelled"],
)
async def test_an_end_is_written_with_all_that_is_known(
    database: Database, outcome: Outcome, expected: str
) -> None:
    job_id = await submit_one(database, key="k", tags=("t",))
    node = await register(database)
    attempt = await take_one(database, node)
    settled = await end(database, node, attempt, outcome)
    assert (settled.effects.ended, settled.refused) == ({job_id: expected}, set())
    job = await row(database, job_id)
    assert (job["state"], job["outcome"], job["node_id"]) == (expected, outcome.name, node)
    assert job["finished_at"] >= job["started_at"] == attempt.started_at
    assert (job["key"], job["tags"], job["attempt"]) == ("k", ["t"], 1)
    assert job["result"] == ('{"a": 1}' if outcome == Succeeded(b'{"a": 1}') else None)
    assert job["cause"] == (outcome.cause if isinstance(outcome, Failed) else None)


OUTCOMES = (Succeeded(), Failed("gone", "no", is_final=True), Succeeded(b"1"), Cancelled())


@pytest.mark.parametrize("places", [(0, 0), (0, 1), (1, 0), (0, 2), (3, 0, 2, 1)])
async def test_what_a_batch_leaves_out_since_all_are_alike_is_on_record_for_each(
    database: Database, places: tuple[int, ...]
) -> None:
    node = await register(database)
    outcomes = [OUTCOMES[place] for place in places]
    for _ in outcomes:
        await submit_one(database)
    attempts = [await take_one(database, node) for _ in outcomes]
    batch = [settle(*pair, 0.5) for pair in zip(attempts, outcomes, strict=True)]
    settled = await finish(database, node, batch)
    assert settled.effects.ended == {one.job_id: one.state for one in batch}
    for settlement, outcome in zip(batch, outcomes, strict=True):
        job = await row(database, settlement.job_id)
        assert (job["state"], job["outcome"]) == (settlement.state, outcome.name)
        assert (job["result"], job["cause"]) == (settlement.result, settlement.cause)


@pytest.mark.parametrize(
    "outcome", [Failed("ValueError", "no"), TimedOut(1), Crashed("died")], ids=lambda o: o.name
)
async def test_a_failure_goes_back_with_its_attempt_on_record(
    database: Database, outcome: Outcome
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    before = await row(database, job_id)
    attempt = await take_one(database, node)
    settled = await end(database, node, attempt, outcome)
    job = await row(database, job_id)
    assert [one["id"] for one in settled.effects.requeued] == [job_id]
    assert (job["state"], job["node_id"], job["claim_id"], job["attempt"]) == (
        "queued",
        None,
        None,
        1,
    )
    assert (job["run_at"] - attempt.started_at).total_seconds() >= 1, (
        "it rests before it tries again"
    )
    assert job["crashes"] == isinstance(outcome, Crashed)
    [kept] = await database.read("attempt_list", [job_id])
    assert (kept["attempt"], kept["node_id"], kept["claim_id"]) == (1, node, attempt.claim_id)
    assert (kept["outcome"], kept["next_run_at"]) == (outcome.name, job["run_at"])
    assert kept["due_at"] == before["run_at"]
    assert json.loads(kept["error"]) == json.loads(job["error"])


async def test_tries_are_spent_one_by_one_until_the_job_is_dead(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=3, retry='{"max_attempts": 3, "initial": 0}')
    node = await register(database)
    tries = [
        await end(database, node, await take_one(database, node), Failed("x", f"{n}"))
        for n in range(3)
    ]
    assert [settled.effects.ended for settled in tries] == [{}, {}, {job_id: "dead"}]
    job = await row(database, job_id)
    assert (job["attempt"], job["cause"], json.loads(job["error"])["message"]) == (3, "x", "2")
    assert len(await database.read("attempt_list", [job_id])) == 2, "the last is the job's own row"


async def test_a_snooze_spends_no_attempt(database: Database) -> None:
    job_id = await submit_one(database, max_attempts=1)
    node = await register(database)
    for number in (1, 2, 3):
        attempt = await take_one(database, node)
        assert (attempt.number, attempt.tries) == (number, 1)
        await end(database, node, attempt, Snoozed(0))
    assert (await row(database, job_id))["snoozes"] == 3
    await end(database, node, await take_one(database, node), Failed("x", "x"))
    assert await state(database, job_id) == "dead"


async def test_a_late_answer_after_a_rescue_changes_nothing(database: Database) -> None:
    job_id = await submit_one(database)
    frozen, other = await register(database), await register(database)
    old = await take_one(database, frozen)
    await lapse(database, frozen)
    await recover(database)
    queued = await row(database, job_id)
    for outcome in (Succeeded(), Failed("x", "x"), Snoozed(9), Cancelled()):
        assert (await end(database, frozen, old, outcome)).refused == {job_id}
    assert await row(database, job_id) == queued, "while it is queued again"
    new = await take_one(database, other)
    for outcome in (Succeeded(), Failed("x", "x"), Snoozed(9), Cancelled()):
        assert (await end(database, frozen, old, outcome)).refused == {job_id}
    assert (await row(database, job_id))["claim_id"] == new.claim_id, "while another runs it"
    await end(database, other, new, Succeeded(b"1"))
    assert (await end(database, frozen, old, Failed("x", "x"))).refused == {job_id}
    assert (await row(database, job_id))["result"] == "1", "when it has ended"
    assert len(await database.read("attempt_list", [job_id])) == 1, "the lost one"


@pytest.mark.parametrize("outcome", [Succeeded(), Failed("x", "x"), Snoozed(1)])
async def test_half_a_fence_is_no_fence(database: Database, outcome: Outcome) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    for wrong in (replace(attempt, claim_id=uuid4()), replace(attempt, number=2)):
        assert (await end(database, node, wrong, outcome)).refused == {job_id}
    assert (await row(database, job_id))["state"] == "running"
    assert (await end(database, node, attempt, outcome)).refused == set()


async def test_an_answer_that_is_given_twice_counts_once(database: Database) -> None:
    """The first one's commit may be unknown to who asks again; another word is still refused."""
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    first = await end(database, node, attempt, Succeeded(b"1"))
    before = await row(database, job_id)
    again = await end(database, node, attempt, Succeeded(b"2"))
    assert first.effects.ended == again.effects.ended == {job_id: "succeeded"}
    assert again.refused == set()
    assert (await end(database, node, attempt, Failed("x", "x"))).refused == {job_id}
    assert await row(database, job_id) == before
    assert await counted(database) == {"default": {"succeeded": 1}}


async def test_ten_that_answer_at_once_are_one_answer(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    outcomes = [Succeeded(b"%d" % n) for n in range(10)]
    await asyncio.gather(*(end(database, node, attempt, outcome) for outcome in outcomes))
    assert await value(database, "SELECT count(*) FROM windlass.job_history") == 1
    assert await state(database, job_id) == "succeeded"


async def test_an_answer_for_a_job_that_is_gone_is_refused(database: Database) -> None:
    node = await register(database)
    await submit_one(database)
    attempt = replace(await take_one(database, node), job_id=uuid4())
    assert (await end(database, node, attempt)).refused == {attempt.job_id}


@pytest.mark.parametrize(
    "outcome",
    [Succeeded(b"1"), Failed("x", "x"), Failed("x", "x", is_final=True), Snoozed(1), Crashed("x")],
    ids=["success", "retry", "death", "snooze", "crash"],
)
async def test_a_job_asked_to_stop_ends_cancelled_whatever_its_attempt_says(
    database: Database, outcome: Outcome
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    await cancel(database, [job_id])
    assert (await end(database, node, attempt, outcome)).effects.ended == {job_id: "cancelled"}
    job = await row(database, job_id)
    assert (job["state"], job["outcome"], job["result"]) == ("cancelled", "cancelled", None)
    assert job["cancel_requested_at"] is not None
