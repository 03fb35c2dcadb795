"""Dependencies: no child begins before its parents have ended as it requires; none is forgotten."""

from __future__ import annotations

import json

import pytest

from tests.engine.hands import (
    counted,
    door,
    end,
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
from tests.engine.jobs.family import after, no_links, take_all
from windlass.engine.jobs.cancel import cancel
from windlass.engine.jobs.rescue import recover
from windlass.errors import InvalidInput
from windlass.limits import CRASHES_MAX
from windlass.model.job.draft import OnParentFailure
from windlass.model.job.outcome import Cancelled, Failed, Outcome
from windlass.store.database import Database

DIE = Failed("x", "no", is_final=True)


async def test_a_chain_runs_link_by_link(database: Database) -> None:
    chain = await submit(database, noop(), noop(**after(0)), noop(**after(1)), noop(**after(2)))
    node = await register(database)
    for n, job_id in enumerate(chain):
        assert await states(database, chain) == (
            ["succeeded"] * n + ["queued"] + ["blocked"] * (3 - n)
        )
        attempt = await take_one(database, node)
        assert attempt.job_id == job_id
        settled = await end(database, node, attempt)
        assert [one["child_id"] for one in settled.effects.due] == chain[n + 1 : n + 2]
    assert await no_links(database)


async def test_a_child_begins_after_its_last_parent_has_ended(database: Database) -> None:
    *parents, child = await submit(database, noop(), noop(), noop(), noop(**after(0, 1, 2)))
    node = await register(database)
    attempts = await take_all(database, node)
    for n, parent in enumerate(parents):
        assert await state(database, child) == "blocked"
        assert (await row(database, child))["waits_for"] == 3 - n
        await end(database, node, attempts[parent])
    began = await take_one(database, node)
    ended = [(await row(database, parent))["finished_at"] for parent in parents]
    assert began.job_id == child
    assert began.started_at > max(ended)


async def test_a_child_of_many_ends_in_one_commit_is_told_once(database: Database) -> None:
    *parents, child = await submit(database, *[noop()] * 50, noop(**after(*range(50))))
    node = await register(database)
    attempts = await take_all(database, node)
    settled = await end(database, node, list(attempts.values()))
    assert [one["child_id"] for one in settled.effects.due] == [child]
    assert set(settled.effects.ended) == set(parents)
    events = await database.read("event_of_jobs", [child])
    assert [event["type"] for event in events] == ["unblocked"]


async def test_a_child_waits_for_its_own_time_too(database: Database) -> None:
    _, child = await submit(database, noop(), noop(depends_on_places=(0,), delay_seconds=3600))
    due = (await row(database, child))["run_at"]
    node = await register(database)
    await end(database, node, await take_one(database, node))
    job = await row(database, child)
    assert (job["state"], job["run_at"]) == ("queued", due)
    assert await take(database, node) == []


@pytest.mark.parametrize("outcome", [DIE, Cancelled()], ids=["dead", "cancelled"])
@pytest.mark.parametrize(
    ("policy", "expected", "cause"),
    [
        ("skip", "skipped", "parent_failed"),
        ("fail", "dead", "parent_failed"),
        ("run", "queued", None),
    ],
)
async def test_the_child_of_a_parent_that_failed_does_as_it_was_told(
    database: Database, policy: OnParentFailure, expected: str, cause: str | None, outcome: Outcome
) -> None:
    _, child = await submit(database, noop(), noop(**after(0, policy=policy)))
    node = await register(database)
    await end(database, node, await take_one(database, node), outcome)
    job = await row(database, child)
    assert (job["state"], job["cause"]) == (expected, cause)
    if cause:
        assert json.loads(job["error"])["cause"] == cause
        assert (job["outcome"], job["attempt"], job["started_at"]) == (None, 0, None)
    assert await no_links(database)


async def test_a_retry_of_the_parent_is_no_end(database: Database) -> None:
    _, child = await submit(database, noop(), noop(**after(0)))
    node = await register(database)
    await end(database, node, await take_one(database, node), Failed("x", "x"))
    assert await state(database, child) == "blocked"


async def test_one_failed_parent_is_enough_and_the_others_are_left_alone(
    database: Database,
) -> None:
    good, bad, child = await submit(database, noop(), noop(), noop(**after(0, 1)))
    node = await register(database)
    attempts = await take_all(database, node)
    settled = await end(database, node, attempts[bad], DIE)
    assert settled.effects.ended == {bad: "dead", child: "skipped"}
    await end(database, node, attempts[good])
    assert await states(database, [good, bad, child]) == ["succeeded", "dead", "skipped"]


async def test_a_child_that_runs_anyway_still_waits_for_its_other_parents(
    database: Database,
) -> None:
    good, bad, child = await submit(database, noop(), noop(), noop(**after(0, 1, policy="run")))
    node = await register(database)
    attempts = await take_all(database, node)
    await end(database, node, attempts[bad], DIE)
    assert await state(database, child) == "blocked"
    await end(database, node, attempts[good])
    assert await state(database, child) == "queued"


async def test_failure_goes_down_to_the_grandchildren_each_by_its_own_policy(
    database: Database,
) -> None:
    family = await submit(
        database,
        noop(),
        noop(**after(0)),  # skipped
        noop(**after(1, policy="fail")),  # a skipped parent is no success
        noop(**after(2, policy="run")),
        noop(**after(1, 3, policy="run")),  # told of both, in one go
        noop(**after(3)),
    )
    node = await register(database)
    settled = await end(database, node, await take_one(database, node), DIE)
    expected = ["dead", "skipped", "dead", "queued", "blocked", "blocked"]
    assert await states(database, family) == expected
    assert settled.effects.ended == dict(zip(family[:3], expected[:3], strict=True))
    await end(database, node, await take_one(database, node))
    assert await states(database, family[4:]) == ["queued", "queued"]
    assert await counted(database) == await true_counts(database)


async def test_a_deep_family_is_skipped_to_the_last(database: Database) -> None:
    family = await submit(database, noop(), *(noop(**after(n)) for n in range(100)))
    await cancel(database, [family[0]])
    assert await states(database, family) == ["cancelled", *["skipped"] * 100]


async def test_a_cancelled_parent_tells_its_children(database: Database) -> None:
    parent, skipped, runs = await submit(
        database, noop(), noop(**after(0)), noop(**after(0, policy="run"))
    )
    done = await cancel(database, [parent])
    assert done.ended == {parent: "cancelled", skipped: "skipped"}
    assert [one["child_id"] for one in done.due] == [runs]


async def test_a_cancelled_child_frees_its_parent_of_it(database: Database) -> None:
    parent, child = await submit(database, noop(), noop(**after(0)))
    await cancel(database, [child])
    assert await no_links(database)
    node = await register(database)
    assert (await end(database, node, await take_one(database, node))).effects.ended == {
        parent: "succeeded"
    }
    assert await states(database, [parent, child]) == ["succeeded", "cancelled"]


async def test_parent_and_child_may_be_cancelled_together(database: Database) -> None:
    family = await submit(database, noop(), noop(**after(0)), noop(**after(1)))
    done = await cancel(database, family)
    assert set(done.ended.values()) == {"cancelled"}
    assert await states(database, family) == ["cancelled"] * 3


async def test_an_expired_or_lost_parent_tells_its_children_too(database: Database) -> None:
    late, child, poison, other = await submit(
        database, noop(), noop(**after(0)), noop(max_attempts=1), noop(**after(2))
    )
    node = await register(database)
    await sql(database, "UPDATE windlass.job SET deadline = now() WHERE id = $1", late)
    assert (await recover(database)).ended == {late: "expired", child: "skipped"}
    assert (await take_one(database, node)).job_id == poison
    crashes = "UPDATE windlass.job SET crashes = $2 WHERE id = $1"
    await sql(database, crashes, poison, CRASHES_MAX - 1)
    await database.run("node_set_state", node, "left")
    assert (await recover(database)).ended == {poison: "dead", other: "skipped"}


@pytest.mark.parametrize(("outcome", "policy", "expected"), [
    (None, "skip", "queued"), (DIE, "run", "queued"), (DIE, "skip", None), (DIE, "fail", None),
])  # fmt: skip
async def test_a_parent_that_has_ended_already_is_judged_at_the_door(
    database: Database, outcome: Outcome | None, policy: OnParentFailure, expected: str | None
) -> None:
    parent = await submit_one(database)
    node = await register(database)
    await end(database, node, await take_one(database, node), outcome)
    draft = noop(depends_on=(parent,), on_parent_failure=policy)
    if expected is None:
        with pytest.raises(InvalidInput, match="has ended already as dead"):
            await door(database).submit(draft)
        return
    [child] = (await door(database).submit(draft)).job_ids
    job = await row(database, child)
    assert (job["state"], job["waits_for"], job["depends_on"]) == (expected, 0, [parent])


async def test_children_in_sql_and_in_batches_wait_alike(database: Database) -> None:
    parent = await submit_one(database)
    text = '{"kind": "noop", "depends_on": ["job_' + parent.hex + '"]}'
    await value(database, "SELECT windlass.enqueue($1::text::jsonb)", text)
    await submit(database, noop(depends_on=(parent,)), noop(depends_on=(parent,)))
    assert await value(database, "SELECT count(*) FROM windlass.job WHERE state = 'blocked'") == 3
    node = await register(database)
    await end(database, node, await take_one(database, node))
    assert len(await take(database, node)) == 3
