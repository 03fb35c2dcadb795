"""Cancelled executions: all their jobs end, their children too, and they never end `succeeded`."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import pytest

from tests.engine.executions.endings import CHILD, child_of, ended_as, inner
from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import end, sql, take, take_one, value
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.control import cancel_execution
from windlass.engine.executions.refresh import refresh
from windlass.engine.executions.signals import ExecutionEnded, send_signal
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.upkeep import find_neglected, tell_jobs
from windlass.engine.jobs.rescue import recover
from windlass.errors import NotFound
from windlass.limits import FINISH_BATCH_MAX
from windlass.store.database import Database

UNHEARD = "SELECT count(*) FROM windlass.execution WHERE unheard_until IS NOT NULL"


async def cancel(flow: Flow) -> None:
    """As the API does it: what is left to do is done after the answer."""
    effects = await cancel_execution(flow.database, flow.execution_id)
    await flow.look_after(effects)


async def state_of(database: Database, execution_id: UUID) -> str:
    state: str = await value(
        database, "SELECT state FROM windlass.execution WHERE id = $1", execution_id
    )
    return state


async def test_what_waits_ends_at_once_and_what_runs_is_asked_to_stop(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a")])
    attempt = await take_one(database, flow.node_id)
    effects = await cancel_execution(database, flow.execution_id)
    assert effects.stopping == {attempt.job_id: flow.node_id}
    assert sorted((await flow.states()).values()) == ["cancelled", "running"]
    assert await ended_as(flow) == "running"
    await flow.end(attempt)
    assert set((await flow.states()).values()) <= {"cancelled", "skipped"}
    assert await ended_as(flow) == "cancelled"


async def test_asking_twice_is_harmless_and_what_has_ended_otherwise_is_refused(
    database: Database,
) -> None:
    flow = await Flow.start(database, [noop("a")])
    await cancel(flow)
    await cancel(flow)
    assert await ended_as(flow) == "cancelled"
    await cancel(flow)
    done = await Flow.start(database, [noop("a")])
    await done.run()
    assert await ended_as(done) == "succeeded"
    with pytest.raises(ExecutionEnded, match="succeeded"):
        await cancel(done)
    with pytest.raises(NotFound):
        await cancel_execution(database, uuid4())


async def test_one_whose_jobs_all_succeeded_after_it_was_cancelled_is_cancelled(
    database: Database,
) -> None:
    """Its next step was left out because of that: it is not done, whatever its jobs say."""
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    attempt = await take_one(database, flow.node_id)
    # The node that cancels dies before any job hears of it.
    await sql(database, "UPDATE windlass.execution SET cancel_requested_at = now()")
    await flow.end(attempt)
    assert await flow.states() == {"a": "succeeded"}
    assert await ended_as(flow) == "cancelled"
    other = await Flow.start(database, [noop("a"), noop("b", "a")], output="${steps.a.output}")
    attempt = await take_one(database, other.node_id)
    await sql(database, "UPDATE windlass.execution SET cancel_requested_at = now()")
    await other.end(attempt)
    assert await ended_as(other) == "cancelled"


async def test_a_step_that_slipped_in_meanwhile_is_cancelled_too(database: Database) -> None:
    """The transaction that inserts it began before the cancel, and ends after it."""
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    await take_one(database, flow.node_id)
    async with database.side() as connection, connection.transaction():
        await connection.execute(
            "INSERT INTO windlass.job (id, execution_id, step, kind, queue, priority, state,"
            " run_at, max_attempts, input)"
            " VALUES ($1, $2, 'b', 'noop', 'default', 1, 'queued', now(), 1, '{}')",
            uuid4(),
            flow.execution_id,
        )
        await cancel(flow)
    assert await flow.states() == {"a": "running", "b": "queued"}
    found = await find_neglected(database)
    assert found.upkeep.unheard == {flow.execution_id}
    await flow.look_after(found)
    assert (await flow.states())["b"] == "cancelled"


async def test_it_is_looked_at_until_nobody_can_be_on_the_way_and_no_longer(
    database: Database,
) -> None:
    flow = await Flow.start(database, [noop("a")])
    await cancel(flow)
    assert (await find_neglected(database)).upkeep.unheard == set(), "all have heard"
    assert await value(database, UNHEARD), "but one may be on its way"
    await sql(database, "UPDATE windlass.execution SET unheard_until = now()")
    await flow.look_after(await find_neglected(database))
    assert not await value(database, UNHEARD)


@pytest.mark.parametrize("tolerance", [0, "100%"])
async def test_a_large_fan_out_is_cancelled_a_bounded_number_at_a_time(
    database: Database, tolerance: int | str
) -> None:
    count = 2 * FINISH_BATCH_MAX + 10
    flow = await Flow.start(
        database,
        [
            {
                "id": "all",
                "kind": "map",
                "items": "${inputs.items}",
                "step": {"kind": "noop"},
                "tolerance": tolerance,
            },
            noop("after", "all"),
        ],
        {"items": list(range(count))},
    )
    running = await take(database, flow.node_id, 5)
    effects = await cancel_execution(database, flow.execution_id)
    assert len(effects.ended) + len(effects.stopping) <= FINISH_BATCH_MAX + 1
    assert effects.upkeep.unheard == {flow.execution_id}, "there is more"
    await flow.look_after(effects)
    left = "SELECT count(*) FROM windlass.job WHERE execution_id = $1"
    assert await value(database, left, flow.execution_id) == len(running)
    for attempt in running:
        await flow.end(attempt)
    assert await value(database, left, flow.execution_id) == 0
    assert await ended_as(flow) == "cancelled"
    assert await value(database, "SELECT count(*) FROM windlass.fan") == 0
    assert await value(database, "SELECT count(*) FROM windlass.fan_delta") == 0


async def test_steps_that_nobody_performs_end_at_once(database: Database) -> None:
    flow = await Flow.start(
        database,
        [
            {"id": "signal", "kind": "signal", "input": {"name": "go"}},
            {"id": "ok", "kind": "approval", "input": {"title": "May I?"}},
        ],
    )
    await cancel(flow)
    assert await flow.states() == {"signal": "cancelled", "ok": "cancelled"}
    assert await ended_as(flow) == "cancelled"
    with pytest.raises(ExecutionEnded):
        await send_signal(database, flow.execution_id, "go", "1", None)
    await find_neglected(database)
    assert await value(database, "SELECT state FROM windlass.approval") == "void"


async def test_children_are_cancelled_with_their_parents_all_the_way_down(
    database: Database,
) -> None:
    await inner(database, [noop("x")])
    await inner(database, [{**CHILD, "id": "deeper"}], "middle")
    flow = await Flow.start(database, [{**CHILD, "input": {"workflow": "middle"}}])
    assert await value(database, "SELECT count(*) FROM windlass.execution") == 3
    await cancel(flow)
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0
    rows = await sql(database, "SELECT id FROM windlass.execution")
    for _ in range(3):
        done = await refresh(database, [row["id"] for row in rows])
        await conclude(database, done.unconcluded)
    states = await sql(database, "SELECT DISTINCT state FROM windlass.execution")
    assert [row["state"] for row in states] == ["cancelled"]


async def test_a_child_is_cancelled_when_its_step_runs_out_of_time(database: Database) -> None:
    await inner(database, [noop("x")])
    flow = await Flow.start(database, [{**CHILD, "timeout": "1h"}, noop("after", "child")])
    child = await child_of(flow)
    await sql(database, "UPDATE windlass.job SET callback_until = now() WHERE kind = 'workflow'")
    await flow.look_after(await recover(database))
    assert await flow.states() == {"child": "dead", "after": "skipped"}
    assert await value(database, "SELECT count(*) FROM windlass.job") == 0
    done = await refresh(database, [child])
    await conclude(database, done.unconcluded)
    assert await state_of(database, child) == "cancelled"
    assert await ended_as(flow) == "failed"


async def test_a_child_that_waits_for_its_turn_is_told_to_have_ended_with_its_step(
    database: Database,
) -> None:
    """It ends in the transaction that ends the step, and who waits for it hears of it then."""
    one_at_a_time = {"key": "all", "limit": 1, "policy": "queue"}
    await inner(database, [noop("x")], concurrency=one_at_a_time)
    first = await Flow.start(database, [CHILD])
    flow = await Flow.start(database, [{**CHILD, "timeout": "1h"}])
    begun, waiting = await child_of(first), await child_of(flow)
    assert await state_of(database, waiting) == "pending"
    [step] = [row["id"] for row in await flow.rows()]
    await sql(database, "UPDATE windlass.job SET callback_until = now() WHERE id = $1", step)
    effects = await recover(database)
    assert effects.ended == {step: "dead", waiting: "cancelled"}
    assert await state_of(database, waiting) == "cancelled"
    assert await state_of(database, begun) == "pending", "nobody asked that of the other one"


async def test_items_that_have_not_begun_never_do_when_their_step_runs_out_of_time(
    database: Database,
) -> None:
    flow = await Flow.start(
        database,
        [
            {
                "id": "all",
                "kind": "map",
                "items": "${inputs.items}",
                "step": {"kind": "noop"},
                "max_parallel": 2,
                "timeout": "1h",
            }
        ],
        {"items": [1, 2, 3, 4]},
    )
    running = await take_one(database, flow.node_id)
    await sql(database, "UPDATE windlass.job SET callback_until = now() WHERE kind = 'map'")
    await flow.look_after(await recover(database))
    assert sorted((await flow.states()).values()) == ["cancelled", "dead", "running"]
    await flow.end(running)
    assert await ended_as(flow) == "failed"
    assert await value(database, "SELECT count(*) FROM windlass.fan") == 0


async def test_no_child_begins_for_a_step_that_waits_no_more(database: Database) -> None:
    await inner(database, [noop("x")])
    flow = await Flow.start(database, [CHILD])
    [step] = await flow.rows()
    await cancel(flow)
    await sql(database, "DELETE FROM windlass.execution WHERE parent_job_id IS NOT NULL")
    late = Start(workflow="inner", parent_job_id=step["id"])
    assert (await start_many(database, [late])).execution_ids == []


async def test_a_cancel_and_the_end_of_a_child_at_once_leave_nothing_open(
    database: Database,
) -> None:
    await inner(database, [noop("x")])
    for _ in range(8):
        flow = await Flow.start(database, [CHILD, noop("after", "child")])
        child = await child_of(flow)
        attempt = await take_one(database, flow.node_id)
        await end(database, flow.node_id, attempt)
        await asyncio.gather(cancel(flow), conclude(database, [child]))
        await flow.run()
        await tell_jobs(database, [flow.execution_id])
        assert await ended_as(flow) == "cancelled"
        done = await refresh(database, [child])
        await conclude(database, done.unconcluded)
        assert await state_of(database, child) in ("cancelled", "succeeded")
        assert await value(database, "SELECT count(*) FROM windlass.job") == 0


async def test_a_cancelled_execution_takes_nothing_back(database: Database) -> None:
    flow = await Flow.start(
        database,
        [noop("a", undo={"kind": "noop"}), noop("b", "a"), noop("c", "a")],
    )
    await flow.turn()
    first, second = await take(database, flow.node_id)
    flow.outcomes["b"] = flow.outcomes["c"] = FAILS
    await flow.end(first)
    await cancel(flow)
    await flow.end(second)
    assert await ended_as(flow) == "failed"
    assert "a~undo" not in await flow.states()


async def test_what_would_have_followed_does_not_fail_a_cancelled_execution(
    database: Database,
) -> None:
    fail = {"id": "no", "kind": "fail", "input": {"message": "x"}}
    flow = await Flow.start(
        database, [noop("a"), {**fail, "needs": [{"step": "a", "when": "ended"}]}]
    )
    await cancel(flow)
    assert await flow.states() == {"a": "cancelled"}
    assert await ended_as(flow) == "cancelled"
