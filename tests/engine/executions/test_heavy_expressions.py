"""Steps whose expressions are as much work as may be: nobody else waits for them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import thread_time
from typing import Any
from uuid import UUID

import msgspec
import pytest
from asyncpg import Record

from tests.engine.evaluate.stopped import stopped_evaluator
from tests.engine.executions.flow import Flow, noop
from tests.engine.hands import end, register, sql, take
from tests.until import until
from windlass.engine.effects import Effects
from windlass.engine.executions import decide_apart as decide_apart
from windlass.engine.executions import facts
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.decide_apart import WAITING, EvaluationsFull
from windlass.engine.executions.start import Prepared, Start, start_many
from windlass.engine.executions.start_batch import ExecutionStarter
from windlass.engine.executions.upkeep import run_upkeep
from windlass.engine.executions.workflows import publish
from windlass.model.expression import KEPT
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

# Each alone was more than ten seconds of a frozen loop.
ZONE = "timestamp('2031-05-01T12:00:00Z').getHours('Nowhere/' + string(a))"
HOSTILE = f"inputs.list.all(a, {ZONE} == 1 || true)"
HEAVY = "size(inputs.list.map(a, inputs.list.size() + a))"
INPUT: dict[str, Any] = {"list": list(range(20_000))}
# Of the processor, and of the loop's own thread: how busy the machine is does not count.
GAP_SECONDS_MAX = 5.0


@asynccontextmanager
async def watched_loop() -> AsyncIterator[None]:
    """Fails when the loop could do nothing else for too long."""
    gaps, last = [0.0], thread_time()

    async def tick() -> None:
        nonlocal last
        while True:
            await asyncio.sleep(0.005)
            gaps.append(thread_time() - last)
            last = thread_time()

    ticking = asyncio.create_task(tick())
    try:
        yield
    finally:
        ticking.cancel()
    assert max(*gaps, thread_time() - last) < GAP_SECONDS_MAX


async def test_hostile_expressions_do_not_freeze_the_loop(database: Database) -> None:
    steps = [
        noop("a"),
        *(noop(f"b{n}", "a", **{"if": "${" + HOSTILE + "}"}) for n in range(4)),
        noop("c", "a"),
    ]
    async with watched_loop():
        flow = await Flow.start(database, steps, INPUT)
        states = await flow.run()
    assert {states[f"b{n}"] for n in range(4)} == {"dead"}
    assert "too much work" in (await flow.error("b0"))["message"]
    assert states["c"] == "succeeded"


async def test_a_large_definition_that_is_new_to_a_node_does_not_freeze_the_loop(
    database: Database,
) -> None:
    """Its thousands of expressions are compiled beside the loop, which ticks meanwhile."""
    values = [[f"${{inputs.n + {1_000 * k + n}}}" for n in range(1_000)] for k in range(12)]
    steps = [
        noop(f"s{k}", kind="transform", input={"value": value}) for k, value in enumerate(values)
    ]
    await publish(database, trust_definition({"name": "large", "steps": steps}), by=None)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    facts._facts.clear()  # as on another node
    for _, compiled in KEPT:
        compiled.cache_clear()
    [row] = await database.run("workflow_version_find", ["large"], [0])
    [found] = await database.run("definition_get_many", ["large"], [row["version"]])
    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    plan = await facts.learn(row["hash"], found["definition"])
    ticking.cancel()
    assert len(plan.vertices) == 12
    assert ticks > 10


async def test_a_form_of_many_patterns_does_not_freeze_the_loop(database: Database) -> None:
    """It comes with the input, so nobody has seen it before it is asked with."""
    steps = [{"id": "ask", "kind": "approval", "input": {"title": "?", "form": "${inputs.form}"}}]

    def form(count: int) -> dict[str, Any]:
        return {"properties": {f"p{n}": {"pattern": rf"(?:\w|{n}){{45}}"} for n in range(count)}}

    async with watched_loop():
        many = await Flow.start(database, steps, {"form": form(1_500)})
        few = await Flow.start(database, steps, {"form": form(5)})
    assert await many.states() == {"ask": "dead"}
    assert "patterns are too much" in (await many.error("ask"))["message"]
    assert await few.states() == {"ask": "running"}


async def test_what_is_heavy_and_within_the_allowance_has_its_answer(database: Database) -> None:
    steps = [noop("a"), noop("b", "a", input={"n": "${" + HEAVY + "}"}), noop("c", "b")]
    flow = await Flow.start(database, steps, INPUT)
    assert await flow.run() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert await flow.given("b") == {"n": 20_000}


async def test_a_batch_with_heavy_executions_in_it_is_finished_one_by_one(
    database: Database,
) -> None:
    steps = [noop("a"), noop("b", "a", **{"if": "${" + HOSTILE + "}"})]
    await publish(database, trust_definition({"name": "heavy", "steps": steps}), by=None)
    light = [noop("a"), noop("b", "a")]
    await publish(database, trust_definition({"name": "light", "steps": light}), by=None)
    starts = [Start(workflow="heavy", input=INPUT) for _ in range(6)]
    made = await start_many(database, [*starts, Start(workflow="light")])
    node = await register(database)
    async with watched_loop():
        settled = await end(database, node, await take(database, node))
    assert len(settled.effects.ended) >= 7
    found = await states_of(database, made.execution_ids)
    assert [found[one]["b"] for one in made.execution_ids] == ["dead"] * 6 + ["queued"]


async def test_heavy_starts_that_come_together_are_begun_one_by_one(database: Database) -> None:
    steps = [noop("b", **{"if": "${" + HOSTILE + "}"}), noop("c")]
    await publish(database, trust_definition({"name": "heavy", "steps": steps}), by=None)
    done: list[Effects] = []
    starts = ExecutionStarter(database, done.append)
    async with watched_loop():
        begun = await asyncio.gather(
            *(starts.start(Start(workflow="heavy", input=INPUT)) for _ in range(6))
        )
    found = await states_of(database, [one.row["id"] for one in begun])
    assert list(found.values()) == [{"b": "dead", "c": "queued"}] * 6


UNIQUE = {"type": "object", "properties": {"list": {"type": "array", "uniqueItems": True}}}


@pytest.mark.parametrize(
    ("inputs", "condition"), [(None, HOSTILE), (UNIQUE, "true")], ids=["expression", "schema"]
)
async def test_no_heavy_start_waits_for_the_collector(
    database: Database, inputs: dict[str, Any] | None, condition: str
) -> None:
    """Each has a megabyte in hand, and the collector of a node comes rarely."""
    read: dict[str, Any] = {"name": "heavy", "steps": [noop("b", **{"if": "${" + condition + "}"})]}
    read |= {"inputs": inputs} if inputs is not None else {}
    await publish(database, trust_definition(read), by=None)
    starts = ExecutionStarter(database, lambda _: None)
    await starts.start(Start(workflow="heavy", input=INPUT))  # it is compiled, and known
    gc.collect()
    gc.disable()
    try:
        for _ in range(4):
            await starts.start(Start(workflow="heavy", input=dict(INPUT)))
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [type(one).__name__ for one in gc.garbage if isinstance(one, Start | Prepared)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []


async def test_items_of_a_heavy_fan_out_come_in_several_transactions(database: Database) -> None:
    each = {"kind": "noop", "input": {"item": "${item}", "n": "${" + HEAVY + "}"}}
    steps = [{"id": "each", "kind": "map", "items": "${[1, 2, 3, 4, 5, 6, 7, 8]}", "step": each}]
    async with watched_loop():
        flow = await Flow.start(database, steps, INPUT)
        inserted = await sql(
            database,
            "SELECT count(DISTINCT xmin::text) AS commits, count(*) FROM windlass.job"
            " WHERE execution_id = $1 AND item IS NOT NULL",
            flow.execution_id,
        )
        assert (await flow.run())["each"] == "succeeded"
    assert inserted[0]["count"] == 8
    assert inserted[0]["commits"] > 1


async def test_heavy_outputs_of_many_executions_are_all_written(database: Database) -> None:
    output = {"n": "${" + HEAVY + "}"}
    read = trust_definition({"name": "heavy", "steps": [noop("a")], "output": output})
    await publish(database, read, by=None)
    made = await start_many(database, [Start(workflow="heavy", input=INPUT) for _ in range(8)])
    node = await register(database)
    effects = (await end(database, node, await take(database, node))).effects
    while effects.upkeep:
        effects = await run_upkeep(database, effects.upkeep)
    async with watched_loop():
        finished = await conclude(database, made.execution_ids)
    assert {finished.ended[one] for one in made.execution_ids} == {"succeeded"}
    rows = await sql(database, "SELECT output::text AS output FROM windlass.execution")
    assert [msgspec.json.decode(row["output"]) for row in rows] == [{"n": 20_000}] * 8


async def test_a_schema_that_is_much_work_does_not_freeze_the_loop(database: Database) -> None:
    schema = {
        "type": "object",
        "properties": {"list": {"uniqueItems": True, "items": {"enum": list(range(20_000))}}},
    }
    read = trust_definition({"name": "checked", "steps": [noop("a")], "inputs": schema})
    await publish(database, read, by=None)
    starts = ExecutionStarter(database, lambda finished: None)
    async with watched_loop():
        begun = await asyncio.gather(
            *(starts.start(Start(workflow="checked", input=INPUT)) for _ in range(3))
        )
    assert len({one.row["id"] for one in begun}) == 3


async def states_of(database: Database, execution_ids: list[UUID]) -> dict[UUID, dict[str, str]]:
    rows = await sql(
        database,
        "SELECT execution_id, step, state FROM windlass.job WHERE execution_id = ANY ($1)"
        " UNION ALL SELECT execution_id, step, state FROM windlass.job_history"
        " WHERE execution_id = ANY ($1)",
        execution_ids,
    )
    found: dict[UUID, dict[str, str]] = {one: {} for one in execution_ids}
    for row in sorted(rows, key=lambda row: str(row["step"])):
        found[row["execution_id"]][row["step"]] = row["state"]
    return found


async def test_light_starts_do_not_wait_for_heavy_ones(database: Database) -> None:
    heavy = [noop("b", **{"if": "${" + HOSTILE + "}"})]
    await publish(database, trust_definition({"name": "heavy", "steps": heavy}), by=None)
    await publish(database, trust_definition({"name": "light", "steps": [noop("a")]}), by=None)
    starts = ExecutionStarter(database, lambda finished: None)

    async def start(workflow: str) -> UUID:
        given = INPUT if workflow == "heavy" else {}
        found: UUID = (await starts.start(Start(workflow=workflow, input=given))).row["id"]
        return found

    async with stopped_evaluator():
        waiting = [asyncio.create_task(start("heavy")) for _ in range(4)]
        # They come in the same breath, and nobody evaluates anything.
        made = await asyncio.gather(*(start("light") for _ in range(20)))
        made += [await start("light")]
        assert not any(task.done() for task in waiting)
    begun = await asyncio.gather(*waiting)
    found = await states_of(database, [*made, *begun])
    assert [found[one] for one in made] == [{"a": "queued"}] * 21
    assert [found[one] for one in begun] == [{"b": "dead"}] * 4


async def test_each_caller_has_so_many_heavy_starts_under_way(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide_apart, "EVALUATIONS_OF_ONE_MAX", 2)
    monkeypatch.setattr(decide_apart, "EVALUATIONS_MAX", 3)
    schema = {"properties": {"list": {"uniqueItems": True}}}
    read = trust_definition({"name": "checked", "steps": [noop("a")], "inputs": schema})
    await publish(database, read, by=None)
    starts = ExecutionStarter(database, lambda finished: None)

    async def start(owner: str) -> Any:
        try:
            return (await starts.start(Start(workflow="checked", input=INPUT, owner=owner))).row
        except EvaluationsFull as refusal:
            return refusal

    async with stopped_evaluator():
        greedy = [asyncio.create_task(start("greedy")) for _ in range(6)]
        done, left = await asyncio.wait(greedy, return_when=asyncio.FIRST_COMPLETED)
        while len(left) > 2:
            more, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert all(isinstance(task.result(), EvaluationsFull) for task in done)
        modest = asyncio.create_task(start("modest"))
        await until(lambda: WAITING.of("modest") == 1, what="it waits")
        assert isinstance(await start("third"), EvaluationsFull), "the node has enough"
    assert {type(row) for row in await asyncio.gather(*left, modest)} == {Record}
    assert type(await start("greedy")) is Record, "there is room again"


async def test_many_light_starts_are_not_heavy_together(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide_apart, "EVALUATIONS_OF_ONE_MAX", 0)  # a heavy one would be refused
    schema = {"properties": {"list": {"uniqueItems": True}}}
    steps = [noop("a", input={"n": "${size(inputs.list.map(a, a + 1))}"})]
    read = trust_definition({"name": "light", "steps": steps, "inputs": schema})
    await publish(database, read, by=None)
    starts = ExecutionStarter(database, lambda finished: None)
    given = {"list": list(range(300))}
    begun = await asyncio.gather(
        *(starts.start(Start(workflow="light", input=given)) for _ in range(100))
    )
    assert len({one.row["id"] for one in begun}) == 100
