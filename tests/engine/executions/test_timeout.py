"""Executions that run out of time: they fail, what runs is stopped, what they did is taken back."""

from __future__ import annotations

import msgspec

from tests.engine.executions.endings import ended_as, row_of
from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import sql, take_one, value
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.control import cancel_execution
from windlass.engine.executions.upkeep import find_neglected
from windlass.store.database import Database

LATE = "UPDATE windlass.execution SET deadline = now() - interval '1 second'"


async def out_of_time(flow: Flow) -> None:
    await sql(flow.database, f"{LATE} WHERE id = $1", flow.execution_id)
    await flow.look_after(await find_neglected(flow.database))


async def test_its_jobs_are_stopped_and_it_fails(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b")], timeout="1h")
    running = await take_one(database, flow.node_id)
    await out_of_time(flow)
    states = await flow.states()
    assert sorted(states[step] for step in ("a", "b")) == ["cancelled", "running"]
    await flow.end(running)
    assert set((await flow.states()).values()) == {"cancelled", "skipped"}
    assert await ended_as(flow) == "failed"
    error = msgspec.json.decode((await row_of(flow))["error"])
    assert error["cause"] == "timeout"
    [event] = await sql(database, "SELECT type FROM windlass.event WHERE noun = 'execution'")
    assert event["type"] == "timed_out"


async def test_it_gets_no_further_step(database: Database) -> None:
    flow = await Flow.start(
        database,
        [noop("a"), noop("b", "a"), noop("c", {"step": "a", "when": "ended"})],
        timeout="1h",
    )
    running = await take_one(database, flow.node_id)
    await sql(database, LATE)
    await find_neglected(database)  # and the leader dies before any job hears of it
    await flow.end(running)
    assert await flow.states() == {"a": "succeeded"}
    assert await ended_as(flow) == "failed"


async def test_what_it_did_is_taken_back_and_that_is_not_stopped(database: Database) -> None:
    steps = [
        noop("a", undo={"kind": "noop"}),
        noop("b", "a", undo={"kind": "noop"}),
        noop("c", "b"),
    ]
    flow = await Flow.start(database, steps, timeout="1h")
    await flow.turn()
    await flow.turn()
    await out_of_time(flow)
    await flow.look_after(await conclude(database, [flow.execution_id]))
    assert (await flow.states())["b~undo"] == "queued"
    # The leader looks again, and again: the compensation goes on.
    for _ in range(2):
        await flow.look_after(await find_neglected(database))
    assert (await flow.states())["b~undo"] == "queued"
    await flow.run()
    assert await ended_as(flow) == "failed"
    states = await flow.states()
    assert (states["a~undo"], states["b~undo"]) == ("succeeded", "succeeded")
    assert flow.ran == ["a", "b", "b~undo", "a~undo"]


async def test_one_that_takes_back_what_it_did_is_given_its_time(database: Database) -> None:
    flow = await Flow.start(
        database, [noop("a", undo={"kind": "noop"}), noop("b", "a")], timeout="1h"
    )
    flow.outcomes["b"] = FAILS
    await flow.turn()
    await flow.turn()
    await flow.look_after(await conclude(database, [flow.execution_id]))
    await out_of_time(flow)
    assert await value(database, "SELECT doom FROM windlass.execution") is None
    await flow.run()
    assert await ended_as(flow) == "failed"
    assert msgspec.json.decode((await row_of(flow))["error"])["step"] == "b"


async def test_one_that_is_cancelled_ends_as_cancelled(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")], timeout="1h")
    attempt = await take_one(database, flow.node_id)
    await cancel_execution(database, flow.execution_id)
    await out_of_time(flow)
    await flow.end(attempt)
    assert await ended_as(flow) == "cancelled"


async def test_who_is_in_time_is_left_alone(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")], timeout="1h")
    other = await Flow.start(database, [noop("a")])
    found = await find_neglected(database)
    assert not found.upkeep.unheard | found.urgent_marks
    await flow.run()
    assert await other.run() == {"a": "succeeded"}
    assert await ended_as(flow) == "succeeded"
    await sql(database, LATE)
    await find_neglected(database)
    assert await ended_as(flow) == "succeeded", "it has ended"
