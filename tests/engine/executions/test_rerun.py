"""Reruns: what is done again, what stays, and that an execution goes on as if nothing had been."""

from __future__ import annotations

from uuid import UUID, uuid4

import msgspec
import pytest

from tests.engine.executions.endings import CHILD, child_of, ended_as, inner, row_of
from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import counted, sql, take_one, true_counts, value
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.concurrency import ConcurrencyLimit
from windlass.engine.executions.control import cancel_execution
from windlass.engine.executions.rerun import ExecutionOpen, NothingToRerun, Rerun, rerun
from windlass.engine.executions.signals import send_signal
from windlass.engine.executions.upkeep import find_neglected
from windlass.errors import InvalidInput, NotFound
from windlass.model.job.outcome import Succeeded
from windlass.store.database import Database

DIAMOND = [
    noop("a"),
    noop("b", "a", input={"from": "${steps.a.output}"}),
    noop("c", "a"),
    noop("d", "b", "c", input={"b": "${steps.b.output}", "c": "${steps.c.output}"}),
]
OUTPUT = {"output": {"d": "${steps.d.output}"}}


async def again(flow: Flow, from_step: str | None = None) -> Rerun:
    done = await rerun(flow.database, flow.execution_id, from_step)
    await flow.look_after(done.effects)
    flow.ran.clear()
    flow.outcomes.clear()
    return done


async def test_the_failed_step_and_what_follows_from_it_are_done_again(database: Database) -> None:
    flow = await Flow.start(database, DIAMOND, **OUTPUT)
    await flow.run(b=FAILS)
    assert await ended_as(flow) == "failed"
    before = {row["step"]: row["id"] for row in await flow.rows()}

    done = await again(flow)
    assert done.steps == {"b", "d"}
    row = await row_of(flow)
    assert (row["state"], row["finished_at"], row["error"]) == ("running", None, None)
    assert (await flow.states())["b"] == "queued"
    await flow.run()
    assert flow.ran == ["b", "d"]
    after = {row["step"]: row["id"] for row in await flow.rows()}
    assert (after["a"], after["c"]) == (before["a"], before["c"]), "they stay as they were"
    assert after["b"] != before["b"]
    assert await flow.given("b") == {"from": "a"}
    assert await flow.given("d") == {"b": "b", "c": "c"}
    assert await ended_as(flow) == "succeeded"
    assert msgspec.json.decode((await row_of(flow))["output"]) == {"d": "d"}
    assert await counted(database) == await true_counts(database)


async def test_from_any_step_of_one_that_succeeded(database: Database) -> None:
    flow = await Flow.start(database, DIAMOND)
    await flow.run()
    assert await ended_as(flow) == "succeeded"
    assert (await again(flow, "c")).steps == {"c", "d"}
    await flow.run(c=Succeeded(b'"new"'))
    assert await flow.given("d") == {"b": "b", "c": "new"}
    assert await ended_as(flow) == "succeeded"
    await again(flow, "a")
    await flow.run()
    assert sorted(flow.ran) == ["a", "b", "c", "d"]


async def test_what_it_was_is_kept_as_an_event(database: Database) -> None:
    flow = await Flow.start(database, DIAMOND)
    await flow.run(b=FAILS)
    await ended_as(flow)
    await again(flow, "b")
    ended, event = await sql(
        database, "SELECT type, data::text FROM windlass.event WHERE noun = 'execution' ORDER BY at"
    )
    assert (ended["type"], msgspec.json.decode(ended["data"])["state"]) == ("finished", "failed")
    assert event["type"] == "rerun"
    told = msgspec.json.decode(event["data"])
    assert told == {"from_step": "b", "steps": 2, "forgotten": {"dead": 1, "skipped": 1}}


async def test_a_cancelled_one_goes_on_where_it_was_stopped(database: Database) -> None:
    flow = await Flow.start(database, DIAMOND, timeout="1h")
    await flow.turn()
    effects = await cancel_execution(database, flow.execution_id)
    await flow.look_after(effects)
    assert await ended_as(flow) == "cancelled"
    await again(flow)
    await flow.run()
    assert sorted(flow.ran) == ["b", "c", "d"]
    assert await ended_as(flow) == "succeeded"


