"""Replays of steps: the execution goes on from there, at once and as a whole."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from tests.engine.executions.endings import ended_as, row_of
from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import counted, patiently, several, sql, take, take_one, true_counts, value
from windlass.engine.executions.concurrency import ConcurrencyLimit
from windlass.engine.executions.control import cancel_execution, pause_execution
from windlass.engine.executions.replay_steps import NotReplayable
from windlass.engine.jobs.replay import delete, replay
from windlass.engine.jobs.rescue import recover
from windlass.store.database import Database

MAP: dict[str, Any] = {
    "id": "all",
    "kind": "map",
    "items": "${inputs.items}",
    "step": {"kind": "noop"},
    "tolerance": 2,
}


async def job_of(flow: Flow, step: str, item: int | None = None) -> Any:
    [row] = [row for row in await flow.rows() if (row["step"], row["item"]) == (step, item)]
    return row["id"]


async def test_a_dead_step_unfinishes_its_execution_at_once(database: Database) -> None:
    flow = await Flow.start(
        database, [noop("a"), noop("b", "a"), noop("c", "b")], output="${steps.c.output}"
    )
    await flow.run(b=FAILS)
    assert await ended_as(flow) == "failed"
    dead = await job_of(flow, "b")
    [back] = await replay(database, [dead], is_strict=True)
    assert (back["id"], back["execution_id"]) == (dead, flow.execution_id)
    row = await row_of(flow)
    assert (row["state"], row["finished_at"], row["error"]) == ("running", None, None)
    assert await flow.states() == {"a": "succeeded", "b": "queued"}, "what it skipped is open again"
    flow.outcomes.clear()
    assert (await flow.run())["c"] == "succeeded"
    assert await ended_as(flow) == "succeeded"
    assert (await row_of(flow))["output"] == '"c"'
    assert await counted(database) == await true_counts(database)


async def test_what_ran_because_it_failed_is_taken_back_too(database: Database) -> None:
    steps = [noop("a"), noop("sorry", {"step": "a", "when": "failed"}), noop("b", "a")]
    flow = await Flow.start(database, steps)
    await flow.run(a=FAILS)
    assert await ended_as(flow) == "succeeded"
    await replay(database, [await job_of(flow, "a")], is_strict=True)
    flow.outcomes.clear()
    assert await flow.run() == {"a": "succeeded", "b": "succeeded", "sorry": "skipped"}


async def test_one_whose_followers_run_is_refused(database: Database) -> None:
    steps = [noop("a"), noop("sorry", {"step": "a", "when": "failed"})]
    flow = await Flow.start(database, steps)
    flow.outcomes["a"] = FAILS
    await flow.turn()
    with pytest.raises(NotReplayable, match="what follows from it runs"):
        await replay(database, [await job_of(flow, "a")], is_strict=True)
    assert await replay(database, [await job_of(flow, "a")]) == []


async def test_one_of_an_execution_that_goes_on_joins_it_again(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b")])
    first, second = await take(database, flow.node_id)
    flow.outcomes["a"] = flow.outcomes["b"] = FAILS
    await flow.end(first)
    assert (await flow.states())["c"] == "skipped"
    await replay(database, [first.job_id], is_strict=True)
    assert "c" not in await flow.states()
    flow.outcomes.clear()
    await flow.end(second)
    assert (await flow.run())["c"] == "succeeded"
    assert await ended_as(flow) == "succeeded"


async def test_several_of_one_execution_go_on_together(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b")])
    await flow.run(a=FAILS, b=FAILS)
    assert await ended_as(flow) == "failed"
    dead = [await job_of(flow, "a"), await job_of(flow, "b")]
    assert len(await replay(database, dead)) == 2
    flow.outcomes.clear()
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await ended_as(flow) == "succeeded"


async def test_a_replay_by_many_at_once_happens_once(database: Database, database_url: str) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    await flow.run(a=FAILS)
    await ended_as(flow)
    dead = await job_of(flow, "a")
    async with several(database_url, 4) as databases:
        done = await asyncio.gather(
            *(patiently(partial(replay, databases[n % 4], [dead])) for n in range(8))
        )
    assert sum(map(len, done)) == 1
    flow.outcomes.clear()
    assert await flow.run() == {"a": "succeeded", "b": "succeeded"}


async def test_an_item_is_tried_again_while_its_fan_out_goes_on(database: Database) -> None:
    flow = await Flow.start(database, [MAP], {"items": [1, 2, 3]})
    first, *others = await take(database, flow.node_id)
    flow.outcomes["all"] = FAILS
    await flow.end(first)
    await replay(database, [first.job_id], is_strict=True)
    flow.outcomes.clear()
    for attempt in others:
        await flow.end(attempt)
    assert (await flow.states())["all"] == "running", "one item is open again"
    await flow.run()
    assert await flow.result("all") == ["all"] * 3


async def test_an_item_of_a_fan_out_that_has_ended_is_refused(database: Database) -> None:
    flow = await Flow.start(database, [MAP], {"items": [1, 2, 3]})
    await flow.run(all=FAILS)
    assert await ended_as(flow) == "failed"
    with pytest.raises(NotReplayable, match=r'its fan-out has ended.*"from_step": "all"'):
        await replay(database, [await job_of(flow, "all", 0)], is_strict=True)
    assert await ended_as(flow) == "failed"


async def test_a_step_that_no_node_performed_is_refused(database: Database) -> None:
    steps = [
        {"id": "go", "kind": "signal", "input": {"name": "go"}, "timeout": "1h"},
        noop("after", "go"),
        {"id": "stop", "kind": "fail", "input": {"message": "no"}},
        noop("lost", input={"x": "${inputs.nothing}"}),
    ]
    flow = await Flow.start(database, steps)
    await sql(database, "UPDATE windlass.job SET callback_until = now() WHERE kind = 'signal'")
    await flow.look_after(await recover(database))
    assert await ended_as(flow) == "failed"
    for step in ("go", "after", "stop", "lost"):
        with pytest.raises(NotReplayable, match="/rerun"):
            await replay(database, [await job_of(flow, step)], is_strict=True)
    assert await ended_as(flow) == "failed"


async def test_what_was_taken_back_is_refused_but_a_compensation_is_not(
    database: Database,
) -> None:
    flow = await Flow.start(database, [noop("a", undo={"kind": "noop"}), noop("b", "a")])
    await flow.run(**{"b": FAILS, "a~undo": FAILS})
    assert await ended_as(flow) == "failed"
    with pytest.raises(NotReplayable, match="was taken back"):
        await replay(database, [await job_of(flow, "b")], is_strict=True)
    await replay(database, [await job_of(flow, "a~undo")], is_strict=True)
    assert (await row_of(flow))["state"] == "running"
    flow.outcomes.clear()
    await flow.run()
    assert await ended_as(flow) == "failed", "it is undone now, and has failed as before"
    assert (await flow.states())["a~undo"] == "succeeded"


async def test_an_execution_that_is_ending_is_left_to_it(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b")])
    first, _ = await take(database, flow.node_id)
    step = await flow.step_of(first.job_id)
    flow.outcomes[step] = FAILS
    await flow.end(first)
    await cancel_execution(database, flow.execution_id)
    with pytest.raises(NotReplayable, match="is ending"):
        await replay(database, [first.job_id], is_strict=True)


async def test_a_paused_one_stays_paused(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    attempt = await take_one(database, flow.node_id)
    await pause_execution(database, flow.execution_id)
    flow.outcomes["a"] = FAILS
    await flow.end(attempt)
    await replay(database, [attempt.job_id], is_strict=True)
    assert await take(database, flow.node_id) == []


async def test_a_concurrency_limit_holds(database: Database) -> None:
    concurrency = {"concurrency": {"key": "one"}}
    first = await Flow.start(database, [noop("a")], **concurrency)
    await first.run(a=FAILS)
    assert await ended_as(first) == "failed"
    await Flow.start(database, [noop("a")], **concurrency)
    with pytest.raises(ConcurrencyLimit):
        await replay(database, [await job_of(first, "a")], is_strict=True)


async def test_steps_of_an_execution_that_goes_on_are_not_forgotten(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b")])
    first, second = await take(database, flow.node_id)
    await flow.end(first)
    assert await delete(database, [first.job_id]) == []
    await flow.end(second)
    assert (await flow.run())["c"] == "succeeded"
    assert await ended_as(flow) == "succeeded"
    assert len(await delete(database, [first.job_id])) == 1
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0
