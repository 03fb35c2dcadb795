"""Paused executions: no step of theirs starts, however it comes to be queued, until they go on."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tests.engine.executions.flow import Flow, noop
from tests.engine.hands import end, lapse, register, sql, take, take_one, value
from windlass.engine.executions.control import pause_execution, resume_execution
from windlass.engine.executions.refresh import refresh
from windlass.engine.executions.signals import ExecutionEnded, send_signal
from windlass.engine.executions.upkeep import find_neglected
from windlass.engine.jobs.rescue import recover
from windlass.errors import NotFound
from windlass.limits import FINISH_BATCH_MAX
from windlass.model.job.outcome import Failed
from windlass.store.database import Database

AGAIN = {"retry": {"max_attempts": 3, "initial": 0}}


async def pause(flow: Flow) -> None:
    await flow.look_after(await pause_execution(flow.database, flow.execution_id))


async def resume(flow: Flow) -> None:
    await flow.look_after(await resume_execution(flow.database, flow.execution_id))


async def refreshed(flow: Flow) -> str:
    await refresh(flow.database, [flow.execution_id])
    state: str = await value(
        flow.database, "SELECT state FROM windlass.execution WHERE id = $1", flow.execution_id
    )
    return state


async def test_nothing_starts_while_it_is_paused_and_what_runs_is_let_end(
    database: Database,
) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a")])
    running = await take_one(database, flow.node_id)
    await pause(flow)
    assert await take(database, flow.node_id) == []
    await flow.end(running)
    states = await flow.states()
    assert sorted(states.values()) == ["queued"] * (len(states) - 1) + ["succeeded"]
    assert await take(database, flow.node_id) == [], "nor does what follows"
    assert await refreshed(flow) == "paused"
    await resume(flow)
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await refreshed(flow) == "succeeded"


async def test_resuming_says_which_lines_have_work(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", queue="other")])
    await pause(flow)
    effects = await resume_execution(database, flow.execution_id)
    assert {row["queue"] for row in effects.due} == {"default", "other"}


async def test_asking_twice_is_harmless_and_what_has_ended_is_refused(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")])
    await resume(flow)
    await pause(flow)
    await pause(flow)
    await resume(flow)
    await resume(flow)
    await flow.run()
    assert await refreshed(flow) == "succeeded"
    with pytest.raises(ExecutionEnded):
        await pause(flow)
    with pytest.raises(NotFound):
        await pause_execution(database, uuid4())
    types = await sql(
        database, "SELECT type FROM windlass.event WHERE noun = 'execution' ORDER BY seq"
    )
    assert [row["type"] for row in types] == ["paused", "resumed"]


async def test_a_step_that_is_tried_again_waits_as_well(database: Database) -> None:
    flow = await Flow.start(database, [noop("a", **AGAIN)])
    attempt = await take_one(database, flow.node_id)
    await pause(flow)
    await end(database, flow.node_id, attempt, Failed("x", "again"))
    assert await take(database, flow.node_id) == []
    await resume(flow)
    assert (await take_one(database, flow.node_id)).number == 2


async def test_a_step_of_a_lost_node_waits_as_well(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")])
    lost = await register(database)
    await take_one(database, lost)
    await pause(flow)
    await lapse(database, lost)
    await recover(database)
    assert await flow.states() == {"a": "queued"}
    assert await take(database, flow.node_id) == []


async def test_a_step_that_its_target_lets_go_waits_as_well(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")])
    parked = "UPDATE windlass.job SET target = 'http://x', parked_at = now(), parked_for = 'rate'"
    await sql(database, parked)
    await pause(flow)
    assert await value(database, "SELECT parked_for FROM windlass.job") == "paused"
    # One that a node claimed before the pause, and its target sent back after it.
    await resume(flow)
    await sql(database, parked)
    await sql(database, "UPDATE windlass.execution SET paused_at = now()")
    await sql(database, "UPDATE windlass.job SET parked_at = NULL, parked_for = NULL")
    assert await value(database, "SELECT parked_for FROM windlass.job") == "paused"


async def test_what_it_waits_for_from_outside_may_still_come(database: Database) -> None:
    flow = await Flow.start(
        database, [{"id": "go", "kind": "signal", "input": {"name": "go"}}, noop("b", "go")]
    )
    await pause(flow)
    await send_signal(database, flow.execution_id, "go", "1", None)
    assert await flow.states() == {"go": "succeeded", "b": "queued"}
    assert await take(database, flow.node_id) == []
    await resume(flow)
    assert (await flow.run())["b"] == "succeeded"


async def test_a_large_fan_out_is_paused_a_bounded_number_at_a_time(database: Database) -> None:
    count = FINISH_BATCH_MAX + 10
    flow = await Flow.start(
        database,
        [{"id": "all", "kind": "map", "items": "${inputs.items}", "step": {"kind": "noop"}}],
        {"items": list(range(count))},
    )
    parked = "SELECT count(*)::int FROM windlass.job WHERE parked_for = 'paused'"
    effects = await pause_execution(database, flow.execution_id)
    assert await value(database, parked) == FINISH_BATCH_MAX
    await flow.look_after(effects)
    assert await value(database, parked) == count
    effects = await resume_execution(database, flow.execution_id)
    assert await value(database, parked) == count - FINISH_BATCH_MAX
    await flow.look_after(effects)
    assert await value(database, parked) == 0


async def _slip_in(flow: Flow, *, is_parked: bool) -> UUID:
    """A step that was inserted by a transaction which did not know yet."""
    job_id = uuid4()
    await sql(
        flow.database,
        "INSERT INTO windlass.job (id, execution_id, step, kind, queue, priority, state, run_at,"
        " max_attempts, input, parked_at, parked_for) VALUES ($1, $2, 'b', 'noop', 'default', 1,"
        " 'queued', now(), 1, '{}', CASE WHEN $3 THEN now() END, CASE WHEN $3 THEN 'paused' END)",
        job_id,
        flow.execution_id,
        is_parked,
    )
    return job_id


async def test_steps_that_slipped_in_meanwhile_are_found(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    await pause(flow)
    job_id = await _slip_in(flow, is_parked=False)
    await flow.look_after(await find_neglected(database))
    held = "SELECT parked_for FROM windlass.job WHERE id = $1"
    assert await value(database, held, job_id) == "paused"
    await resume(flow)
    await sql(database, "DELETE FROM windlass.job WHERE id = $1", job_id)
    job_id = await _slip_in(flow, is_parked=True)
    await flow.look_after(await find_neglected(database))
    assert await value(database, held, job_id) is None


async def test_one_that_waits_for_its_turn_begins_paused(database: Database) -> None:
    concurrency = {"concurrency": {"key": "one"}}
    first = await Flow.start(database, [noop("a")], **concurrency)
    second = await Flow.start(database, [noop("a")], **concurrency)
    await pause(second)
    assert await refreshed(second) == "paused"
    await first.run()
    await first.conclude()
    assert await second.states() == {"a": "queued"}
    assert await take(database, second.node_id) == []
    await resume(second)
    assert await second.run() == {"a": "succeeded"}
