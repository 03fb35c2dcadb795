"""Completion: a receiver that took a job over says how it ended, once."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any
from uuid import uuid4

import pytest

from tests.engine.hands import (
    counted,
    end,
    noop,
    patiently,
    register,
    row,
    several,
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
from tests.engine.jobs.family import after
from tests.engine.jobs.receivers import TOKEN, awaited, hand_over
from windlass.engine.doctor.doctor import doctor
from windlass.engine.effects import Effects
from windlass.engine.jobs.complete import Completer, complete, extend
from windlass.errors import NotAwaiting, NotFound, NotSettledYet, WrongToken
from windlass.model.job.outcome import Failed, Succeeded
from windlass.store.database import Database, Record, RowLocked

AT_ONCE = '{"initial": 0, "jitter": false}'


async def test_a_success_ends_the_job_and_lets_its_children_go(database: Database) -> None:
    parent, child = await submit(database, noop(), noop(**after(0)))
    node = await register(database)
    attempt = await take_one(database, node)
    attempt.detail = {"status_code": 202}
    await end(database, node, attempt, awaited())
    effects = await complete(database, parent, TOKEN, Succeeded(b'{"a": 1}'))
    assert effects.ended == {parent: "succeeded"}
    assert [one["child_id"] for one in effects.due] == [child]
    job = await row(database, parent)
    assert (job["state"], job["outcome"], job["result"]) == ("succeeded", "succeeded", '{"a": 1}')
    assert (job["attempt"], job["claim_id"], job["node_id"]) == (1, attempt.claim_id, node)
    kept = await value(database, "SELECT detail FROM windlass.job_history")
    assert json.loads(kept) == {"status_code": 202}, "what was delivered stays on record"
    assert await counted(database) == await true_counts(database)
    assert (await doctor(database)).findings == []


async def test_a_failure_is_tried_again_by_the_jobs_own_policy(database: Database) -> None:
    job_id, node, first = await hand_over(database, retry=AT_ONCE, max_attempts=2)
    effects = await complete(database, job_id, TOKEN, Failed("full", "no room"))
    assert [one["id"] for one in effects.requeued] == [job_id]
    [tried] = await database.read("attempt_list", [job_id])
    assert (tried["outcome"], tried["claim_id"]) == ("failed", first.claim_id)
    assert json.loads(tried["error"]) == {"cause": "full", "message": "no room"}
    left = "SELECT callback_until, callback_hash FROM windlass.job"
    assert [tuple(one) for one in await sql(database, left)] == [(None, None)]
    second = await take_one(database, node)
    await end(database, node, second, awaited("another token"))
    with pytest.raises(WrongToken):
        await complete(database, job_id, TOKEN, Succeeded())
    effects = await complete(database, job_id, "another token", Failed("full", "no room"))
    assert effects.ended == {job_id: "dead"}
    assert (await doctor(database)).findings == []


async def test_a_final_failure_is_not_tried_again(database: Database) -> None:
    job_id, _, _ = await hand_over(database)
    failure = Failed("gone", "no such customer", is_final=True)
    assert (await complete(database, job_id, TOKEN, failure)).ended == {job_id: "dead"}
    assert (await row(database, job_id))["cause"] == "gone"


async def test_only_the_bearer_of_the_token_completes_a_job(database: Database) -> None:
    job_id, _, _ = await hand_over(database)
    for token in ("", "a guess", TOKEN + " ", "ü", "\ud800"):
        with pytest.raises(WrongToken):
            await complete(database, job_id, token, Succeeded())
        with pytest.raises(WrongToken):
            await extend(database, job_id, token, 5)
    assert await state(database, job_id) == "running"


async def test_what_does_not_wait_cannot_be_completed(database: Database) -> None:
    with pytest.raises(NotFound):
        await complete(database, uuid4(), TOKEN, Succeeded())
    job_id = await submit_one(database)
    with pytest.raises(NotAwaiting):
        await complete(database, job_id, TOKEN, Succeeded())
    node = await register(database)
    attempt = await take_one(database, node)
    with pytest.raises(NotSettledYet):
        await complete(database, job_id, TOKEN, Succeeded(), early_seconds=0.05)
    await end(database, node, attempt)
    with pytest.raises(NotAwaiting):
        await complete(database, job_id, TOKEN, Succeeded())


async def test_the_same_completion_said_twice_is_no_error_and_another_one_is(
    database: Database,
) -> None:
    job_id, _, _ = await hand_over(database)
    await complete(database, job_id, TOKEN, Succeeded(b"1"))
    before = await row(database, job_id)
    assert await complete(database, job_id, TOKEN, Succeeded(b"1")) == Effects()
    for other in (Succeeded(b"2"), Succeeded(), Failed("x", "x")):
        with pytest.raises(NotAwaiting):
            await complete(database, job_id, TOKEN, other)
    with pytest.raises(NotAwaiting):
        await extend(database, job_id, TOKEN, 5)
    with pytest.raises(WrongToken):
        await complete(database, job_id, "a guess", Succeeded(b"1"))
    assert await row(database, job_id) == before


async def test_a_failure_said_again_after_the_job_went_on_is_refused_and_changes_nothing(
    database: Database,
) -> None:
    job_id, _, _ = await hand_over(database, retry=AT_ONCE, max_attempts=3)
    await complete(database, job_id, TOKEN, Failed("x", "not yet"))
    before = await row(database, job_id)
    with pytest.raises(NotAwaiting, match="is queued"):
        await complete(database, job_id, TOKEN, Failed("x", "not yet"))
    assert await row(database, job_id) == before


class Watched(Database):
    """Tells when somebody has read from it."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.has_looked = asyncio.Event()

    async def read(self, name: str, *args: Any) -> list[Record]:
        rows = await super().read(name, *args)
        self.has_looked.set()
        return rows


