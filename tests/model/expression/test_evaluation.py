"""What is evaluated elsewhere is what would have been evaluated here, value and type."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.model.workflow.definitions import document, read, step
from windlass.limits import EXPRESSION_WORK_MAX
from windlass.model.expression.evaluation import (
    Check,
    Decided,
    DecideSteps,
    FanOutItems,
    Filled,
    Output,
    Question,
    Undoing,
    Written,
    answer,
    items_within,
    raw,
)
from windlass.model.json.schema import value_problems
from windlass.model.workflow.plan import Plan, plan_of
from windlass.model.workflow.step_decision import decide_step, work_of

SCOPE: dict[str, Any] = {
    "inputs": {"n": 2**70, "x": 1.0, "text": "é\u2028", "list": [1, 2.5, None, True, {"a": []}]},
    "vars": {"limit": -0.0},
    "execution": {"id": "exec_1", "workflow": "w", "version": 1, "created_at": "2031-05-01"},
}
SEEN = {"a": {"state": "succeeded", "output": {"id": 7}, "error": None}}
STEPS = [
    step("a"),
    step("filled", input={"n": "${inputs.n}", "x": "${inputs.x}", "all": "${inputs.list}"}),
    step("skipped", condition="${inputs.x > 5.0}"),
    step("wrong", condition="${inputs.nothing}"),
    step("seeing", input={"id": "${steps.a.output.id}"}, needs=["a"]),
    step("made", "transform", input={"value": {"t": "${inputs.text + '!'}", "big": 2**80}}),
    step("failing", "fail", input={"message": "no: ${inputs.text}"}),
    step("each", "map", items="${inputs.list}", step={"kind": "noop", "input": {"i": "${item}"}}),
    step("locked", locks=["of-${inputs.x}"]),
    step("spent", input={"n": "${inputs.long.map(a, inputs.long.map(b, b)).size()}"}),
    step("undone", undo={"kind": "noop", "input": {"was": "${inputs.text}"}}),
]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of(read(document(*STEPS, queue="slow", output={"x": "${inputs.x}"})))


def written(plan: Plan, name: str) -> msgspec.Raw:
    found = next(step for step in plan.definition.steps if step.id == name)
    return raw(Written(step=found, queue=plan.definition.queue))


def asked(question: Question) -> bytes:
    return answer(msgspec.json.encode(question))


@pytest.mark.parametrize("name", [one["id"] for one in STEPS])
def test_a_turn_that_is_taken_elsewhere_is_the_same(plan: Plan, name: str) -> None:
    scope = SCOPE | {"inputs": SCOPE["inputs"] | {"long": list(range(2_000))}}
    seen = SEEN if name == "seeing" else None
    question = DecideSteps(
        written=[written(plan, name)],
        scope=raw(scope),
        seen=[raw(seen)],
        work_max=EXPRESSION_WORK_MAX,
    )
    found = msgspec.json.decode(asked(question), type=Decided)
    here = decide_step(plan.vertices[name], scope if seen is None else scope | {"steps": seen})
    assert found.decisions == [here]
    assert here.is_spent == (name == "spent")


def test_steps_of_one_execution_share_what_they_may_do(plan: Plan) -> None:
    scope = SCOPE | {"inputs": {"long": list(range(2_000))}}
    question = DecideSteps(
        written=[written(plan, "spent"), written(plan, "made")],
        scope=raw(scope),
        seen=[raw(None), raw(None)],
        work_max=1_000,
    )
    found = msgspec.json.decode(asked(question), type=Decided)
    assert [decision.is_spent for decision in found.decisions] == [True, True]
    assert found.work == 1_000


def test_items_are_the_same_and_as_many_as_there_is_work_for(plan: Plan) -> None:
    items = SCOPE["inputs"]["list"]
    each = plan.vertices["each"].each
    assert each is not None
    for work_max in (1_000_000, 0):
        question = FanOutItems(
            written=written(plan, "each"),
            scope=raw(SCOPE),
            items=items,
            first=3,
            work_max=work_max,
        )
        found = msgspec.json.decode(asked(question), type=Decided)
        assert found == items_within(work_max, each, dict(SCOPE), items, 3)
        assert found.decisions[0].input == '{"i":1}'


def test_a_compensation_is_the_same(plan: Plan) -> None:
    undo = plan.vertices["undone"].undo
    assert undo is not None
    found = asked(Undoing(written=written(plan, "undone"), scope=raw(SCOPE)))
    assert msgspec.json.decode(found, type=Decided).decisions == [work_of(undo, SCOPE)]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ({"x": "${inputs.x}", "big": 2**80}, '{"x":1.0,"big":1208925819614629174706176}'),
        ("${inputs.gone}", None),
    ],
)
def test_an_output_is_the_same(template: Any, text: str | None) -> None:
    found = msgspec.json.decode(
        asked(Output(template=raw(template), scope=raw(SCOPE))), type=Filled
    )
    assert found.text == text
    assert bool(found.unanswered) == (text is None)
    assert not found.is_spent


def test_a_value_is_checked_as_it_is_here() -> None:
    schema = {"type": "object", "properties": {"n": {"maximum": 5}, "x": {"type": "integer"}}}
    for value in (SCOPE["inputs"], {"n": 5, "x": 1.0}):
        found = asked(Check(schema=raw(schema), value=raw(value)))
        assert msgspec.json.decode(found, type=list[tuple[str, str]]) == value_problems(
            value, schema
        )
