"""The next steps: which follow, with what, and that each is there exactly once."""

from __future__ import annotations

import asyncio

from tests.engine.executions.flow import FAILS, Flow, noop
from tests.engine.hands import end, sql, take
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.workflows import publish
from windlass.model.job.outcome import Succeeded
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database


async def test_a_chain_runs_in_order_and_hands_its_results_on(database: Database) -> None:
    flow = await Flow.start(
        database,
        [
            noop("a", input={"n": "${inputs.n}"}),
            noop("b", "a", input={"from": "${steps.a.output}"}),
            noop("c", "b", input={"text": "from ${steps.a.output} by ${steps.b.output}"}),
        ],
        {"n": 7},
    )
    assert await flow.run() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert flow.ran == ["a", "b", "c"]
    assert await flow.given("a") == {"n": 7}
    assert await flow.given("b") == {"from": "a"}
    assert await flow.given("c") == {"text": "from a by b"}


async def test_steps_that_end_as_their_execution_begins_are_told_to_who_waits_for_them(
    database: Database,
) -> None:
    steps = [noop("a", **{"if": "${false}"}), noop("b")]
    await publish(database, trust_definition({"name": "flow", "steps": steps}), by=None)
    started = await start_many(database, [Start(workflow="flow")])
    [skipped] = await sql(database, "SELECT id FROM windlass.job_history WHERE step = 'a'")
    assert started.effects.ended == {skipped["id"]: "skipped"}


