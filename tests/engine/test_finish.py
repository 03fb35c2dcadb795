"""Finishing: at most once, only under the newest fence, and one bad row harms no neighbour."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from tests.engine.hands import (
    counted,
    end,
    lapse,
    noop,
    register,
    row,
    sql,
    state,
    states,
    submit,
    submit_one,
    take,
    take_one,
    true_counts,
    value,
)
from windlass.engine.cancel import cancel
from windlass.engine.finish import Finished, finish
from windlass.engine.rescue import rescue
from windlass.errors import Unavailable
from windlass.model.attempt import Attempt
from windlass.model.outcome import Cancelled, Crashed, Failed, Outcome, Snoozed, Succeeded, TimedOut
from windlass.model.settle import Settlement, settle
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
    finished = await end(database, node, attempt, outcome)
    assert (finished.ended, finished.refused) == ({job_id: expected}, set())
    job = await row(database, job_id)
    assert (job["state"], job["outcome"], job["node_id"]) == (expected, outcome.name, node)
    assert job["finished_at"] >= job["started_at"] == attempt.started_at
    assert (job["key"], job["tags"], job["attempt"]) == ("k", ["t"], 1)
    assert job["result"] == ('{"a": 1}' if outcome == Succeeded(b'{"a": 1}') else None)
    assert job["cause"] == (outcome.cause if isinstance(outcome, Failed) else None)


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
    finished = await end(database, node, attempt, outcome)
    job = await row(database, job_id)
    assert [one["id"] for one in finished.requeued] == [job_id]
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
    ends = [
        (await end(database, node, await take_one(database, node), Failed("x", f"{n}"))).ended
        for n in range(3)
    ]
    assert ends == [{}, {}, {job_id: "dead"}]
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
    await rescue(database)
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
    assert (first.ended, again.ended, again.refused) == ({job_id: "succeeded"},) * 2 + (set(),)
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
    assert (await end(database, node, attempt, outcome)).ended == {job_id: "cancelled"}
    job = await row(database, job_id)
    assert (job["state"], job["outcome"], job["result"]) == ("cancelled", "cancelled", None)
    assert job["cancel_requested_at"] is not None


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
    assert finished.ended == {job_id: "succeeded"}
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
    assert finished.ended == {made[n]: "succeeded" for n in range(12) if n not in (7, 9)}
    assert [one["id"] for one in finished.requeued] == [made[7]], "and whoever waits for it is told"
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
    finished = await finish(database, node, batch)
    assert {one["id"] for one in finished.requeued} == set(made)
    assert (finished.ended, finished.refused) == ({}, set())
    assert json.loads((await row(database, made[2]))["error"])["cause"] == "unstorable"


async def test_a_large_mixed_batch_ends_as_it_says(database: Database) -> None:
    outcomes: list[Outcome] = [Succeeded(b"1"), Failed("x", "x"), Failed("x", "x", is_final=True)]
    outcomes += [Snoozed(60), Cancelled()]
    made = await submit(database, *[noop()] * 250)
    node = await register(database)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    chosen = {job_id: outcomes[n % 5] for n, job_id in enumerate(made)}
    batch = [settle(attempts[job_id], outcome, 0.5) for job_id, outcome in chosen.items()]
    finished = await finish(database, node, batch)
    assert len(finished.ended) == 150
    assert len(finished.requeued) == 100
    names = ["succeeded", "queued", "dead", "queued", "cancelled"]
    assert await states(database, made) == [names[n % 5] for n in range(250)]
    assert await counted(database) == await true_counts(database)


async def test_a_finish_whose_answer_is_lost_may_be_repeated(database: Database) -> None:
    """The connection is cut while the answer is on its way, again and again."""
    node = await register(database)
    made = await submit(database, *[noop()] * 40)
    attempts = {attempt.job_id: attempt for attempt in await take(database, node)}
    kill = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE datname = current_database() AND application_name LIKE '% hot'"""

    async def cut(after_seconds: float) -> None:
        await asyncio.sleep(after_seconds)
        await sql(database, kill)

    async def until_answered(attempt: Attempt, outcome: Outcome) -> Finished:
        async with asyncio.timeout(10):
            while True:
                with contextlib.suppress(Unavailable):
                    return await end(database, node, attempt, outcome)

    refused: set[UUID] = set()
    for n, job_id in enumerate(made):
        outcome = Succeeded() if n % 2 else Failed("x", "x")
        finished, _ = await asyncio.gather(
            until_answered(attempts[job_id], outcome), cut(0.0005 * (n % 8))
        )
        refused |= finished.refused
    assert await states(database, made) == ["queued", "succeeded"] * 20
    assert refused == set()
    assert len(await database.read("attempt_list", made)) == 20
