"""Definitions with mistakes: each is told with its pointer and the fix, and all of them at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.model.workflow.definitions import KINDS, document, problem, problems, read, step
from windlass.limits import DEFINITION_BYTES_MAX, DEFINITION_PROBLEMS_MAX, STEPS_MAX
from windlass.model.workflow.known_kinds import KnownKinds, TaskShape


def test_all_mistakes_are_told_at_once_each_with_its_pointer() -> None:
    given = {
        "nme": "x",
        "timeout": "soon",
        "steps": [
            {"id": "a", "kind": "htp"},
            {"id": "a", "kind": "noop", "needs": ["b", "c"], "retries": 3},
            {"id": "1st", "kind": "switch", "cases": [{"if": "${1 +}", "go": ["a"]}]},
            {"id": "c", "kind": "noop", "input": {"x": "${inputs.y +}"}},
            "not a step",
        ],
        "output": "${steps.zed.output}",
    }
    found = dict(problems(given))
    assert found.keys() == {
        "/nme",
        "/name",
        "/timeout",
        "/steps/0/kind",
        "/steps/1/id",
        "/steps/1/needs/0",
        "/steps/1/retries",
        "/steps/2/id",
        "/steps/2/default",
        "/steps/2/cases/0/if",
        "/steps/3/input/x",
        "/steps/4",
        "/output",
    }
    assert "did you mean name?" in found["/nme"]
    assert "one of: approval fail http" in found["/steps/0/kind"]
    assert "did you mean retry?" in found["/steps/1/retries"]


@pytest.mark.parametrize("given", [None, 5, "text", [], {}])
def test_what_is_no_definition_at_all_is_told_so(given: Any) -> None:
    assert problems(given)


@pytest.mark.parametrize(
    ("fields", "pointer", "words"),
    [
        ({"schema": "windlass/v2"}, "/schema", "windlass/v1"),
        ({"name": "no spaces"}, "/name", "letters, digits"),
        ({"name": "validate"}, "/name", "choose another"),
        ({"description": 5}, "/description", "text"),
        ({"inputs": {"type": "strnig"}}, "/inputs/type", "string number"),
        ({"inputs": {"type": "array"}}, "/inputs/type", "an input is an object"),
        ({"inputs": {"minimun": 1}}, "/inputs/minimun", "did you mean minimum?"),
        ({"inputs": 7}, "/inputs", "JSON Schema"),
        ({"vars": [1]}, "/vars", "must be an object"),
        ({"queue": "a b"}, "/queue", "letters, digits"),
        ({"priority": "urgent"}, "/priority", "low normal high critical"),
        ({"timeout": -1}, "/timeout", "duration"),
        ({"concurrency": "one"}, "/concurrency", '{"key"'),
        ({"concurrency": {"limit": 1}}, "/concurrency/key", "needs a text"),
        ({"concurrency": {"key": "x", "limit": 0}}, "/concurrency/limit", "whole number from 1"),
        ({"concurrency": {"key": "x", "policy": "wait"}}, "/concurrency/policy", "queue skip"),
        ({"concurrency": {"key": "x", "max": 1}}, "/concurrency/max", "unknown field"),
        ({"concurrency": {"key": "${steps.a.output}"}}, "/concurrency/key", "before"),
        ({"output": {"x": ["${vars.y}"]}}, "/output/x/0", "there is no vars.y"),
        ({"layout": 3}, "/layout", "must be an object"),
        ({"steps": {}}, "/steps", f"1 to {STEPS_MAX}"),
        ({"steps": []}, "/steps", f"1 to {STEPS_MAX}"),
    ],
)
def test_a_field_around_the_steps_says_what_it_may_hold(
    fields: dict[str, Any], pointer: str, words: str
) -> None:
    found_pointer, detail = problem(step("a"), **fields)
    assert found_pointer == pointer
    assert words in detail


@pytest.mark.parametrize(
    ("fields", "pointer", "words"),
    [
        ({"id": "a-b"}, "/id", "letters, digits and _"),
        ({"id": "x" * 65}, "/id", "1 to 64"),
        ({"title": ""}, "/title", "1 to 200"),
        ({"needs": "a"}, "/needs", "list of the ids"),
        ({"needs": [{"step": "a", "when": "done"}]}, "/needs/0", "succeeded failed ended skipped"),
        ({"needs": [{"stp": "a"}]}, "/needs/0", '{"step": "id"'),
        ({"needs": ["first", "first"]}, "/needs/1", "needed twice"),
        ({"needs": ["frist"]}, "/needs/0", "did you mean first?"),
        ({"join": "some"}, "/join", "all, any, or how many"),
        ({"join": 0}, "/join", "all, any, or how many"),
        ({"needs": ["first"], "join": 2}, "/join", "has 1 need"),
        ({"if": "inputs.x"}, "/if", "in ${ }"),
        ({"if": True}, "/if", "in ${ }"),
        ({"if": "${1 +}"}, "/if", "is not CEL"),
        ({"input": [1]}, "/input", "must be an object"),
        ({"retry": {"max_atempts": 3}}, "/retry/max_atempts", "known are max_attempts"),
        ({"retry": {"max_attempts": 0}}, "/retry/max_attempts", "from 1 to"),
        ({"timeout": "8d"}, "/timeout", "longer than"),
        ({"timeout": 0}, "/timeout", "a millisecond"),
        ({"queue": ""}, "/queue", "letters"),
        ({"priority": 3}, "/priority", "low normal"),
        ({"locks": "card"}, "/locks", "list"),
        ({"locks": [""]}, "/locks/0", "1 to"),
        ({"locks": ["${inputs.x +}"]}, "/locks/0", "is not CEL"),
        ({"undo": "refund"}, "/undo", "must be an object"),
        ({"undo": {"kind": "approval"}}, "/undo/kind", "cannot stand here"),
        ({"undo": {"kind": "noop", "needs": []}}, "/undo/needs", "unknown field"),
        ({"undo": {"kind": "http", "input": {}}}, "/undo/input/url", "address"),
        ({"undo": {"kind": "noop", "input": {"x": "${item}"}}}, "/undo/input/x", "of a map"),
        ({"cases": []}, "/cases", "has no meaning for kind noop"),
        ({"input": {"${inputs.x}": 1}}, "/input/${inputs.x}", "expressions stand in values"),
    ],
)
def test_a_field_of_a_step_says_what_it_may_hold(
    fields: dict[str, Any], pointer: str, words: str
) -> None:
    found_pointer, detail = problem(step("first"), {"id": "it", "kind": "noop", **fields})
    assert found_pointer == f"/steps/1{pointer}"
    assert words in detail


@pytest.mark.parametrize(
    ("fields", "pointer", "words"),
    [
        ({"kind": "http"}, "/input/url", "address"),
        ({"kind": "http", "input": {"url": "ftp://x"}}, "/input/url", "http://"),
        (
            {"kind": "http", "input": {"url": "${inputs.u}", "methd": "GET"}},
            "/input/methd",
            "unknown field",
        ),
        (
            {"kind": "http", "input": {"url": "https://${inputs.h}/x", "method": "FETCH"}},
            "/input/method",
            "GET HEAD",
        ),
        ({"kind": "python", "input": {"args": ["${inputs.x}"]}}, "/input/task", "name a task"),
        ({"kind": "wait"}, "/input", "needs how long"),
        ({"kind": "wait", "input": {"duration": "5 min"}}, "/input/duration", "duration"),
        ({"kind": "signal"}, "/input/name", "needs name"),
        ({"kind": "signal", "input": {"name": 5}}, "/input/name", "1 to 128"),
        ({"kind": "signal", "input": {"name": "x"}, "retry": {}}, "/retry", "no meaning"),
        ({"kind": "approval", "input": {"form": {}}}, "/input/title", "needs title"),
        (
            {"kind": "approval", "input": {"title": "x", "form": {"type": "number", "min": 1}}},
            "/input/form/min",
            "unknown field",
        ),
        ({"kind": "map", "step": {"kind": "noop"}}, "/items", "what to go through"),
        ({"kind": "map", "items": "${[1]}"}, "/step", "what to do with each"),
        ({"kind": "map", "items": [1], "step": {"kind": "noop"}}, "/items", "in ${ }"),
        ({"kind": "map", "items": "${[1]}", "step": {"kind": "map"}}, "/step/kind", "cannot stand"),
        (
            {"kind": "map", "items": "${[item]}", "step": {"kind": "noop"}},
            "/items",
            "only in the step of a map",
        ),
        (
            {"kind": "map", "items": "${[]}", "step": {"kind": "noop"}, "tolerance": "110%"},
            "/tolerance",
            "10%",
        ),
        (
            {"kind": "map", "items": "${[]}", "step": {"kind": "noop"}, "max_parallel": 0},
            "/max_parallel",
            "whole number from 1",
        ),
        ({"kind": "switch", "cases": [{"if": "${true}", "go": []}]}, "/default", "[] for none"),
        ({"kind": "switch", "default": []}, "/cases", "needs its cases"),
        ({"kind": "switch", "cases": [], "default": []}, "/cases", "1 to"),
        (
            {"kind": "switch", "cases": [{"if": "${true}", "go": ["nobody"]}], "default": []},
            "/cases/0/go/0",
            "there is no step nobody",
        ),
        (
            {"kind": "switch", "cases": [{"if": "${true}", "go": []}], "default": ["nobody"]},
            "/default/0",
            "there is no step nobody",
        ),
        (
            {"kind": "switch", "cases": [{"if": "${true}", "then": [], "go": []}], "default": []},
            "/cases/0/then",
            "unknown field",
        ),
        ({"kind": "workflow"}, "/input/workflow", "needs the name"),
        ({"kind": "workflow", "input": {"workflow": "a b"}}, "/input/workflow", "letters"),
        (
            {"kind": "workflow", "input": {"workflow": "a", "version": "1"}},
            "/input/version",
            "whole number",
        ),
        ({"kind": "workflow", "input": {"workflow": "a", "input": 5}}, "/input/input", "object"),
        ({"kind": "transform"}, "/input/value", "needs the value"),
        ({"kind": "transform", "input": {"value": 1}, "undo": {}}, "/undo", "no meaning"),
        ({"kind": "fail"}, "/input/message", "needs message"),
        ({"kind": "fail", "input": {"message": "x", "code": 1}}, "/input/code", "unknown field"),
    ],
)
def test_each_kind_says_what_it_needs(fields: dict[str, Any], pointer: str, words: str) -> None:
    found_pointer, detail = problem({"id": "it", **fields})
    assert found_pointer == f"/steps/0{pointer}"
    assert words in detail


def test_what_an_expression_will_give_is_left_to_the_run() -> None:
    given = {
        "method": "${inputs.method}",
        "url": "https://${inputs.host}/${inputs.path}",
        "headers": {"x-a": "${inputs.a}"},
        "json": {"deep": ["${inputs.b}"]},
        "redirects": "${inputs.n}",
        "auth": {"type": "bearer", "secret": "${inputs.secret}"},
    }
    read(document(step("a", "http", input=given)))
    read(document(step("a", "python", input={"task": "${inputs.t}", "args": "${inputs.a}"})))
    read(document(step("a", "wait", input={"duration": "${inputs.d}"})))


SHAPES = {
    "pack": TaskShape(
        names=("what", "count"),
        schema={
            "type": "object",
            "properties": {"what": {"type": "string"}, "count": {"type": "integer"}, "by": {}},
            "required": ["what", "count"],
            "additionalProperties": False,
        },
    )
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"args": ["tea", 2]}, None),
        ({"args": ["tea"], "kwargs": {"count": "${inputs.n}", "by": None}}, None),
        ({"args": ["tea", "two"]}, ("/args/1", "must be a whole number")),
        ({"args": ["tea", "${inputs.n} pieces"]}, ("/args/1", "must be a whole number")),
        ({"args": ["tea", 2, 3]}, ("/args", "takes 2: what count")),
        ({"args": ["tea"]}, ("/kwargs/count", "is required")),
        ({"kwargs": {"what": 5, "count": 1}}, ("/kwargs/what", "must be a text")),
        ({"args": ["tea", 2], "kwargs": {"colour": 1}}, ("/kwargs/colour", "unknown field")),
        ({"args": ["tea", 2], "kwargs": {"count": 1}}, ("/kwargs/count", "by its position")),
        ({"args": "${inputs.all}"}, None),
    ],
)
def test_arguments_are_held_against_the_signature_of_a_task_that_is_known(
    given: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    kinds = KnownKinds(checks=KINDS.checks, tasks=SHAPES)
    whole = document(step("a", "python", input={"task": "pack", **given}))
    if expected is None:
        read(whole, kinds)
    else:
        ((pointer, detail),) = problems(whole, kinds)
        assert pointer == f"/steps/0/input{expected[0]}"
        assert expected[1] in detail
    read(document(step("a", "python", input={"task": "of_another_node", **given})), kinds)


def test_the_input_of_a_plugin_is_held_against_its_schema() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "integer", "minimum": 1}}}
    kinds = KnownKinds(
        checks={**KINDS.checks, "sql": lambda _: []}, schemas={"sql": {**schema, "required": []}}
    )
    read(document(step("a", "sql", input={"rows": "${inputs.n}"})), kinds)
    assert problems(document(step("a", "sql", input={"rows": 0})), kinds) == [
        ("/steps/0/input/rows", "must be at least 1")
    ]


def test_too_many_bytes_and_steps_and_levels_are_refused_by_their_limits() -> None:
    large = document(step("a", input={"x": "y" * DEFINITION_BYTES_MAX}))
    assert f"at most {DEFINITION_BYTES_MAX}" in problems(large)[0][1]
    assert read(document(step("a"), layout={"x": "y" * DEFINITION_BYTES_MAX})).name == "test"
    many = document(*(step(f"s{n}") for n in range(STEPS_MAX + 1)))
    assert problems(many) == [
        ("/steps", f"holds {STEPS_MAX + 1}; it must be a list of 1 to {STEPS_MAX} steps")
    ]
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert "nested deeper" in problems(document(step("a", input={"x": deep})))[0][1]
    assert "U+0000" in problems(document(step("a", input={"x": "\0"})))[0][1]


def test_a_definition_full_of_mistakes_gets_an_answer_of_bounded_length() -> None:
    found = problems(document(*(step(f"s{n}", "strange") for n in range(STEPS_MAX))))
    assert len(found) == DEFINITION_PROBLEMS_MAX