async def test_a_join_waits_for_all_its_needs(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b")])
    first, second = await take(database, flow.node_id)
    await flow.end(first)
    assert "c" not in await flow.states()
    await flow.end(second)
    assert (await flow.states())["c"] == "queued"


async def test_a_join_of_any_begins_with_the_first_and_only_once(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b"), noop("c", "a", "b", join="any")])
    assert await flow.run() == {"a": "succeeded", "b": "succeeded", "c": "succeeded"}
    assert flow.ran.count("c") == 1


async def test_a_join_of_two_needs_two(database: Database) -> None:
    steps = [noop("a"), noop("b"), noop("c"), noop("d", "a", "b", "c", join=2)]
    flow = await Flow.start(database, steps)
    assert (await flow.run(a=FAILS))["d"] == "succeeded"
    other = await Flow.start(database, steps)
    assert (await other.run(a=FAILS, b=FAILS))["d"] == "skipped"


async def test_two_needs_that_end_at_once_on_two_nodes_make_one_job(database: Database) -> None:
    for _ in range(10):
        flow = await Flow.start(
            database, [noop("a"), noop("b"), noop("c", "a", "b"), noop("d", "c")]
        )
        ends = [end(database, flow.node_id, one) for one in await take(database, flow.node_id)]
        await asyncio.gather(*ends)
        found = await sql(
            database,
            "SELECT count(*) FROM windlass.job WHERE execution_id = $1 AND step = 'c'",
            flow.execution_id,
        )
        assert found[0]["count"] == 1


async def test_a_failure_skips_what_needs_success_all_the_way_down(database: Database) -> None:
    flow = await Flow.start(
        database,
        [noop("a"), noop("b", "a"), noop("c", "b"), noop("d", {"step": "a", "when": "ended"})],
    )
    states = await flow.run(a=FAILS)
    assert states == {"a": "dead", "b": "skipped", "c": "skipped", "d": "succeeded"}


async def test_a_step_for_failure_runs_only_then_and_the_failure_is_foreseen(
    database: Database,
) -> None:
    steps = [noop("a"), noop("sorry", {"step": "a", "when": "failed"}), noop("b", "a")]
    flow = await Flow.start(database, steps)
    assert await flow.run(a=FAILS) == {"a": "dead", "sorry": "succeeded", "b": "skipped"}
    assert (await flow.conclude())["state"] == "succeeded"
    fine = await Flow.start(database, steps)
    assert (await fine.run())["sorry"] == "skipped"


async def test_a_condition_that_is_false_skips_and_one_that_breaks_fails(
    database: Database,
) -> None:
    flow = await Flow.start(
        database,
        [
            noop("a", **{"if": "${inputs.n > 10}"}),
            noop("b", **{"if": "${inputs.n < 10}"}),
            noop("c", **{"if": "${inputs.missing > 10}"}),
        ],
        {"n": 7},
    )
    assert await flow.run() == {"a": "skipped", "b": "succeeded", "c": "dead"}
    error = await flow.error("c")
    assert error["cause"] == "expression"
    assert "missing" in error["message"]


async def test_a_switch_goes_one_way_and_skips_the_others(database: Database) -> None:
    switch = {
        "id": "route",
        "kind": "switch",
        "cases": [
            {"if": "${inputs.n > 100}", "go": ["large"]},
            {"if": "${inputs.n > 10}", "go": ["middle", "note"]},
        ],
        "default": ["small"],
    }
    steps = [switch, noop("large"), noop("middle"), noop("note"), noop("small")]
    for n, gone in ((500, {"large"}), (50, {"middle", "note"}), (5, {"small"})):
        flow = await Flow.start(database, steps, {"n": n})
        states = await flow.run()
        assert {step for step, state in states.items() if state == "succeeded"} == gone | {"route"}


async def test_a_transform_shapes_a_value_and_fail_fails(database: Database) -> None:
    flow = await Flow.start(
        database,
        [
            {"id": "sum", "kind": "transform", "input": {"value": {"n": "${inputs.n + 1}"}}},
            {
                "id": "stop",
                "kind": "fail",
                "needs": ["sum"],
                "input": {"message": "got ${steps.sum.output.n}"},
            },
            noop("after", "stop"),
        ],
        {"n": 7},
    )
    assert await flow.run() == {"sum": "succeeded", "stop": "dead", "after": "skipped"}
    assert await flow.result("sum") == {"n": 8}
    assert (await flow.error("stop"))["message"] == "got 8"


async def test_a_late_end_of_a_step_inserts_nothing(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")])
    [attempt] = await take(database, flow.node_id)
    await flow.end(attempt)
    again = await end(database, flow.node_id, attempt, Succeeded(b"2"))
    assert not again.effects.lazy_marks
    found = await sql(database, "SELECT count(*) FROM windlass.job WHERE step = 'b'")
    assert found[0]["count"] == 1


async def test_an_output_is_filled_when_all_has_ended(database: Database) -> None:
    flow = await Flow.start(
        database,
        [noop("a"), noop("b", "a")],
        output={"of": ["${steps.a.output}", "${steps.b.state}"]},
    )
    await flow.turn()
    assert (await flow.conclude())["output"] == '{"of":["a","succeeded"]}'


async def test_an_execution_that_is_not_over_is_not_concluded(database: Database) -> None:
    flow = await Flow.start(database, [noop("a"), noop("b", "a")], output="${steps.b.output}")
    assert not (await conclude_only(database, flow))
    await flow.run()
    row = await flow.conclude()
    assert (row["state"], row["output"]) == ("succeeded", '"b"')


async def conclude_only(database: Database, flow: Flow) -> bool:
    from windlass.engine.executions.conclude import conclude

    return flow.execution_id in (await conclude(database, [flow.execution_id])).ended


async def test_what_was_done_is_undone_in_reverse_when_the_execution_fails(
    database: Database,
) -> None:
    undo = {"kind": "noop", "input": {"of": "${steps.a.output}"}}
    flow = await Flow.start(
        database,
        [
            noop("a", undo=undo),
            noop("b", "a", undo={"kind": "noop"}),
            noop("c", "b", undo={"kind": "noop"}),
        ],
    )
    await flow.run(c=FAILS)
    row = await flow.conclude()
    assert row["state"] == "failed"
    assert '"step" : "c"' in row["error"]
    assert flow.ran == ["a", "b", "c", "b~undo", "a~undo"]
    assert await flow.given("a~undo") == {"of": "a"}


async def test_a_join_of_a_case_and_another_step_knows_which_way_the_switch_went(
    database: Database,
) -> None:
    switch = {
        "id": "way",
        "kind": "switch",
        "cases": [{"if": "${inputs.n > 1}", "go": ["left"]}],
        "default": ["right"],
    }
    steps = [switch, noop("slow"), noop("left", "slow"), noop("right", "slow")]
    flow = await Flow.start(database, steps, {"n": 2})
    states = await flow.run()
    assert (states["left"], states["right"]) == ("succeeded", "skipped")


async def test_a_result_too_deep_to_read_concerns_only_who_reads_it(database: Database) -> None:
    deep = Succeeded(b"[" * 3_000 + b"]" * 3_000)
    undo = {"kind": "noop", "input": {"of": "${steps.a.output}"}}
    flow = await Flow.start(
        database,
        [
            noop("a", undo=undo),
            noop("b", "a"),
            noop("c", "b", input={"of": "${steps.a.output}"}),
            noop("d", "b", input={"has": "${has(steps.a.output)}"}),
        ],
    )
    states = {"a": "succeeded", "b": "succeeded", "c": "dead", "d": "succeeded"}
    assert await flow.run(a=deep) == states
    assert (await flow.error("c"))["cause"] == "expression"
    assert (await flow.conclude())["state"] == "failed"
    assert await flow.states() == states | {"a~undo": "dead"}


async def test_an_execution_whose_output_cannot_be_read_ends_with_who_waits_for_it(
    database: Database,
) -> None:
    child = {"name": "child", "steps": [noop("a")], "output": {"of": "${steps.a.output}"}}
    await publish(database, trust_definition(child), by=None)
    call = {"id": "call", "kind": "workflow", "input": {"workflow": "child"}}
    for unreadable in (b"[" * 3_000 + b"]" * 3_000, b"1e999"):
        flow = await Flow.start(database, [call])
        await flow.run(a=Succeeded(unreadable))
        below = "SELECT id FROM windlass.execution WHERE finished_at IS NULL AND depth = 1"
        effects = await conclude(database, [row["id"] for row in await sql(database, below)])
        assert sorted(effects.ended.values()) == ["dead", "failed"]
        assert (await flow.error("call"))["cause"] == "child_failed"
        assert (await flow.conclude())["state"] == "failed"
