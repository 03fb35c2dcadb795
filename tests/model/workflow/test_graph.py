"""Who waits for whom: circles, steps that can never run, and what expressions may name."""

from __future__ import annotations

import gc
import time
from typing import Any

import pytest

from tests.model.workflow.definitions import document, problem, problems, read, step
from windlass.limits import DEFINITION_BYTES_MAX, STEPS_MAX
from windlass.model.json.canonical import canonical_json
from windlass.model.workflow.read import trust_definition

ROUTE = (
    step("route", "switch", cases=[{"if": "${inputs.x}", "go": ["a"]}], default=["b"]),
    step("a"),
    step("b"),
)


def test_a_circle_is_told_by_the_names_on_it() -> None:
    found = problem(
        step("a", needs=["c"]),
        step("b", needs=["a"]),
        step("c", needs=["b"]),
        step("behind", needs=["a"]),
    )
    assert found == ("/steps/0/needs", "waits in a circle: a needs c needs b needs a")


def test_every_circle_is_told_once() -> None:
    found = problems(
        document(
            step("own", needs=["own"]),
            step("a", needs=["b"]),
            step("b", needs=["a"]),
            step("c", needs=["b", "own"]),
        )
    )
    assert found == [
        ("/steps/0/needs", "waits in a circle: own needs own"),
        ("/steps/1/needs", "waits in a circle: a needs b needs a"),
    ]


def test_a_switch_may_not_go_back() -> None:
    _, detail = problem(
        step("route", "switch", needs=["a"], cases=[{"if": "${true}", "go": ["a"]}], default=[]),
        step("a"),
    )
    assert "circle: route needs a needs route" in detail


def test_a_long_circle_is_told_in_short() -> None:
    _, detail = problem(*(step(f"s{n}", needs=[f"s{(n + 1) % 50}"]) for n in range(50)))
    assert detail.startswith("waits in a circle: s0 needs s1 needs")
    assert "40 more" in detail


@pytest.mark.parametrize(
    ("steps", "index", "words"),
    [
        (
            [step("f", "fail", input={"message": "x"}), step("n", needs=["f"])],
            1,
            "f never ends succeeded",
        ),
        (
            [step("a"), step("n", needs=[{"step": "a", "when": "skipped"}])],
            1,
            "a never ends skipped",
        ),
        ([*ROUTE, step("both", needs=["a", "b"])], 3, "different cases of route"),
        (
            [*ROUTE, step("c", needs=["a"]), step("d", needs=["b"]), step("e", needs=["c", "d"])],
            5,
            "different cases of route",
        ),
        (
            [*ROUTE, step("c", needs=["a", "b"], join=2)],
            3,
            "different cases of route",
        ),
        (
            [
                step("f", "fail", input={"message": "x"}),
                step("g", "fail", input={"message": "x"}),
                step("a"),
                step("n", needs=["f", "g", "a"], join=2),
            ],
            3,
            "never ends succeeded",
        ),
    ],
)
def test_a_step_that_can_never_run_is_told_and_why(
    steps: list[Any], index: int, words: str
) -> None:
    pointer, detail = problem(*steps)
    assert pointer == f"/steps/{index}/needs"
    assert detail.startswith("can never run: ")
    assert words in detail


@pytest.mark.parametrize(
    "steps",
    [
        [
            step("f", "fail", input={"message": "x"}),
            step("n", needs=[{"step": "f", "when": "failed"}]),
        ],
        [
            step("f", "fail", input={"message": "x"}),
            step("n", needs=[{"step": "f", "when": "ended"}]),
        ],
        [step("a", condition="${true}"), step("n", needs=[{"step": "a", "when": "skipped"}])],
        [step("a"), step("b", needs=["a"]), step("n", needs=[{"step": "b", "when": "skipped"}])],
        [*ROUTE, step("n", needs=[{"step": "a", "when": "skipped"}])],
        [*ROUTE, step("n", needs=["a", "b"], join="any")],
        [*ROUTE, step("n", needs=[{"step": "a", "when": "ended"}, {"step": "b", "when": "ended"}])],
        [*ROUTE, step("c", needs=["a", "b"], join="any"), step("n", needs=["a", "c"])],
        [
            step("r", "switch", cases=[{"if": "${true}", "go": ["x", "y"]}], default=["x"]),
            step("x"),
            step("y"),
            step("n", needs=["x", "y"]),
        ],
    ],
)
def test_a_step_that_may_run_is_left_in_peace(steps: list[Any]) -> None:
    read(document(*steps))


def test_a_switch_is_waited_for_only_as_one_that_succeeded() -> None:
    route = step("r", "switch", cases=[{"if": "${true}", "go": ["a"]}], default=[])
    pointer, detail = problem(route, step("a", needs=[{"step": "r", "when": "failed"}]))
    assert pointer == "/steps/1/needs/0"
    assert "leave out when: failed" in detail


