"""Evaluations that take a while, as questions that another process can answer.

Steps to decide, items of a fan-out, an output, a value beside its schema: what a user wrote. A
question is bytes and so is its answer, so it does not matter where it is answered; expressions and
schemas have no effects, so it does not matter either how often. Steps travel as they were written:
whoever answers compiles them, and keeps the small ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, assert_never

import msgspec

from windlass.limits import EVALUATION_KEPT_BYTES_MAX, EVALUATION_KEPT_MAX, EXPRESSION_WORK_MAX
from windlass.model.expression import Run, Spent, Unanswerable
from windlass.model.expression.template import compile_template
from windlass.model.json.schema import Found, value_problems
from windlass.model.workflow.definition import Step
from windlass.model.workflow.plan import Vertex, Work, vertex_of
from windlass.model.workflow.step_decision import Scope, StepDecision, decide_step, work_of
from windlass.model.workflow.step_kinds import form_problems


class Written(msgspec.Struct, frozen=True, array_like=True):
    """A step as its definition has it."""

    step: Step
    queue: str  # of the definition


class DecideSteps(msgspec.Struct, tag="steps", kw_only=True):
    """What becomes of these steps of one execution? Answered by Decided."""

    written: list[msgspec.Raw]  # of each: Written
    scope: msgspec.Raw  # what all of them see
    seen: list[msgspec.Raw]  # the `steps` that each sees; null: none
    work_max: int  # of all together


class FanOutItems(msgspec.Struct, tag="items", kw_only=True):
    """The jobs of so many items of a fan-out. Answered by Decided, of as many as fit."""

    written: msgspec.Raw
    scope: msgspec.Raw
    items: list[Any]
    first: int  # the index of the first item
    work_max: int


class Undoing(msgspec.Struct, tag="undoing", kw_only=True):
    """The job of a compensation. Answered by Decided, of one."""

    written: msgspec.Raw
    scope: msgspec.Raw


class Output(msgspec.Struct, tag="output", kw_only=True):
    """What an execution gives. Answered by Filled."""

    template: msgspec.Raw
    scope: msgspec.Raw


class Check(msgspec.Struct, tag="check", kw_only=True):
    """Is a value as its schema says? Answered by what is wrong with it."""

    schema: msgspec.Raw
    value: msgspec.Raw


class Form(msgspec.Struct, tag="form", kw_only=True):
    """Is it one that somebody can be asked to fill in? Answered by what is wrong with it."""

    form: msgspec.Raw


Question = DecideSteps | FanOutItems | Undoing | Output | Check | Form


class Decided(msgspec.Struct, kw_only=True):
    decisions: list[StepDecision]
    work: int


class Filled(msgspec.Struct, kw_only=True):
    text: str | None = None  # JSON; None: there is no answer
    unanswered: str = ""  # why not
    is_spent: bool = False
    work: int = 0


_QUESTION: Final[msgspec.json.Decoder[Question]] = msgspec.json.Decoder(Question)
_WRITTEN: Final = msgspec.json.Decoder(Written)


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def answer(question: bytes) -> bytes:
    """Never raises for what a user wrote: what has no answer is one."""
    return msgspec.json.encode(_answer(_QUESTION.decode(question)))


def _answer(asked: Question) -> Decided | Filled | Found:
    match asked:
        case DecideSteps():
            return _decide_steps(asked)
        case FanOutItems():
            work = _vertex(asked.written).each
            assert work is not None
            scope = msgspec.json.decode(asked.scope)
            return items_within(asked.work_max, work, scope, asked.items, asked.first)
        case Undoing():
            work = _vertex(asked.written).undo
            assert work is not None
            scope = msgspec.json.decode(asked.scope)
            return Decided(decisions=[work_of(work, scope, Run(scope))], work=0)
        case Output():
            return _output(asked)
        case Check():
            schema = msgspec.json.decode(asked.schema)
            return value_problems(msgspec.json.decode(asked.value), schema)
        case Form():
            return form_problems(msgspec.json.decode(asked.form))
        case _:
            assert_never(asked)


def items_within(
    work_max: int, work: Work, scope: dict[str, Any], items: list[Any], first: int
) -> Decided:
    """The decisions of as many items, from the first on, as the work allows."""
    decisions: list[StepDecision] = []
    left = work_max
    for index, item in enumerate(items, first):
        scope["item"], scope["index"] = item, index
        allowed = min(EXPRESSION_WORK_MAX, left)
        run = Run(scope, allowed)
        decision = work_of(work, scope, run)
        if decision.is_spent and allowed < EXPRESSION_WORK_MAX:
            break
        left -= allowed - max(0, run.left)
        decisions.append(decision)
    return Decided(decisions=decisions, work=work_max - left)


def _decide_steps(asked: DecideSteps) -> Decided:
    shared: Scope = msgspec.json.decode(asked.scope)
    decisions: list[StepDecision] = []
    left = asked.work_max
    for written, seen in zip(asked.written, asked.seen, strict=True):
        steps = msgspec.json.decode(seen)
        scope = shared if steps is None else {**shared, "steps": steps}
        allowed = min(EXPRESSION_WORK_MAX, left)
        run = Run(scope, allowed)
        decisions.append(decide_step(_vertex(written), scope, run))
        left -= allowed - max(0, run.left)
    return Decided(decisions=decisions, work=asked.work_max - left)


def _output(asked: Output) -> Filled:
    scope = msgspec.json.decode(asked.scope)
    run = Run(scope)
    try:
        text = compile_template(msgspec.json.decode(asked.template)).fill_json(scope, run)
        return Filled(text=text, work=EXPRESSION_WORK_MAX - run.left)
    except Unanswerable as trouble:
        is_spent = isinstance(trouble, Spent)
        return Filled(unanswered=str(trouble), is_spent=is_spent, work=EXPRESSION_WORK_MAX)


def _vertex(written: msgspec.Raw) -> Vertex:
    text = bytes(written)
    return _compile(text) if len(text) > EVALUATION_KEPT_BYTES_MAX else _kept(text)


@lru_cache(maxsize=EVALUATION_KEPT_MAX)
def _kept(written: bytes) -> Vertex:
    return _compile(written)


def _compile(written: bytes) -> Vertex:
    found = _WRITTEN.decode(written)
    return vertex_of(found.step, found.queue)
