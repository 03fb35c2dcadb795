"""What a step becomes when its needs are met: a job, a wait, or an end without either.

Expressions are evaluated here and nowhere later: the job that is inserted holds plain values. One
that cannot be answered ends its step as `dead`, with what was missing and where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from windlass.errors import InvalidInput
from windlass.limits import FAN_OUT_ITEMS_MAX, LOCKS_MAX
from windlass.model.expression import Expression, Run, Spent, Unanswerable
from windlass.model.job.draft import task_of
from windlass.model.job.limit import JobLimits, LimitAsk, limits_of
from windlass.model.job.lock import read_lock_name
from windlass.model.job.target import target_of
from windlass.model.json import strict as strict_json
from windlass.model.json.storable import harmless_json
from windlass.model.workflow.definition import DEFAULT_CASE
from windlass.model.workflow.plan import Vertex, Work
from windlass.model.workflow.step_kinds import ENGINE_KINDS, KINDS, complete

Scope = Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class StepDecision:
    """`queued` and `awaited` are jobs to insert; the others are ends."""

    state: Literal["queued", "awaited", "succeeded", "dead", "skipped"]
    input: str = "{}"  # JSON
    target: str | None = None  # whom an `http` step calls
    task: str | None = None  # which function a `python` step runs
    locks: list[str] | None = None
    limits: str | None = None  # JSON, see model.job.limit; their locks are among the others
    result: str | None = None  # JSON
    error: str | None = None  # JSON
    cause: str | None = None
    items: int | None = None  # of a fan-out
    is_spent: bool = False  # dead, because it was more work than it was allowed


def decide_step(vertex: Vertex, scope: Scope, run: Run | None = None) -> StepDecision:
    """All expressions of the step share the allowance of one run."""
    run = run or Run(scope)
    try:
        if vertex.condition is not None and not _holds(vertex.condition, scope, run):
            return StepDecision(state="skipped")
        decide = _DECIDE.get(vertex.work.kind)
        # What a node performs is a job, a plugin's kind too.
        return work_of(vertex.work, scope, run) if decide is None else decide(vertex, scope, run)
    except Unanswerable as trouble:
        return _unanswered(trouble)
    except Exception as trouble:
        return _unforeseen(trouble)


def work_of(work: Work, scope: Scope, run: Run | None = None) -> StepDecision:
    """The job of one piece of work: of a step, an item of a fan-out, or a compensation."""
    run = run or Run(scope)
    kind = KINDS[work.kind]
    try:
        decision = StepDecision(
            state="queued" if kind.awaits is None else "awaited",
            input=work.input.fill_json(scope, run),
        )
        if kind.target is not None:
            called = msgspec.json.decode(decision.input).get(kind.target)
            decision.target = target_of(str(called))
        if kind.has_task:
            decision.task = task_of(msgspec.json.decode(decision.input))
        if work.locks is not None:
            decision.locks = _names(work.locks.fill(scope, run))
        if work.limits:
            limits = _limits(work.limits, decision.input)
            decision.limits, decision.locks = limits.text, [*(decision.locks or ()), *limits.locks]
        return decision
    except Unanswerable as trouble:
        return _unanswered(trouble)
    except Exception as trouble:
        return _unforeseen(trouble)


def _unanswered(trouble: Unanswerable) -> StepDecision:
    decision = _dead("expression", str(trouble))
    decision.is_spent = isinstance(trouble, Spent)
    return decision


def _holds(condition: Expression, scope: Scope, run: Run) -> bool:
    said = condition.evaluate(scope, run)
    if not isinstance(said, bool):
        raise Unanswerable(f"a condition gave {type(said).__name__}, and must give true or false")
    return said


def _job(vertex: Vertex, scope: Scope, run: Run) -> StepDecision:
    return work_of(vertex.work, scope, run)


def _transform(vertex: Vertex, scope: Scope, run: Run) -> StepDecision:
    return StepDecision(state="succeeded", result=vertex.work.input.fill_json(scope, run))


def _switch(vertex: Vertex, scope: Scope, run: Run) -> StepDecision:
    return StepDecision(state="succeeded", result=f'{{"case":{_chosen(vertex, scope, run)}}}')


def _chosen(vertex: Vertex, scope: Scope, run: Run) -> int:
    for condition, index in vertex.cases:
        if _holds(condition, scope, run):
            return index
    return DEFAULT_CASE


def _fail(vertex: Vertex, scope: Scope, run: Run) -> StepDecision:
    message = vertex.work.input.fill(scope, run)["message"]
    return _dead("failed_by_definition", _text(message))


def _fan_out(vertex: Vertex, scope: Scope, run: Run) -> StepDecision:
    assert vertex.items is not None
    items = vertex.items.evaluate(scope, run)
    if not isinstance(items, list):
        raise Unanswerable(f"items gave {type(items).__name__}, and must give a list")
    if len(items) > FAN_OUT_ITEMS_MAX:
        raise Unanswerable(f"items has {len(items)} elements; at most {FAN_OUT_ITEMS_MAX} may be")
    if not items:
        empty = "[]" if vertex.is_collected else '{"total":0,"succeeded":0,"failed":0}'
        return StepDecision(state="succeeded", result=empty)
    return StepDecision(
        state="awaited", input=strict_json.write({"items": items}), items=len(items)
    )


_DECIDE: Final[Mapping[str, Callable[[Vertex, Scope, Run], StepDecision]]] = complete(
    ENGINE_KINDS,
    {
        "signal": _job,
        "approval": _job,
        "map": _fan_out,
        "workflow": _job,
        "switch": _switch,
        "transform": _transform,
        "fail": _fail,
    },
)


def _names(value: Any) -> list[str]:
    names = list(dict.fromkeys(_text(name) for name in value))
    if len(names) > LOCKS_MAX:
        raise Unanswerable(f"locks must be at most {LOCKS_MAX}; there are {len(names)}")
    try:
        return [read_lock_name(name) for name in names]
    except ValueError as trouble:
        raise Unanswerable(f"the name of a lock {trouble}") from None


def _limits(asks: Sequence[LimitAsk], given: str) -> JobLimits:
    try:
        return limits_of(asks, msgspec.json.decode(given))
    except InvalidInput as trouble:
        [problem] = trouble.problems
        raise Unanswerable(f"limits{problem.pointer} {problem.detail}") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else strict_json.write(value)


def _unforeseen(trouble: Exception) -> StepDecision:
    """Decided from what never changes, so another look would find the same: an end, and no reason
    for the ends of others to wait.
    """
    return _dead("expression", f"could not be evaluated: {type(trouble).__name__}: {trouble}")


def _dead(cause: str, message: str) -> StepDecision:
    error = harmless_json({"cause": cause, "message": message})
    return StepDecision(state="dead", cause=cause, error=error)