CLOSED = {"type": "object", "properties": {"order": {}, "n": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("inputs.oder.total", "there is no inputs.oder (did you mean order?); there are: order n"),
        ('inputs["oder"]', "there is no inputs.oder"),
        ("has(inputs.oder)", "there is no inputs.oder"),
        ("vars.lim", "there is no vars.lim (did you mean limit?)"),
        ("execution.ID", "there are: id workflow version created_at"),
        ("steps.nobody.output", "there is no step nobody"),
        ("steps.befor.output", "did you mean before?"),
        ("steps.before.result", "steps.before has no result; it has output state error"),
        ("steps.aside.output", "add it to the needs of it"),
        ("steps.after.output", "add it to the needs of it"),
        ("steps.it.output", "has not ended yet"),
        ("item", "only in the step of a map"),
        ("index + 1", "only in the step of a map"),
        ("input.order", "there is no input; there are: inputs vars execution steps"),
        ("[1].map(x, x + y)", "there is no y"),
    ],
)
def test_an_expression_names_only_what_is_there(expression: str, words: str) -> None:
    around = {"inputs": CLOSED, "vars": {"limit": 1}}
    others = (
        step("before"),
        step("between", needs=["before"]),
        step("aside"),
        step("after", needs=["it"]),
    )
    it = step("it", needs=["between"], input={"x": f"so ${{{expression}}}"})
    pointer, detail = problem(*others, it, **around)
    assert pointer == "/steps/4/input/x"
    assert words in detail
    it = step("it", needs=["between"], condition=f"${{{expression}}}")
    pointer, detail = problem(*others, it, **around)
    assert pointer == "/steps/4/if"
    assert words in detail


def test_what_is_there_may_be_named() -> None:
    said = (
        "${inputs.order.total + vars.limit}",
        "${execution.id} of ${execution.workflow}",
        "${steps.a.output.x[0]} ${steps.b.state} ${has(steps.a.error)}",
        "${inputs.order.lines.map(line, line.price).size()}",
        "${type(inputs.n) == int}",
        "$${steps.nobody.output} is text",
    )
    read(
        document(
            step("a", undo={"kind": "noop", "input": {"x": "${steps.a.output}"}}),
            step("b", needs=["a"]),
            step("c", needs=["b"], input={"said": list(said)}),
            step(
                *("d", "map"),
                needs=["c"],
                items="${steps.a.output}",
                step={"kind": "noop", "input": {"x": "${item} ${index} ${steps.b.output}"}},
            ),
            inputs=CLOSED,
            vars={"limit": 1},
            output={"all": ["${steps.d.output}", "${steps.a.output}"]},
            concurrency={"key": "${inputs.n}-${vars.limit}"},
        )
    )


def test_inputs_that_are_open_may_have_any_name() -> None:
    for inputs in (None, {"type": "object"}, {"type": "object", "properties": {"a": {}}}):
        read(document(step("a", condition="${inputs.whatever}"), inputs=inputs))


def wide(count: int) -> dict[str, Any]:
    """Many steps, each after the eight before it, and looking at one of them."""
    return document(
        *(
            step(
                f"s{n}",
                needs=[f"s{m}" for m in range(max(0, n - 8), n)],
                **({"condition": f"${{steps.s{n - 1}.output}}"} if n else {}),
            )
            for n in range(count)
        )
    )


def switches(count: int) -> dict[str, Any]:
    """Many switches in a row."""
    return document(
        *(
            step(
                f"s{n}",
                "switch",
                cases=[{"if": "${inputs.x}", "go": [f"s{n + 1}"] if n + 1 < count else []}],
                default=[],
            )
            for n in range(count)
        )
    )


def joined(count: int) -> dict[str, Any]:
    """Many side by side, and one that waits for all of them."""
    side = [step(f"s{n}", "wait", input={"seconds": n % 100}) for n in range(count - 1)]
    return document(*side, step("last", needs=[one["id"] for one in side]))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [wide, switches, joined])
def test_ten_thousand_steps_are_read_in_time_that_grows_with_them_and_no_faster(
    shape: Any,
) -> None:
    large = shape(STEPS_MAX)
    assert len(canonical_json(large)) < 2 * DEFINITION_BYTES_MAX
    if len(canonical_json(large)) > DEFINITION_BYTES_MAX:
        large = shape(STEPS_MAX // 2)
    count = len(large["steps"])
    few, many = _cpu_seconds(shape(count // 10)), _cpu_seconds(large)
    # Ten times the steps; a quadratic walk would take a hundred times as long.
    assert many < 40 * max(few, 0.005), (few, many)
    assert len(trust_definition(large).steps) == count


def _cpu_seconds(given: dict[str, Any]) -> float:
    """Time of this process alone: what the machine does beside it does not count, nor a walk of
    the garbage collector through all that earlier tests have left.
    """
    gc.disable()
    try:
        began = time.process_time()
        read(given)
        return time.process_time() - began
    finally:
        gc.enable()
