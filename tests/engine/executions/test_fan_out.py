"""Fan-outs: every item has its job, items end on their own, and the step ends once."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import end, sql, take
from windlass.engine.effects import Upkeep
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.upkeep import run_upkeep
from windlass.engine.executions.workflows import publish
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database


def fan(**fields: Any) -> list[dict[str, Any]]:
    each = {"kind": "noop", "input": {"item": "${item}", "index": "${index}"}}
    return [
        noop("first"),
        {
            "id": "each",
            "kind": "map",
            "needs": ["first"],
            "items": "${inputs.items}",
            "step": each,
            **fields,
        },
        noop("last", "each", input={"all": "${steps.each.output}"}),
    ]


async def test_each_element_gets_a_job_and_the_results_come_back_in_order(
    database: Database,
) -> None:
    flow = await Flow.start(database, fan(), {"items": ["x", {"y": 1}, None]})
    states = await flow.run()
    assert states["each"] == states["last"] == "succeeded"
    assert await flow.given("each[1]") == {"item": {"y": 1}, "index": 1}
    assert await flow.given("last") == {"all": ["each", "each", "each"]}
    assert not await sql(database, "SELECT FROM windlass.fan")
    assert not await sql(database, "SELECT FROM windlass.fan_delta")


async def test_no_elements_end_at_once(database: Database) -> None:
    flow = await Flow.start(database, fan(), {"items": []})
    states = await flow.run()
    assert states == {"first": "succeeded", "each": "succeeded", "last": "succeeded"}
    assert await flow.result("each") == []


async def test_what_is_no_list_fails_the_step(database: Database) -> None:
    flow = await Flow.start(database, fan(), {"items": "abc"})
    assert (await flow.run())["each"] == "dead"
    assert "must give a list" in (await flow.error("each"))["message"]


async def test_no_more_items_are_open_than_may_run_in_parallel(database: Database) -> None:
    flow = await Flow.start(database, fan(max_parallel=2), {"items": list(range(7))})
    await flow.turn()
    while attempts := await take(database, flow.node_id):
        opened = await sql(database, "SELECT count(*) FROM windlass.job WHERE item IS NOT NULL")
        assert opened[0]["count"] <= 2
        await flow.end(attempts[0])
        for attempt in attempts[1:]:
            await flow.end(attempt)
    states = await flow.states()
    assert states["last"] == "succeeded"
    assert sum(step.startswith("each[") for step in states) == 7


async def test_a_tolerated_failure_leaves_a_gap_and_goes_on(database: Database) -> None:
    flow = await Flow.start(database, fan(tolerance=1), {"items": [1, 2, 3]})
    await flow.turn()
    first, *others = await take(database, flow.node_id)
    flow.outcomes["each"] = FAILS
    await flow.end(first)
    del flow.outcomes["each"]
    for attempt in others:
        await flow.end(attempt)
    states = await flow.run()
    assert states["last"] == "succeeded"
    assert sorted(map(str, await flow.result("each"))) == ["None", "each", "each"]
    assert (await flow.conclude())["state"] == "succeeded"


async def test_one_failure_too_many_stops_the_rest_and_fails_the_step(
    database: Database,
) -> None:
    flow = await Flow.start(database, fan(max_parallel=1), {"items": [1, 2, 3, 4]})
    states = await flow.run(each=FAILS)
    assert states["each"] == "dead"
    assert states["last"] == "skipped"
    assert "each[1]" not in states
    assert (await flow.error("each"))["cause"] == "places_failed"
    assert (await flow.conclude())["state"] == "failed"


async def test_items_that_wait_are_cancelled_when_too_many_have_failed(
    database: Database,
) -> None:
    flow = await Flow.start(database, fan(), {"items": [1, 2, 3, 4]})
    await flow.turn()
    [attempt] = await take(database, flow.node_id, 1)
    flow.outcomes["each"] = FAILS
    await flow.end(attempt)
    states = await flow.run()
    assert sorted(states[f"each[{n}]"] for n in range(4)) == ["cancelled"] * 3 + ["dead"]
    assert states["each"] == "dead"


async def test_results_that_nobody_wants_are_counted_instead(database: Database) -> None:
    flow = await Flow.start(database, fan(collect=False), {"items": [1, 2]})
    await flow.run()
    assert await flow.result("each") == {"total": 2, "succeeded": 2, "failed": 0}


async def test_an_item_whose_expression_has_no_answer_has_failed(database: Database) -> None:
    steps = fan(tolerance=1)
    steps[1]["step"] = {"kind": "noop", "input": {"id": "${item.id}"}}
    flow = await Flow.start(database, steps, {"items": [{"id": 1}, {}]})
    states = await flow.run()
    assert (states["each[0]"], states["each[1]"]) == ("succeeded", "dead")
    assert states["last"] == "succeeded"


async def test_last_items_that_end_at_once_end_the_step_once(database: Database) -> None:
    flow = await Flow.start(database, fan(), {"items": list(range(20))})
    await flow.turn()
    attempts = await take(database, flow.node_id)
    halves = [attempts[:10], attempts[10:]]
    await asyncio.gather(*(end(database, flow.node_id, half) for half in halves))
    due = Upkeep(fan_outs={(flow.execution_id, "each")})
    done = await asyncio.gather(*(run_upkeep(database, due) for _ in range(4)))
    assert sum(len(one.ended) for one in done) == 1
    assert (await flow.states())["last"] == "queued"


async def test_an_item_may_be_an_execution_of_another_workflow(database: Database) -> None:
    double = [{"id": "twice", "kind": "transform", "input": {"value": "${inputs.n * 2}"}}]
    child = trust_definition({"name": "double", "steps": double, "output": "${steps.twice.output}"})
    await publish(database, child, by=None)
    steps = fan()
    inner = {"workflow": "double", "input": {"n": "${item}"}}
    steps[1]["step"] = {"kind": "workflow", "input": inner}
    flow = await Flow.start(database, steps, {"items": [1, 2, 3]})
    await flow.turn()
    children = await sql(database, "SELECT id FROM windlass.execution WHERE depth = 1")
    effects = await conclude(database, [row["id"] for row in children])
    await flow.look_after(effects)
    assert (await flow.run())["last"] == "succeeded"
    assert await flow.result("each") == [2, 4, 6]
