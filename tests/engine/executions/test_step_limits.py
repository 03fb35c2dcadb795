"""Limits of steps: in fan-outs, of several executions, per value of their input."""

from __future__ import annotations

from tests.engine.executions.flow import Flow, noop
from tests.engine.hands import end, take, value
from tests.engine.locks.locking import holders, nothing_left, parked_for
from tests.engine.locks.test_limits import submit_limited
from windlass.engine.executions.control import pause_execution, resume_execution
from windlass.engine.locks.grant import grant_due
from windlass.model.job.outcome import Snoozed
from windlass.store.database import Database

TWO = {"name": "api", "max_running": 2}


async def test_items_of_a_fan_out_keep_to_their_limit(database: Database) -> None:
    each = {"kind": "noop", "input": {}, "limits": [TWO]}
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


async def test_the_value_comes_from_the_input_that_the_step_has_got(database: Database) -> None:
    per = {"name": "card", "max_running": 1, "per": ["/kwargs/card"]}
    cards = {"a": "${inputs.card}", "b": 7, "c": 8}
    steps = [
        {
            "id": name,
            "kind": "python",
            "input": {"task": "t", "kwargs": {"card": card}},
            "limits": [per],
        }
        for name, card in cards.items()
    ]
    flow = await Flow.start(database, steps, {"card": 7})
    locks = "SELECT array_agg(DISTINCT lock ORDER BY lock) FROM windlass.lock_hold"
    assert await value(database, locks) == ["limit/card/7", "limit/card/8"]
    assert await value(database, "SELECT count(*) FROM windlass.lock_wait") == 1
    assert len(await flow.states()) == 3


async def test_a_step_whose_input_has_no_use_for_its_limit_ends_dead(database: Database) -> None:
    limit = {"name": "card", "max_running": 1, "per": ["/kwargs/card"]}
    step = {
        "id": "pay",
        "kind": "python",
        "input": {"task": "t", "kwargs": {"card": "${inputs.card}"}},
        "limits": [limit],
    }
    flow = await Flow.start(database, [step], {"card": [1]})
    assert (await flow.states())["pay"] == "dead"


async def test_a_step_that_rests_in_a_paused_execution_waits_for_both(database: Database) -> None:
    flow = await Flow.start(database, [noop("a", limits=[{"name": "api", "max_running": 1}])])
    [attempt] = await take(database, flow.node_id)
    await pause_execution(database, flow.execution_id)
    await end(database, flow.node_id, attempt, Snoozed(0.0))
    await grant_due(database)
    assert await value(database, "SELECT parked_for FROM windlass.job") == "paused"
    assert await take(database, flow.node_id) == []
    effects = await resume_execution(database, flow.execution_id)
    assert effects.look_seconds == 0.0
    await grant_due(database)
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await nothing_left(database)


ONE = {"name": "api", "max_running": 1}


async def test_what_is_paused_keeps_no_place_from_others(database: Database) -> None:
    flow = await Flow.start(database, [noop("a", limits=[ONE])])
    other = await submit_limited(database, ONE)
    await grant_due(database)
    assert await parked_for(database, other) == "lock"
    await flow.look_after(await pause_execution(database, flow.execution_id))
    assert await holders(database, "limit/api") == [other]
    await end(database, flow.node_id, await take(database, flow.node_id))
    await resume_execution(database, flow.execution_id)
    await grant_due(database)
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await nothing_left(database)


async def test_whose_turn_comes_while_it_is_paused_leaves_it_to_the_next(
    database: Database,
) -> None:
    await submit_limited(database, ONE)
    await grant_due(database)
    flow = await Flow.start(database, [noop("a", limits=[ONE], locks=["card"])])
    await flow.look_after(await pause_execution(database, flow.execution_id))
    other = await submit_limited(database, ONE)
    await end(database, flow.node_id, await take(database, flow.node_id))
    assert await holders(database, "limit/api") == [other]
    await end(database, flow.node_id, await take(database, flow.node_id))
    await resume_execution(database, flow.execution_id)
    await grant_due(database)
    assert set((await flow.run()).values()) == {"succeeded"}
    assert await nothing_left(database)
