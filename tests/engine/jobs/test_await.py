"""Waiting for a receiver: no node is needed, until its time is over or somebody cancels."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256

import pytest

from tests.engine.hands import (
    counted,
    end,
    lapse,
    noop,
    patiently,
    register,
    row,
    several,
    sql,
    state,
    submit,
    submit_one,
    take,
    take_one,
    true_counts,
    until_sql,
    value,
)
from tests.engine.jobs.family import after
from tests.engine.jobs.receivers import TOKEN, awaited, be_late, hand_over
from windlass.engine.doctor.doctor import doctor
from windlass.engine.effects import Effects
from windlass.engine.jobs.cancel import cancel, find_cancel_requested
from windlass.engine.jobs.claim import find_claimed
from windlass.engine.jobs.complete import complete, extend
from windlass.engine.jobs.finish import finish
from windlass.engine.jobs.rescue import recover
from windlass.engine.jobs.why import explain
from windlass.errors import NotAwaiting
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.store.database import Database
from windlass.store.statements import statement

AT_ONCE = '{"initial": 0, "jitter": false}'


async def test_a_job_that_waits_for_its_receiver_needs_no_node(database: Database) -> None:
    job_id, node, attempt = await hand_over(database)
    before = await row(database, job_id)
    await lapse(database, node)
    assert await recover(database) == Effects()
    await sql(database, "DELETE FROM windlass.node")
    assert await recover(database) == Effects()
    assert await find_claimed(database, node, -1) == [], (
        "a node that reconciles does not hand it back"
    )
    after_all = await row(database, job_id)
    assert (after_all["state"], after_all["node_id"]) == ("running", node)
    assert (after_all["attempt"], after_all["claim_id"]) == (1, attempt.claim_id)
    assert after_all == before
    assert (await doctor(database)).findings == []


async def test_an_answer_lost_on_its_way_is_recognised_when_it_is_said_again(
    database: Database,
) -> None:
    job_id, node, attempt = await hand_over(database)
    patience = "SELECT callback_until FROM windlass.job"
    before = await value(database, patience)
    again = await end(database, node, attempt, awaited(patience_seconds=6_000))
    assert (again.awaited, again.refused) == ({job_id}, set())
    assert await value(database, patience) == before
    assert await value(database, "SELECT count(*) FROM windlass.event WHERE type = 'awaited'") == 1


async def test_an_answer_said_again_while_the_first_is_being_committed_cancels_nothing(
    database: Database,
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    said = settle(attempt, awaited(), 0)
    async with database.side() as slow, slow.transaction():
        token = sha256(TOKEN.encode()).digest()
        fence = ([job_id], [attempt.number], [attempt.claim_id])
        await slow.fetch(statement("job_await_many"), *fence, [600.0], [token], [None])
        again = asyncio.create_task(patiently(lambda: finish(database, node, [said])))
        await until_sql(database, "SELECT count(*) FROM pg_locks WHERE NOT granted")
    settled = await again
    assert (settled.awaited, settled.effects.ended) == ({job_id}, {})
    assert await state(database, job_id) == "running"


@pytest.mark.parametrize("is_final", [False, True], ids=["retried", "dead"])
async def test_also_when_the_receiver_has_completed_it_meanwhile(
    database: Database, is_final: bool
) -> None:
    job_id, node, attempt = await hand_over(database)
    await complete(database, job_id, TOKEN, Failed("x", "x", is_final=is_final))
    before = await row(database, job_id)
    assert (await end(database, node, attempt, awaited())).refused == set()
    assert await row(database, job_id) == before


async def test_a_late_answer_of_a_lost_node_does_not_wait_for_a_receiver(
    database: Database,
) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    await lapse(database, node)
    await recover(database)
    settled = await end(database, node, attempt, awaited())
    assert (settled.awaited, settled.refused) == (set(), {job_id})
    assert await state(database, job_id) == "queued"


async def test_a_job_asked_to_stop_does_not_begin_to_wait(database: Database) -> None:
    job_id = await submit_one(database)
    node = await register(database)
    attempt = await take_one(database, node)
    await cancel(database, [job_id])
    for _ in range(2):
        settled = await end(database, node, attempt, awaited())
        assert (settled.effects.ended, settled.refused) == ({job_id: "cancelled"}, set())


async def test_why_says_that_the_receiver_has_it_and_until_when(database: Database) -> None:
    job_id, _, _ = await hand_over(database)
    why = await explain(database, job_id)
    patience = await value(database, "SELECT callback_until FROM windlass.job")
    assert why.summary.startswith("attempt 1 was delivered; the receiver will complete it until 20")
    assert [(gate.gate, gate.until) for gate in why.gates] == [("callback", patience)]


async def test_a_receiver_may_ask_for_more_time(database: Database) -> None:
    job_id, _, _ = await hand_over(database)
    await be_late(database)
    granted = await extend(database, job_id, TOKEN, 60)
    assert await recover(database) == Effects()
    left = await value(database, "SELECT callback_until - now() FROM windlass.job")
    assert 50 < left.total_seconds() <= 60
    assert granted == await value(database, "SELECT callback_until FROM windlass.job")


async def test_a_receiver_that_stays_silent_costs_the_job_a_try(database: Database) -> None:
    job_id, node, first = await hand_over(database, retry=AT_ONCE, max_attempts=2)
    assert await recover(database) == Effects(), "it has time yet"
    await be_late(database)
    assert [one["id"] for one in (await recover(database)).requeued] == [job_id]
    [tried] = await database.read("attempt_list", [job_id])
    assert (tried["outcome"], tried["node_id"]) == ("timed_out", node)
    assert "the receiver's completion did not come" in json.loads(tried["error"])["message"]
    kept = await value(database, "SELECT detail FROM windlass.attempt")
    assert json.loads(kept) == {"status_code": 202}
    with pytest.raises(NotAwaiting):
        await complete(database, job_id, TOKEN, Succeeded())
    second = await take_one(database, node)
    assert (second.number, second.claim_id != first.claim_id) == (2, True)
    await end(database, node, second, awaited("another token"))
    await be_late(database)
    assert (await recover(database)).ended == {job_id: "dead"}
    assert (await row(database, job_id))["cause"] == "timeout"
    assert (await doctor(database)).findings == []


async def test_nodes_that_give_up_at_the_same_time_do_it_once(
    database: Database, database_url: str
) -> None:
    made = await submit(database, *[noop(retry=AT_ONCE)] * 40)
    node = await register(database)
    await end(database, node, await take(database, node), awaited())
    await be_late(database)
    async with several(database_url, 4) as databases:
        done = await asyncio.gather(*(recover(one) for one in databases))
    assert sorted(one["id"] for effects in done for one in effects.requeued) == made
    assert len(await database.read("attempt_list", made)) == 40
    assert await counted(database) == await true_counts(database)


async def test_cancelling_ends_at_once_what_waits_for_its_receiver(database: Database) -> None:
    parent, child = await submit(database, noop(), noop(**after(0)))
    node = await register(database)
    await end(database, node, await take_one(database, node), awaited())
    done = await cancel(database, [parent])
    assert (done.ended, done.stopping) == ({parent: "cancelled", child: "skipped"}, {})
    assert await find_cancel_requested(database, node) == []
    with pytest.raises(NotAwaiting):
        await complete(database, parent, TOKEN, Succeeded())
    assert await states_of(database) == {"cancelled": 1, "skipped": 1}
    assert (await doctor(database)).findings == []


async def states_of(database: Database) -> dict[str, int]:
    rows = await sql(database, "SELECT state, count(*) FROM windlass.job_history GROUP BY state")
    return {one["state"]: one["count"] for one in rows}
