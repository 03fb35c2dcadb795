"""Workflows as code: what a function says becomes a definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, TypedDict

import pytest

import windlass
from windlass import Retry, Value, WorkflowCode, flow
from windlass.model.json.canonical import canonical_json, hash_of
from windlass.model.workflow.step_kinds import KINDS, complete

app = windlass.App("flows")


@app.task(queue="money", retry=Retry(5), timeout="30s", tags=["paid"])
def charge(order: Any) -> Any: ...


@app.task
def pack(box: Any, *, by: str = "hand") -> Any: ...


@app.task
def ship(boxes: Any, after: str = "noon") -> Any: ...


@app.task
def refund(order: Any) -> Any: ...


def traced(function: Callable[..., Any], **settings: Any) -> dict[str, Any]:
    return WorkflowCode(app, "traced", function, settings).definition()


def steps_of(function: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in traced(function)["steps"]}


def kinds_of(word: Callable[[], object]) -> set[str]:
    def written() -> None:
        word()

    return {step["kind"] for step in traced(written)["steps"]}


def test_every_kind_of_step_can_be_written_as_code() -> None:
    def way() -> None:
        with windlass.switch() as ways, ways.case(flow.cel("true")):
            pass

    words = complete(
        KINDS,
        {
            "http": lambda: flow.http("GET", "https://example.com").step(),
            "python": lambda: charge.step({}),
            "wait": lambda: flow.pause("1s"),
            "noop": flow.noop,
            "signal": lambda: flow.signal("go"),
            "approval": lambda: flow.approval("Ship it?"),
            "map": lambda: charge.map([1, 2]),
            "workflow": lambda: flow.run("other").step(),
            "switch": way,
            "transform": lambda: flow.transform(1),
            "fail": lambda: flow.fail("no"),
        },
    )
    assert {kind: kinds_of(word) for kind, word in words.items()} == {
        kind: {kind} for kind in KINDS
    }


def test_the_workflow_of_the_contract() -> None:
    def fulfil(order: dict[str, Any]) -> Any:
        paid = charge.step(order)
        boxes = pack.map(order["items"], after=paid)
        with windlass.when(paid.out["risk"] > 0.8):
            ok = windlass.approval("Risky order", timeout="48h", after=boxes)
        return pack.step(boxes.out, after=ok)

    assert traced(fulfil) == {
        "name": "traced",
        "inputs": {
            "type": "object",
            "additionalProperties": False,
            "required": ["order"],
            "properties": {"order": {"type": "object"}},
        },
        "steps": [
            {
                "id": "charge",
                "kind": "python",
                "input": {"task": "charge", "args": ["${inputs.order}"]},
                "queue": "money",
                "retry": {"max_attempts": 5},
                "timeout": "30s",
            },
            {
                "id": "pack",
                "kind": "map",
                "needs": ["charge"],
                "items": "${inputs.order.items}",
                "step": {"kind": "python", "input": {"task": "pack", "args": ["${item}"]}},
            },
            {
                "id": "approval",
                "kind": "approval",
                "needs": ["pack"],
                "if": "${steps.charge.output.risk > 0.8}",
                "input": {"title": "Risky order"},
                "timeout": "48h",
            },
            {
                "id": "pack_2",
                "kind": "python",
                "needs": [{"step": "approval", "when": "ended"}, "pack"],
                "if": "${steps.approval.state in ['succeeded', 'skipped']}",
                "input": {"task": "pack", "args": ["${steps.pack.output}"]},
            },
        ],
        "output": "${steps.pack_2.output}",
    }


def test_the_hash_is_the_servers() -> None:
    code = WorkflowCode(app, "traced", lambda: charge.step({"total": 2.0}), {})
    assert code.hash == hash_of(canonical_json(code.definition())).hex()


def test_a_function_is_traced_once_and_not_before_it_is_asked_for() -> None:
    calls = []
    code = WorkflowCode(app, "traced", lambda: calls.append(charge.step(1)), {})
    assert calls == []
    assert code.definition() is code.definition()
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("make", "cel"),
    [
        (lambda x: x["items"][0]["id"], "inputs.x.items[0].id"),
        (lambda x: x["a b"], "inputs.x['a b']"),
        (lambda x: x[x["key"]], "inputs.x[inputs.x.key]"),
        (lambda x: (x["a"] + 1) * 2 > 3, "(inputs.x.a + 1) * 2 > 3"),
        (lambda x: x["a"] - (x["b"] - 1), "inputs.x.a - (inputs.x.b - 1)"),
        (lambda x: 1 - x["a"], "1 - inputs.x.a"),
        (lambda x: -x["a"] < -1, "-inputs.x.a < -1"),
        (lambda x: x["a"] / 2, "double(inputs.x.a) / 2.0"),
        (lambda x: (x["a"] == None) | ~x["b"], "inputs.x.a == null || !inputs.x.b"),  # noqa: E711
        (lambda x: (x["a"] | x["b"]) & x["c"], "(inputs.x.a || inputs.x.b) && inputs.x.c"),
        (lambda x: (x["a"] > 1) == x["b"], "(inputs.x.a > 1) == inputs.x.b"),
        (lambda x: x["who"] == "O'Neil\n\\", "inputs.x.who == 'O\\'Neil\\n\\\\'"),
        (lambda x: x["who"] == f"{x['a']}!", "inputs.x.who == (string(inputs.x.a) + '!')"),
        (lambda x: x["tags"].contains("new"), "'new' in inputs.x.tags"),
        (lambda x: x["who"].lower().startswith("a"), "inputs.x.who.lowerAscii().startsWith('a')"),
        (lambda x: x == [x["a"], {"b": x["b"]}], "inputs.x == [inputs.x.a, {'b': inputs.x.b}]"),
        (
            lambda x: x.map(lambda one: one.map(lambda one: one + 1)),
            "inputs.x.map(one, one.map(one_, one_ + 1))",
        ),
        (lambda x: x.exists(lambda item: item > 3), "inputs.x.exists(item_, item_ > 3)"),
        (lambda x: flow.choose(x["a"] > 1, "yes", x["b"]), "inputs.x.a > 1 ? 'yes' : inputs.x.b"),
        (lambda x: flow.has(x["note"]), "has(inputs.x.note)"),
        (lambda x: flow.cel(f"size({x['a']}) % 2") == 0, "(size(inputs.x.a) % 2) == 0"),
        (lambda x: flow.cel(f"{x['a'] + 1} % 2"), "(inputs.x.a + 1) % 2"),
    ],
)
def test_operators_become_cel_with_no_bracket_too_many(
    make: Callable[[Value], Value], cel: str
) -> None:
    def function(x: Value) -> Any:
        return flow.transform(make(x))

    assert traced(function)["steps"][0]["input"] == {"value": f"${{{cel}}}"}


def test_values_may_stand_in_any_text_and_dollars_stay_dollars() -> None:
    def function(price: float) -> Any:
        return charge.step([f"costs ${price}", "${literal}", "$$", f"{price}", f"{price}{price}"])

    assert traced(function)["steps"][0]["input"]["args"] == [
        [
            "costs ${'$'}${inputs.price}",
            *("$${literal}", "$$", "${inputs.price}", "${inputs.price}${inputs.price}"),
        ]
    ]


@dataclass
class Parcel:
    weight: Decimal
    sent_at: datetime
    to: Any


def test_arguments_are_written_as_tasks_get_them() -> None:
    at = datetime(2030, 1, 2, tzinfo=UTC)

    def function(address: str) -> Any:
        return pack.step(Parcel(Decimal("1.5"), at, address), by="crane")

    assert traced(function)["steps"][0]["input"] == {
        "task": "pack",
        "args": [{"weight": "1.5", "sent_at": "2030-01-02T00:00:00Z", "to": "${inputs.address}"}],
        "kwargs": {"by": "crane"},
    }


class Line(TypedDict):
    what: str
    count: int


def test_inputs_are_described_by_the_parameters() -> None:
    def function(
        lines: list[Line],
        *,
        note: str | None = None,
        names: Annotated[Value, list[str]],
        free: Any = 3,
    ) -> None:
        pack.map(names)

    assert traced(function)["inputs"] == {
        "type": "object",
        "additionalProperties": False,
        "required": ["lines", "names"],
        "properties": {
            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "names": {"type": "array", "items": {"type": "string"}},
            "free": {"default": 3},
        },
        "$defs": {
            "Line": {
                "title": "Line",
                "type": "object",
                "properties": {"what": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["count", "what"],
            }
        },
    }


def test_a_step_waits_for_what_it_uses_but_not_twice() -> None:
    def function() -> None:
        first = charge.step(1).named("first")
        second = pack.step(first.out).named("second")
        ship.step([first.out, second.out]).named("third")
        ship.step(first.out).after(second.ended).named("fourth")

    steps = steps_of(function)
    assert steps["second"]["needs"] == ["first"]
    assert steps["third"]["needs"] == ["second"]
    # `second` may have ended although `first` failed, so that is asked for by name.
    assert steps["fourth"]["needs"] == [{"step": "second", "when": "ended"}, "first"]


def test_a_parameter_of_the_task_is_no_word_of_ours() -> None:
    def function() -> None:
        first = charge.step(1)
        ship.step(2, after="tea").after(first)

    assert steps_of(function)["ship"]["needs"] == ["charge"]
    assert steps_of(function)["ship"]["input"]["kwargs"] == {"after": "tea"}


def test_only_the_first_steps_of_a_block_carry_its_condition() -> None:
    def function(order: Any) -> None:
        with windlass.when(order["a"]):
            one = charge.step(1).named("one")
            pack.step(one.out).named("two")
            with windlass.when(order["b"]):
                pack.step(3).named("three")
                pack.step(4, by=one.out).named("four")

    steps = steps_of(function)
    assert steps["one"]["if"] == "${inputs.order.a}"
    assert "if" not in steps["two"]
    assert steps["three"]["if"] == "${inputs.order.a && inputs.order.b}"
    assert steps["four"]["if"] == "${inputs.order.b}"


def test_after_a_block_is_after_everything_that_the_block_waits_for() -> None:
    def function(order: Any) -> None:
        paid = charge.step(order)
        with windlass.when(order["gift"]):
            wrap = pack.step(1, after=paid).named("wrap")
            bow = pack.step(2, after=wrap).named("bow")
        ship.step(3).after(bow)

    assert steps_of(function)["ship"]["needs"] == [{"step": "bow", "when": "ended"}, "charge"]
    assert steps_of(function)["ship"]["if"] == (
        "${[steps.wrap.state, steps.bow.state].all(state, state in ['succeeded', 'skipped'])}"
    )


def test_a_switch_without_a_default_may_be_passed_by() -> None:
    def function(order: Any) -> None:
        with windlass.switch() as way:
            with way.case(order["a"]):
                one = charge.step(1)
            with way.case(order["b"]):
                two = pack.step(2)
        ship.step(3).after(one, two)

    steps = steps_of(function)
    assert steps["switch"] == {
        "id": "switch",
        "kind": "switch",
        "cases": [
            {"if": "${inputs.order.a}", "go": ["charge"]},
            {"if": "${inputs.order.b}", "go": ["pack"]},
        ],
        "default": [],
    }
    assert steps["ship"]["needs"] == [
        {"step": "charge", "when": "ended"},
        {"step": "pack", "when": "ended"},
        "switch",
    ]


def test_a_step_that_is_undone_may_name_its_own_output() -> None:
    def function(order: Any) -> None:
        paid = charge.step(order)
        paid.undo(refund, paid.out["id"])

    assert steps_of(function)["charge"]["undo"] == {
        "kind": "python",
        "input": {"task": "refund", "args": ["${steps.charge.output.id}"]},
    }


def test_a_workflow_runs_another_one_for_each_item() -> None:
    other = WorkflowCode(app, "other", lambda what, by=1: charge.step(what), {})

    def function(lines: Any) -> Any:
        other.using(timeout="1h").step(lines[0], by=2)
        return other.map(lines, each=lambda line, n: {"what": line, "by": n}, max_parallel=3)

    assert traced(function)["steps"] == [
        {
            "id": "other",
            "kind": "workflow",
            "input": {"workflow": "other", "input": {"what": "${inputs.lines[0]}", "by": 2}},
            "timeout": "1h",
        },
        {
            "id": "other_2",
            "kind": "map",
            "items": "${inputs.lines}",
            "step": {
                "kind": "workflow",
                "input": {"workflow": "other", "input": {"what": "${item}", "by": "${index}"}},
            },
            "max_parallel": 3,
        },
    ]


def test_durations_are_written_as_people_write_them() -> None:
    def function() -> None:
        windlass.sleep(timedelta(days=2))
        windlass.sleep(0.25)
        windlass.sleep(90)
        flow.pause(datetime(2030, 1, 2, tzinfo=UTC))

    assert [step["input"] for step in traced(function, timeout=7200)["steps"]] == [
        {"duration": "2d"},
        {"duration": "250ms"},
        {"duration": "90s"},
        {"until": "2030-01-02T00:00:00Z"},
    ]
    assert traced(function, timeout=7200)["timeout"] == "2h"


def _if(x: Any) -> None:
    if x["a"] > 3:
        charge.step(x)


def _used_early(x: Any) -> None:
    step = charge.step(x)
    pack.step(step.out)
    step.named("late")


def _taken(x: Any) -> None:
    charge.step(x).named("one")
    charge.step(x).named("one")


def _late_case(x: Any) -> None:
    with windlass.switch() as way:
        with way.default():
            charge.step(x)
        with way.case(x["a"]):
            charge.step(x)


def _join_and_more(x: Any) -> None:
    one, two, three = charge.step(1), charge.step(2), charge.step(3)
    flow.transform(three.out, after=[one, two], join="any")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (_if, "write `with windlass.when"),
        (lambda x: 1 < x["a"] < 3, "& | ~ with brackets"),
        (lambda x: x and charge.step(x), "& | ~ with brackets"),
        (lambda x: [charge.step(one) for one in x], r"write task.map\(…\)"),
        (lambda x: charge(x), r"write charge.step\(…\)"),
        (lambda x: len(x), r"write .size\(\)"),
        (lambda x: "new" in x, r"write x.contains\('new'\)"),
        (lambda x: int(x["a"]), r"int\(…\) needs inputs.x.a now"),
        (lambda x: round(x["a"]), "do it in a task"),
        (lambda x: x["a"] % 2, r"windlass.flow.cel\(…\)"),
        (lambda x: x["a"] // 2, r"windlass.flow.cel\(…\)"),
        (lambda x: x.total, r"a field is written \['total'\]"),
        (lambda x: x["a"][-1], r"x\[x.size\(\) - 1\]"),
        (lambda x: x["a"][1:], "take parts in a task"),
        (lambda x: x["run"](), "make it a task"),
        (lambda x: {x: 1}, "cannot be the key of a dict"),
        (lambda x: x.__setitem__("a", 1), "cannot be changed"),
        (lambda x: f"{x:.2f}", "format it in a task"),
        (lambda x: charge.step(x)["id"], r"write .out\['id'\]"),
        (lambda x: charge.step(x) or 1, "write after="),
        (lambda x: list(charge.step(x)), "write task.map"),
        (lambda x: charge.step(), "missing a required argument: 'order'"),
        (lambda x: charge.step(object()), "an object cannot be written as JSON"),
        (lambda x: charge.using(run_after=3).step(x), "delay has no meaning for a step"),
        (lambda x: charge.step(x, after="charge"), "give the step itself"),
        (lambda x: windlass.when(charge.step(x)), "ask its .out or its .state"),
        (lambda x: windlass.when(True), "write a plain `if`"),
        (lambda x: charge.step(x).undo(print), "put @app.task on it"),
        (lambda x: charge.step(x).undo(charge.step(x)), "give undo the task"),
        (lambda x: flow.cel("1 +"), "is not CEL"),
        (lambda x: windlass.step(print), "in a workflow write task.step"),
        (_used_early, "name a step where it is made"),
        (_taken, "there is a step one already"),
        (_late_case, "is never looked at"),
        (_join_and_more, "it uses charge_3 as well"),
    ],
)
def test_what_cannot_be_traced_says_where_and_what_to_write_instead(
    function: Callable[[Any], Any], says: str
) -> None:
    def workflow(x: Any) -> None:
        function(x)

    with pytest.raises(windlass.CannotTrace, match=says) as raised:
        traced(workflow)
    lines, first = inspect.getsourcelines(function)
    assert raised.value.file == __file__
    assert raised.value.line is not None
    assert first <= raised.value.line <= first + len(lines)


def test_a_coroutine_is_no_workflow_and_neither_is_an_endless_list_of_inputs() -> None:
    async def waits() -> None: ...

    with pytest.raises(windlass.CannotTrace, match=r"write `def`; .* @app.durable"):
        WorkflowCode(app, "waits", waits, {})
    with pytest.raises(windlass.CannotTrace, match="inputs of a workflow have names"):
        traced(lambda *lines: charge.step(1))


def test_outside_of_a_workflow_there_are_no_steps() -> None:
    with pytest.raises(windlass.CannotTrace, match=r"inside a function with @app.workflow"):
        charge.step(1)


def test_a_definition_is_judged_by_the_checks_of_the_server() -> None:
    with pytest.raises(windlass.errors.InvalidInput, match=r"must be a list of 1 to"):
        traced(lambda: None)
    with pytest.raises(windlass.errors.InvalidInput, match=r"no vars.rate"):
        traced(lambda: charge.step(flow.var("rate")))


def test_two_workflows_of_one_name_are_one_too_many() -> None:
    shop = windlass.App("shop")
    shop.workflow("same")(lambda: None)
    with pytest.raises(ValueError, match="there is a workflow 'same' already"):
        shop.workflow("same")(lambda: None)


def test_an_argument_of_the_wrong_type_is_named_before_anything_is_sent() -> None:
    def function(count: int) -> None:
        charge.step(count)

    code: WorkflowCode[...] = WorkflowCode(app, "typed", function, {})
    with pytest.raises(windlass.InvalidArguments, match="count"):
        code.start("many")
    with pytest.raises(windlass.InvalidArguments, match="too many positional"):
        code.start(1, 2)