async def test_a_step_that_was_left_out_because_of_a_cancel_is_done(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    attempt = await take_one(database, flow.node_id)
    await sql(database, "UPDATE windlass.execution SET cancel_requested_at = now()")
    await flow.end(attempt)
    assert await ended_as(flow) == "cancelled"
    await again(flow)
    assert await flow.run() == {"a": "succeeded", "b": "succeeded"}


async def test_one_that_never_began_begins(database: Database) -> None:
    concurrency = {"concurrency": {"key": "one", "policy": "skip"}}
    first = await Flow.start(database, [noop("a")], **concurrency)
    second = await Flow.start(database, [noop("a")], **concurrency)
    with pytest.raises(ConcurrencyLimit):
        await again(second)
    await first.run()
    await first.conclude()
    await again(second)
    assert await second.run() == {"a": "succeeded"}
    assert await ended_as(second) == "succeeded"


async def test_a_failure_that_was_foreseen_is_not_done_again(database: Database) -> None:
    steps = [
        noop("risky"),
        noop("instead", {"step": "risky", "when": "failed"}),
        noop("last", "instead"),
    ]
    flow = await Flow.start(database, steps)
    await flow.run(risky=FAILS, last=FAILS)
    assert await ended_as(flow) == "failed"
    assert (await again(flow)).steps == {"last"}


async def test_a_switch_is_remembered(database: Database) -> None:
    steps = [
        noop("a"),
        {
            "id": "way",
            "kind": "switch",
            "needs": ["a"],
            "cases": [{"if": "${inputs.n > 1}", "go": ["left"]}],
            "default": ["right"],
        },
        noop("left"),
        noop("right"),
        noop("both", "left", "a"),
    ]
    flow = await Flow.start(database, steps, {"n": 2})
    states = await flow.run(left=FAILS)
    assert (states["left"], states["right"]) == ("dead", "skipped")
    assert await ended_as(flow) == "failed"
    assert (await again(flow)).steps == {"left", "both"}
    states = await flow.run()
    assert (states["left"], states["right"], states["both"]) == (
        "succeeded",
        "skipped",
        "succeeded",
    )


async def test_a_fan_out_is_done_again_with_all_its_items(database: Database) -> None:
    steps = [
        {"id": "all", "kind": "map", "items": "${inputs.items}", "step": {"kind": "noop"}},
        noop("after", "all", input={"all": "${steps.all.output}"}),
    ]
    flow = await Flow.start(database, steps, {"items": [1, 2, 3]})
    await flow.run(all=FAILS)
    assert await ended_as(flow) == "failed"
    await again(flow)
    assert await value(database, "SELECT count(*) FROM windlass.fan") == 1
    states = await flow.run()
    assert set(states.values()) == {"succeeded"}
    assert len(states) == 5
    assert await flow.given("after") == {"all": ["all"] * 3}
    assert await ended_as(flow) == "succeeded"


async def test_signals_stay_taken_and_questions_are_asked_again(database: Database) -> None:
    steps = [
        {"id": "go", "kind": "signal", "input": {"name": "go"}},
        {"id": "ok", "kind": "approval", "input": {"title": "May I?"}, "needs": ["go"]},
    ]
    flow = await Flow.start(database, steps)
    sent = await send_signal(database, flow.execution_id, "go", "1", None)
    await flow.look_after(sent.effects)
    effects = await cancel_execution(database, flow.execution_id)
    await flow.look_after(effects)
    assert await ended_as(flow) == "cancelled"
    await again(flow, "go")
    assert await flow.states() == {"go": "running"}, "it waits for another signal"
    sent = await send_signal(database, flow.execution_id, "go", "2", None)
    await flow.look_after(sent.effects)
    await find_neglected(database)
    rows = await sql(database, "SELECT state FROM windlass.approval ORDER BY id")
    assert [row["state"] for row in rows] == ["void", "open"]


async def test_what_was_taken_back_is_done_again(database: Database) -> None:
    steps = [noop("a", undo={"kind": "noop"}), noop("b", "a"), noop("c", "b")]
    flow = await Flow.start(database, steps)
    await flow.run(c=FAILS)
    assert await ended_as(flow) == "failed"
    assert "a~undo" in await flow.states()
    assert (await again(flow, "c")).steps == {"a", "b", "c"}
    assert await flow.states() == {"a": "queued"}
    await flow.run()
    assert await ended_as(flow) == "succeeded"


async def test_its_time_begins_anew(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")], timeout="1h")
    await flow.turn()
    await sql(database, "UPDATE windlass.execution SET deadline = now() - interval '1 second'")
    await flow.look_after(await find_neglected(database))
    assert await ended_as(flow) == "failed"
    row = await row_of(flow)
    assert row["doom"] == "timeout"
    await again(flow)
    left = (
        "SELECT deadline > now() + interval '59 minutes' AND doom IS NULL FROM windlass.execution"
    )
    assert await value(database, left)
    await flow.run()
    assert await ended_as(flow) == "succeeded"


async def test_bad_requests_are_refused_and_change_nothing(database: Database) -> None:
    flow = await Flow.start(database, DIAMOND)
    with pytest.raises(ExecutionOpen):
        await again(flow)
    await flow.run()
    assert await ended_as(flow) == "succeeded"
    before = await flow.rows()
    with pytest.raises(NothingToRerun, match="from_step"):
        await again(flow)
    with pytest.raises(InvalidInput, match="known are a b c d"):
        await again(flow, "x")
    with pytest.raises(NotFound):
        await rerun(database, uuid4())
    assert await flow.rows() == before
    assert await ended_as(flow) == "succeeded"


async def test_of_ten_thousand_steps_some_are_named(database: Database) -> None:
    flow = await Flow.start(database, [noop(f"s{n}") for n in range(200)])
    await flow.run()
    assert await ended_as(flow) == "succeeded"
    with pytest.raises(InvalidInput, match="and 150 more"):
        await again(flow, "x")


async def test_a_child_that_is_rerun_does_not_disturb_its_parent(database: Database) -> None:
    await inner(database, [noop("x")])
    flow = await Flow.start(database, [CHILD])
    child: UUID = await child_of(flow)
    await flow.turn()
    await flow.look_after(await conclude(database, [child]))
    assert await ended_as(flow) == "succeeded"
    own = Flow(database, child, flow.node_id)
    await again(own, "x")
    await own.run()
    assert await ended_as(own) == "succeeded"
    assert await ended_as(flow) == "succeeded"
