"""Steps that hold locks: of one execution, of several, in fan-outs and compensations."""

from __future__ import annotations

from uuid import UUID

from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import end, take
from tests.engine.locks.locking import nothing_left, submit_locking, waiters
from windlass.engine.executions.control import pause_execution, resume_execution
from windlass.engine.jobs.cancel import cancel
from windlass.model.job.attempt import Attempt
from windlass.store.database import Database


async def apart(flow: Flow, holder: UUID) -> tuple[Attempt, Attempt]:
    """The attempt of the job that holds the lock, and that of the one step that is due."""
    taken = {attempt.job_id: attempt for attempt in await take(flow.database, flow.node_id)}
    held = taken.pop(holder)
    [step] = taken.values()
    return held, step


async def test_a_step_waits_for_its_lock_and_the_execution_goes_on_around_it(
    database: Database,
) -> None:
    holder = await submit_locking(database, "card:7")
    steps = [noop("pay", locks=["card:${inputs.card}"]), noop("pack"), noop("ship", "pay", "pack")]
    flow = await Flow.start(database, steps, {"card": 7})
    held, pack = await apart(flow, holder)
    await flow.end(pack)
    assert await take(database, flow.node_id) == []
    assert len(await waiters(database, "card:7")) == 1
    await end(database, flow.node_id, held)
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await nothing_left(database)


async def test_steps_that_follow_one_another_pass_their_locks_on(database: Database) -> None:
    steps = [noop("a", locks=["x", "y"]), noop("b", "a", locks=["x"]), noop("c", "b", locks=["y"])]
    flow = await Flow.start(database, steps)
    assert await flow.run() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert await nothing_left(database)


async def test_steps_of_one_lock_run_one_at_a_time(database: Database) -> None:
    flow = await Flow.start(database, [noop(name, locks=["x"]) for name in ("a", "b", "c")])
    for _ in range(3):
        [attempt] = await take(database, flow.node_id)
        await flow.end(attempt)
    assert set((await flow.states()).values()) == {"succeeded"}
    assert await nothing_left(database)


async def test_items_of_a_fan_out_share_a_semaphore(database: Database) -> None:
    await cancel(database, [await submit_locking(database, ("gpu", 2))])
    each = {"kind": "noop", "input": {}, "locks": ["gpu"]}
    fan = {"id": "each", "kind": "map", "items": "${inputs.items}", "step": each}
    flow = await Flow.start(database, [fan], {"items": list(range(5))})
    sizes = []
    while attempts := await take(database, flow.node_id):
        sizes.append(len(attempts))
        for attempt in attempts:
            await flow.end(attempt)
    assert sizes == [2, 2, 1]
    assert (await flow.states())["each"] == "succeeded"
    assert await nothing_left(database)


async def test_a_compensation_takes_its_locks(database: Database) -> None:
    undo = {"kind": "noop", "input": {}, "locks": ["x"]}
    holder = await submit_locking(database, "x")
    flow = await Flow.start(database, [noop("a", undo=undo), noop("b", "a")])
    flow.outcomes["b"] = FAILS
    held, step = await apart(flow, holder)
    await flow.end(step)
    await flow.run()
    await flow.conclude()
    assert len(await waiters(database, "x")) == 1
    await end(database, flow.node_id, held)
    assert (await flow.conclude())["state"] == "failed"
    assert await nothing_left(database)


async def test_an_execution_that_is_paused_keeps_its_rank_among_the_waiters(
    database: Database,
) -> None:
    holder = await submit_locking(database, "x")
    flow = await Flow.start(database, [noop("a", locks=["x"])])
    await flow.look_after(await pause_execution(database, flow.execution_id))
    await cancel(database, [holder])
    assert await waiters(database, "x") == []
    assert await take(database, flow.node_id) == [], "it has its lock, and is paused"
    await flow.look_after(await resume_execution(database, flow.execution_id))
    assert await flow.run() == {"a": "succeeded"}
    assert await nothing_left(database)


async def test_a_name_that_is_none_fails_its_step(database: Database) -> None:
    flow = await Flow.start(database, [noop("a", locks=["${inputs.path}"])], {"path": "a/b"})
    assert await flow.run() == {"a": "dead"}
    assert "the name of a lock must be" in (await flow.error("a"))["message"]
