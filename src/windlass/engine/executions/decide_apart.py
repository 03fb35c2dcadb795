"""Evaluate heavy expressions and schemas in another process, where they hold up no event loop.

What a user wrote is evaluated on the node's loop only while it is quick: of one execution
`EXPRESSION_QUICK_WORK_MAX`, some milliseconds, and of one value `SCHEMA_QUICK_WORK_MAX`. Whatever
needs more is evaluated again, from its beginning, by a process beside the node
(`engine.evaluate.evaluator`); expressions have no effects, so nothing is done twice. Callers who
wait for that are limited in number, in all and of each one (backpressure: EvaluationsFull).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import msgspec

from windlass.engine.evaluate.evaluator import Evaluator
from windlass.engine.executions.facts import Facts
from windlass.errors import WindlassError
from windlass.limits import (
    DEFINITION_HERE_BYTES_MAX,
    EVALUATIONS_MAX,
    EVALUATIONS_OF_ONE_MAX,
    EXPRESSION_BATCH_WORK_MAX,
    EXPRESSION_QUICK_WORK_MAX,
    SCHEMA_QUICK_WORK_MAX,
)
from windlass.model.expression import Run, Spent, Unanswerable
from windlass.model.expression.evaluation import (
    Check,
    Decided,
    DecideSteps,
    FanOutItems,
    Filled,
    Form,
    Output,
    Question,
    Undoing,
    Written,
    items_within,
    raw,
)
from windlass.model.json.schema import Allowance, Found, TooMuchToCheck, value_problems
from windlass.model.json.schema_check import has_patterns
from windlass.model.workflow.plan import Vertex
from windlass.model.workflow.step_decision import StepDecision, work_of
from windlass.model.workflow.step_kinds import form_of, input_problems
from windlass.store.database import Refused

EVALUATOR: Final = Evaluator()

_DECIDED: Final = msgspec.json.Decoder(Decided)
_FILLED: Final = msgspec.json.Decoder(Filled)
_FOUND: Final = msgspec.json.Decoder(Found)


class TooMuchAtOnce(Refused):
    """What was to be decided in one transaction is too much work for it. Nothing was changed; the
    caller comes again with fewer at a time.
    """

    code = "too_much_at_once"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(f"the expressions of {count} executions are too much for one transaction")


class HeavyStarts(Refused):
    """Some of them take a while, and none may that shares this transaction. Nothing was changed."""

    code = "heavy_starts"

    def __init__(self, execution_ids: set[UUID]) -> None:
        self.execution_ids = execution_ids
        super().__init__(f"{len(execution_ids)} executions have expressions that take a while")


class EvaluationsFull(WindlassError):
    """Enough callers wait for expressions and schemas that take a while."""

    code = "evaluations_full"
    status = 503
    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__(
            "this node is busy with other heavy expressions and schemas; send it again"
        )


class Waiting:
    """Callers who wait for what takes a while, and how many of them one may be."""

    def __init__(self) -> None:
        self._count: dict[str | None, int] = {}  # by who it is; None: nobody says

    def __len__(self) -> int:
        return sum(self._count.values())

    def of(self, one: str | None) -> int:
        return self._count.get(one, 0)

    @contextmanager
    def admit(self, of: str | None) -> Iterator[None]:
        """Raises EvaluationsFull."""
        if self.of(of) >= EVALUATIONS_OF_ONE_MAX or len(self) >= EVALUATIONS_MAX:
            raise EvaluationsFull
        self._count[of] = self.of(of) + 1
        try:
            yield
        finally:
            self._count[of] -= 1
            if not self._count[of]:
                del self._count[of]


WAITING: Final = Waiting()


async def decide_steps_apart(
    facts: Facts, vertices: list[Vertex], scopes: list[dict[str, Any]], work_max: int
) -> Decided:
    """`decide_step`, of each vertex. Their scopes differ in `steps` alone."""
    shared = {name: value for name, value in scopes[0].items() if name != "steps"}
    return _DECIDED.decode(
        await _ask(
            DecideSteps(
                written=[_written(facts, vertex) for vertex in vertices],
                scope=raw(shared),
                seen=[raw(scope.get("steps")) for scope in scopes],
                work_max=work_max,
            )
        )
    )


async def items_apart(
    facts: Facts, vertex: Vertex, scope: dict[str, Any], items: list[Any], first: int
) -> list[StepDecision]:
    """Of as many items, which stand from `first` on, as one transaction has time for; at least of
    one.
    """
    assert vertex.each is not None
    decisions = items_within(EXPRESSION_QUICK_WORK_MAX, vertex.each, scope, items, first).decisions
    if len(decisions) == len(items):
        return decisions
    asked = FanOutItems(
        written=_written(facts, vertex),
        scope=raw({name: scope[name] for name in scope if name not in ("item", "index")}),
        items=items[len(decisions) :],
        first=first + len(decisions),
        work_max=EXPRESSION_BATCH_WORK_MAX,
    )
    return decisions + _DECIDED.decode(await _ask(asked)).decisions


async def undo_apart(facts: Facts, vertex: Vertex, scope: dict[str, Any]) -> StepDecision:
    """The job of a compensation."""
    assert vertex.undo is not None
    decision = work_of(vertex.undo, scope, Run(scope, EXPRESSION_QUICK_WORK_MAX))
    if not decision.is_spent:
        return decision
    asked = Undoing(written=_written(facts, vertex), scope=raw(scope))
    return _DECIDED.decode(await _ask(asked)).decisions[0]


async def output_apart(facts: Facts, scope: dict[str, Any]) -> tuple[str, int]:
    """What an execution gives, and the work it was. Raises Unanswerable."""
    template = facts.plan.output
    assert template is not None
    run = Run(scope, EXPRESSION_QUICK_WORK_MAX)
    try:
        return template.fill_json(scope, run), EXPRESSION_QUICK_WORK_MAX - run.left
    except Spent:
        asked = Output(template=raw(facts.plan.definition.output), scope=raw(scope))
    filled = _FILLED.decode(await _ask(asked))
    if filled.text is None:
        raise (Spent if filled.is_spent else Unanswerable)(filled.unanswered)
    return filled.text, filled.work


async def check_apart(value: Any, schema: Any, of: str | None) -> Found:
    """`value_problems`, for a caller who waits for it. Raises EvaluationsFull."""
    try:
        return value_problems(value, schema, allowance=Allowance(SCHEMA_QUICK_WORK_MAX))
    except TooMuchToCheck:
        with WAITING.admit(of):
            return await checked_apart(value, schema)


async def checked_apart(value: Any, schema: Any) -> Found:
    """`value_problems` of what is known to take a while."""
    return _FOUND.decode(await _ask(Check(schema=raw(schema), value=raw(value))))


async def filled_apart(kind: str, text: str) -> Found:
    """`input_problems` of JSON that the run has filled. Of a form that takes a while, elsewhere."""
    given = msgspec.json.decode(text)
    form = form_of(kind, given)
    if form is not None and (len(text) > DEFINITION_HERE_BYTES_MAX or has_patterns(form)):
        return _FOUND.decode(await _ask(Form(form=raw(form))))
    return input_problems(kind, given, is_filled=True)


def _written(facts: Facts, vertex: Vertex) -> msgspec.Raw:
    definition = facts.plan.definition
    step = next(step for step in definition.steps if step.id == vertex.id)
    return raw(Written(step=step, queue=definition.queue))


async def _ask(question: Question) -> bytes:
    return await EVALUATOR.ask(msgspec.json.encode(question))
