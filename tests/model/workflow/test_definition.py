"""Reading definitions that are right: what becomes of each field."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.workflow.definitions import document, read, step
from windlass.model.workflow.definition import DEFAULT_CASE, Case, Concurrency, Inner, Need
from windlass.model.workflow.read import trust_definition


def test_the_least_definition_has_a_name_and_a_step() -> None:
    found = read({"name": "least", "steps": [{"id": "only", "kind": "noop"}]})
    assert (found.name, found.queue, found.priority) == ("least", "default", 1)
    assert (found.inputs, found.output, found.concurrency, found.timeout_seconds) == (None,) * 4
    (only,) = found.steps
    assert (only.id, only.kind, only.input, only.needs, only.join) == ("only", "noop", {}, (), None)


def test_every_field_around_the_steps_is_read() -> None:
    found = read(
        document(
            step("a"),
            schema="windlass/v1",
            description="What it is for.",
            inputs={"type": "object", "properties": {"who": {"type": "string"}}},
            vars={"limit": 100},
            queue="mail",
            priority="high",
            timeout="2h",
            concurrency={"key": "${inputs.who}", "limit": 3, "policy": "skip"},
            output={"id": "${execution.id}"},
            layout={"a": [0, 0]},
        )
    )
    assert found.description == "What it is for."
    assert (found.vars, found.queue, found.priority) == ({"limit": 100}, "mail", 2)
    assert found.timeout_seconds == 7200
    assert found.concurrency == Concurrency(key="${inputs.who}", limit=3, policy="skip")
    assert found.output == {"id": "${execution.id}"}
    assert found.layout == {"a": [0, 0]}
    assert "layout" not in found.document


def test_every_field_of_a_step_that_a_node_performs_is_read() -> None:
    undo = {"kind": "noop", "input": {"of": "${steps.b.output}"}, "retry": {"max_attempts": 9}}
    found = read(
        document(
            step("a"),
            step(
                "b",
                "http",
                title="Tell them",
                input={"url": "https://shop.example", "json": {"n": "${inputs.n}"}},
                needs=["a"],
                condition="${ inputs.n > 1 }",
                retry={"max_attempts": 3, "initial": "2s"},
                timeout="30s",
                queue="mail",
                priority="low",
                locks=["card:${inputs.n}"],
                undo=undo,
            ),
        )
    ).steps[1]
    assert found.title == "Tell them"
    assert found.input == {"url": "https://shop.example", "json": {"n": "${inputs.n}"}}
    assert found.needs == (Need(step="a"),)
    assert found.condition == "inputs.n > 1"
    assert found.retry == {"max_attempts": 3, "initial": "2s"}
    assert (found.timeout_seconds, found.queue, found.priority) == (30, "mail", 0)
    assert found.locks == ("card:${inputs.n}",)
    assert found.undo == Inner(
        kind="noop", input={"of": "${steps.b.output}"}, retry={"max_attempts": 9}
    )


def test_needs_say_which_end_is_waited_for_and_how_many() -> None:
    found = read(
        document(
            step("a"),
            step("b", condition="${true}"),
            step("c", needs=["a", {"step": "b", "when": "skipped"}], join="any"),
            step("d", needs=[{"step": "a", "when": "failed"}, {"step": "c"}], join=2),
            step("e", needs=[{"step": "d", "when": "ended"}], join="all"),
        )
    )
    assert [need.when for need in found.steps[2].needs] == ["succeeded", "skipped"]
    assert [one.join for one in found.steps] == [None, None, 1, 2, None]


def test_a_map_has_what_it_does_with_each_item() -> None:
    each = {"kind": "python", "input": {"task": "pack", "args": ["${item}", "${index}"]}}
    found = read(
        document(
            step("a", "map", items="${inputs.things}", step=each),
            step(
                *("b", "map"),
                items="${[1, 2]}",
                step={**each, "timeout": "5s", "queue": "q", "priority": "high", "locks": ["x"]},
                max_parallel=10,
                tolerance="12.5%",
                collect=False,
            ),
            step("c", "map", items="${[1, 2]}", step={"kind": "noop"}, tolerance=3),
        )
    )
    a, b, c = found.steps
    assert a.items == "inputs.things"
    assert a.each == Inner(kind="python", input=each["input"])  # type: ignore[arg-type]
    assert (a.max_parallel, a.tolerance, a.collect) == (None, 0, True)
    assert b.each is not None
    assert (b.each.timeout_seconds, b.each.queue, b.each.priority) == (5, "q", 2)
    assert (b.max_parallel, b.tolerance, b.collect) == (10, 0.125, False)
    assert (c.tolerance, type(c.tolerance)) == (3, int)


def test_a_step_that_a_switch_goes_to_needs_the_switch_by_its_cases() -> None:
    found = read(
        document(
            step("start"),
            step(
                *("route", "switch"),
                needs=["start"],
                cases=[{"if": "${1 > 2}", "go": ["a", "both"]}, {"if": "${true}", "go": ["both"]}],
                default=["c"],
            ),
            step("a", needs=["start"]),
            step("both", needs=["route"]),
            step("c"),
        )
    )
    route, a, both, c = found.steps[1:]
    assert route.cases == (
        Case(condition="1 > 2", go=("a", "both")),
        Case(condition="true", go=("both",)),
    )
    assert route.default_go == ("c",)
    assert a.needs == (Need(step="start"), Need(step="route", cases=(0,)))
    # Two cases go there, and either is enough; that it names the switch itself changes nothing.
    assert both.needs == (Need(step="route", cases=(0, 1)),)
    assert c.needs == (Need(step="route", cases=(DEFAULT_CASE,)),)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "http", "input": {"url": "https://shop.example"}},
        {"kind": "python", "input": {"task": "pack"}},
        {"kind": "wait", "input": {"until": "${inputs.then}"}},
        {"kind": "signal", "input": {"name": "payment"}, "timeout": "300d"},
        {"kind": "approval", "input": {"title": "Sure?", "form": {"type": "object"}}},
        {"kind": "map", "items": "${[]}", "step": {"kind": "noop"}},
        {"kind": "switch", "cases": [{"if": "${true}", "go": []}], "default": []},
        {"kind": "workflow", "input": {"workflow": "other", "version": 3, "input": {"a": 1}}},
        {"kind": "workflow", "input": {"workflow": "${inputs.which}", "input": "${inputs}"}},
        {"kind": "transform", "input": {"value": None}},
        {"kind": "fail", "input": {"message": "${inputs.why}"}},
        {"kind": "noop", "input": {"any": ["thing"]}},
    ],
    ids=lambda fields: fields["kind"],
)
def test_there_is_a_right_way_to_write_each_kind(fields: dict[str, Any]) -> None:
    assert read(document({"id": "only", **fields})).steps[0].kind == fields["kind"]


def test_what_is_null_is_as_good_as_left_out() -> None:
    given = {"id": "a", "kind": "noop", "needs": None, "if": None, "retry": None, "undo": None}
    assert read(document(given, timeout=None, inputs=None)).steps == read(document(step("a"))).steps


def test_the_hash_is_of_what_is_meant_and_not_of_how_it_is_drawn() -> None:
    given = document(step("a", input={"x": 1, "y": 2.0}), step("b"))
    same = {
        "layout": {"a": [1, 2]},
        "steps": [{"kind": "noop", "input": {"y": 2, "x": 1.0}, "id": "a"}, step("b")],
        "name": "test",
    }
    other_order = document(step("b"), step("a", input={"x": 1, "y": 2}))
    assert read(given).hash == read(same).hash
    assert read(given).hash != read(other_order).hash
    assert read(given).hash != read({**given, "schema": "windlass/v1"}).hash, "nothing is filled in"


def test_a_published_definition_is_read_again_without_judging_its_kinds() -> None:
    given = document(
        step("a", "map", items="${inputs.x}", step={"kind": "noop"}, tolerance="5%"),
        step("r", "switch", needs=["a"], cases=[{"if": "${true}", "go": ["b"]}], default=[]),
        step("b", undo={"kind": "noop"}),
        layout={"a": 1},
    )
    assert trust_definition(given) == read(given)
    plugged = document(step("a", "plugin_of_another_node", input={"x": 1}))
    assert trust_definition(plugged).steps[0].kind == "plugin_of_another_node"
