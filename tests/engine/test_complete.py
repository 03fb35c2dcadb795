"""Completion: a receiver that took a job over says how it ended, once."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

import pytest

from tests.engine.family import after
from tests.engine.hands import (
    counted,
    end,
    noop,
    register,
    row,
    several,
    sql,
    state,
    submit,
    submit_one,
    take_one,
    true_counts,
    value,
)
from tests.engine.receivers import TOKEN, awaited, hand_over
from windlass.engine.complete import complete, extend
from windlass.engine.doctor import doctor
from windlass.engine.finished import Finished
from windlass.errors import NotAwaiting, NotFound, WrongToken
from windlass.model.outcome import Failed, Succeeded
from windlass.store.database import Database, Record

AT_ONCE = '{"initial": 0, "jitter": false}'


async def test_a_success_ends_the_job_and_lets_its_children_go(database: Database) -> None:
    parent, child = await submit(database, noop(), noop(**after(0)))
    node = await register(database)
    attempt = await take_one(database, node)
    attempt.detail = {"status_code": 202}
    await end(database, node, attempt, awaited())
    finished = await complete(database, parent, TOKEN, Succeeded(b'{"a": 1}'))
    assert finished.ended == {parent: "succeeded"}
    assert [one["child_id"] for one in finished.ready] == [child]
    job = await row(database, parent)
    assert (job["state"], job["outcome"], job["result"]) == ("succeeded", "succeeded", '{"a": 1}')
    assert (job["attempt"], job["claim_id"], job["node_id"]) == (1, attempt.claim_id, node)
    kept = await value(database, "SELECT detail FROM windlass.job_history")
    assert json.loads(kept) == {"status_code": 202}, "what was delivered stays on record"
    assert await counted(database) == await true_counts(database)
    assert (await doctor(database)).findings == []


async def test_a_failure_is_tried_again_by_the_jobs_own_policy(database: Database) -> None:
    job_id, node, first = await hand_over(database, retry=AT_ONCE, max_attempts=2)
    finished = await complete(database, job_id, TOKEN, Failed("full", "no room"))
    assert [one["id"] for one in finished.requeued] == [job_id]
    [tried] = await database.read("attempt_list", [job_id])
    assert (tried["outcome"], tried["claim_id"]) == ("failed", first.claim_id)
    assert json.loads(tried["error"]) == {"cause": "full", "message": "no room"}
    left = "SELECT callback_until, callback_hash FROM windlass.job"
    assert [tuple(one) for one in await sql(database, left)] == [(None, None)]
    second = await take_one(database, node)
    await end(database, node, second, awaited("another token"))
    with pytest.raises(WrongToken):
        await complete(database, job_id, TOKEN, Succeeded())
    finished = await complete(database, job_id, "another token", Failed("full", "no room"))
    assert finished.ended == {job_id: "dead"}
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
    with pytest.raises(NotAwaiting):
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
    assert await complete(database, job_id, TOKEN, Succeeded(b"1")) == Finished()
    for other in (Succeeded(b"2"), Succeeded(), Failed("x", "x")):
        with pytest.raises(NotAwaiting):
            await complete(database, job_id, TOKEN, other)
    with pytest.raises(NotAwaiting):
        await extend(database, job_id, TOKEN, 5)
    with pytest.raises(WrongToken):
        await complete(database, job_id, "a guess", Succeeded(b"1"))
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


async def test_of_completions_at_the_same_time_one_counts(
    database: Database, database_url: str
) -> None:
    job_id, _, _ = await hand_over(database)
    async with several(database_url, 4) as databases:
        said = await asyncio.gather(
            *(
                complete(one, job_id, TOKEN, Succeeded(str(n).encode()))
                for n, one in enumerate(databases)
            ),
            return_exceptions=True,
        )
    ended = [one for one in said if isinstance(one, Finished)]
    assert ended, said
    assert all(isinstance(one, Finished | NotAwaiting) for one in said)
    assert await state(database, job_id) == "succeeded"
    assert await counted(database) == await true_counts(database)