async def test_a_receiver_may_be_quicker_than_our_own_commit(
    database: Database, database_url: str
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    watched = Watched(database_url)
    await watched.open()
    try:
        said = asyncio.create_task(complete(watched, job_id, TOKEN, Succeeded(), early_seconds=10))
        await watched.has_looked.wait()
        await end(database, node, attempt, awaited())
        assert (await said).ended == {job_id: "succeeded"}
    finally:
        await watched.close()


async def test_of_completions_at_the_same_time_one_is_kept_and_only_it_is_told_so(
    database: Database, database_url: str
) -> None:
    """Thirty, through three nodes; each tenth says what another one says."""
    job_id, _, _ = await hand_over(database)
    results = [str(n // 2 if n % 10 == 1 else n).encode() for n in range(30)]
    async with several(database_url, 3) as databases:
        nodes = [Completer(one, lambda _: None) for one in databases]
        said = await asyncio.gather(
            *(
                patiently(partial(nodes[n % 3].complete, job_id, TOKEN, Succeeded(result)))
                for n, result in enumerate(results)
            ),
            return_exceptions=True,
        )
    kept = (await row(database, job_id))["result"].encode()
    assert [answer is None for answer in said] == [result == kept for result in results]
    assert all(isinstance(answer, NotAwaiting | None) for answer in said), said
    assert await counted(database) == await true_counts(database)


@pytest.mark.parametrize("retry", [None, AT_ONCE])
async def test_of_failures_at_the_same_time_one_is_kept_and_only_it_is_told_so(
    database: Database, database_url: str, retry: str | None
) -> None:
    fields: dict[str, Any] = {} if retry is None else {"retry": retry, "max_attempts": 2}
    job_id, _, _ = await hand_over(database, **fields)
    failures = [Failed("x", f"for the reason {n}", is_final=retry is None) for n in range(12)]
    async with several(database_url, 3) as databases:
        nodes = [Completer(one, lambda _: None) for one in databases]
        said = await asyncio.gather(
            *(nodes[n % 3].complete(job_id, TOKEN, failure) for n, failure in enumerate(failures)),
            return_exceptions=True,
        )
    job = await row(database, job_id)
    kept = json.loads(job["error"])["message"]
    assert job["state"] == ("dead" if retry is None else "queued")
    told = [failure.message for failure, answer in zip(failures, said, strict=True) if not answer]
    assert told == [kept]


async def test_a_thousand_that_call_before_their_deliveries_are_on_record_are_all_heard(
    database: Database,
) -> None:
    made = await submit(database, *[noop()] * 1_000)
    node = await register(database)
    attempts = await take(database, node) + await take(database, node)
    assert len(attempts) == len(made)
    ended = Effects()
    completer = Completer(database, ended.add, early_seconds=60)
    said = [
        asyncio.create_task(completer.complete(job_id, TOKEN, Succeeded(str(n).encode())))
        for n, job_id in enumerate(made)
    ]
    await asyncio.sleep(0)  # now all of them have asked, before any delivery is on record
    for n in range(0, len(attempts), 100):
        await end(database, node, attempts[n : n + 100], awaited())
    async with asyncio.timeout(60):
        await asyncio.gather(*said)
    assert ended.ended == dict.fromkeys(made, "succeeded")
    results = await sql(database, "SELECT id, result::text AS result FROM windlass.job_history")
    assert {one["id"]: one["result"] for one in results} == {j: str(n) for n, j in enumerate(made)}


async def test_who_calls_too_early_is_told_to_come_again_and_is_heard_then(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the node that delivered is cut off: nobody knows of the token meanwhile."""
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    with pytest.raises(NotSettledYet) as early:
        await complete(database, job_id, TOKEN, Succeeded(), early_seconds=0.05)
    assert (early.value.status, early.value.retry_after_seconds) == (503, 1)
    monkeypatch.setattr("windlass.engine.jobs.complete.EARLY_CALLERS_MAX", 0)
    with pytest.raises(NotSettledYet):
        await complete(database, job_id, TOKEN, Succeeded(), early_seconds=600)
    with pytest.raises(NotSettledYet):
        await extend(database, job_id, TOKEN, 5)
    await end(database, node, attempt, awaited())
    assert (await complete(database, job_id, TOKEN, Succeeded())).ended == {job_id: "succeeded"}


async def test_one_whose_row_somebody_holds_is_told_to_come_again_and_no_other_waits(
    database: Database,
) -> None:
    made = [(await hand_over(database))[0] for _ in range(5)]
    completer = Completer(database, lambda _: None)
    async with database.side() as holder, holder.transaction():
        await holder.fetch("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", made[2])
        said = await asyncio.gather(
            *(completer.complete(job_id, TOKEN, Succeeded()) for job_id in made),
            return_exceptions=True,
        )
    assert [type(answer) for answer in said] == [type(None)] * 2 + [RowLocked] + [type(None)] * 2
    await completer.complete(made[2], TOKEN, Succeeded())
    assert await states(database, made) == ["succeeded"] * 5
