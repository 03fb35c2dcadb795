"""A plan: a definition made ready to run, and the pure decision which steps are ready after an end.

    definition -> Plan (templates compiled, dependents known) -> readiness(vertex, ends)

A vertex waits while a need is open, is ready when enough needs are met, and is skipped when so many
can no longer be. Nothing here knows of jobs, rows or nodes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from windlass.limits import PLAIN_FIRST_STEPS_MAX
from windlass.model.expression import Expression, compile_expression
from windlass.model.expression.template import Template, compile_template
from windlass.model.job.limit import LimitAsk
from windlass.model.job.retry import default_for, read_retry, to_json
from windlass.model.json import strict as strict_json
from windlass.model.workflow.definition import Definition, Inner, Need, Step
from windlass.model.workflow.step_kinds import ENGINE_KINDS, KINDS

if TYPE_CHECKING:
    from windlass.model.workflow.step_decision import StepDecision  # which decides by this file

# The step that takes back what `charge` did; no id of a definition looks like it.
UNDO: Final = "~undo"

Readiness = Literal["ready", "skip", "wait"]


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How a step ended, or that it has not."""

    state: str  # of its job; not terminal: it is open
    result: str | None = None  # JSON
    error: str | None = None  # JSON

    @property
    def is_open(self) -> bool:
        return self.state in ("blocked", "queued", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a job of a step is made of, its templates apart."""

    kind: str
    input: Template
    max_attempts: int
    retry: str | None  # JSON; None: the default of the kind
    timeout_seconds: float | None
    queue: str
    priority: int | None  # None: its execution's
    locks: Template | None
    limits: tuple[LimitAsk, ...]

    @property
    def has_locks(self) -> bool:
        return self.locks is not None or bool(self.limits)


@dataclass(slots=True, kw_only=True)
class Vertex:
    """A step with what follows from the whole definition."""

    id: str
    work: Work
    needs: tuple[Need, ...]
    quorum: int  # how many needs must be met
    condition: Expression | None
    is_foreseen: bool  # another step handles its failure
    # Of a fan-out; None: it is none.
    items: Expression | None = None
    each: Work | None = None
    max_parallel: int | None = None
    tolerance: int | float = 0  # items, or a share of them when it is a float
    is_collected: bool = True
    # Of a switch: its cases in order.
    cases: tuple[tuple[Expression, int], ...] = ()
    undo: Work | None = None
    undo_named: frozenset[str] = frozenset()  # steps that its compensation looks at
    dependents: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()  # steps whose ends its expressions look at
    is_constant: bool = False  # it has no expression: it becomes the same in every execution
    constant: StepDecision | None = None  # what that is; None: it has not been decided yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    definition: Definition
    vertices: Mapping[str, Vertex]
    first: tuple[str, ...]  # steps that need nothing
    output: Template | None
    output_steps: frozenset[str]
    queues: tuple[str, ...]
    has_undo: bool = False
    # Its first steps are few, and jobs for nodes, whatever the input says and whoever holds what.
    begins_plainly: bool = False
    concurrency_key: Template | None = None
    # What its expressions see of it: made once.
    vars: Mapping[str, Any] = field(default_factory=dict)

    def is_needed(self, step: str) -> bool:
        """Does another step wait for this one?"""
        vertex = self.vertices.get(step)
        return vertex is not None and bool(vertex.dependents)


def plan_of(definition: Definition) -> Plan:
    vertices = {step.id: vertex_of(step, definition.queue) for step in definition.steps}
    followers: dict[str, list[str]] = {}
    for vertex in vertices.values():
        for need in vertex.needs:
            followers.setdefault(need.step, []).append(vertex.id)
            if need.when == "failed":
                vertices[need.step].is_foreseen = True
    for step, names in followers.items():
        vertices[step].dependents = tuple(names)
    concurrency = definition.concurrency
    output = None if definition.output is None else compile_template(definition.output)
    works = [w for v in vertices.values() for w in (v.work, v.each, v.undo) if w is not None]
    first = [vertex for vertex in vertices.values() if not vertex.needs]
    return Plan(
        definition=definition,
        vertices=vertices,
        first=tuple(vertex.id for vertex in first),
        output=output,
        output_steps=frozenset() if output is None else output.steps,
        queues=tuple(sorted({work.queue for work in works})),
        has_undo=any(vertex.undo is not None for vertex in vertices.values()),
        begins_plainly=concurrency is None
        and len(first) <= PLAIN_FIRST_STEPS_MAX
        and all(_is_plain(vertex) for vertex in first),
        concurrency_key=None if concurrency is None else compile_template(concurrency.key),
        vars=definition.vars,
    )


def _is_plain(vertex: Vertex) -> bool:
    """A job that asks for no lock, and does not look at the execution, which is yet to be."""
    work = vertex.work
    return (
        work.kind not in ENGINE_KINDS
        and vertex.condition is None
        and not work.has_locks
        and "execution" not in work.input.names
    )


def readiness(vertex: Vertex, ends: Mapping[str, End]) -> Readiness:
    """What becomes of a step. A need that `ends` does not name is open."""
    met = hopeless = 0
    for need in vertex.needs:
        end = ends.get(need.step)
        if end is None or end.is_open:
            continue
        if is_met(need, end):
            met += 1
        else:
            hopeless += 1
    if met >= vertex.quorum:
        return "ready"
    return "skip" if len(vertex.needs) - hopeless < vertex.quorum else "wait"


def is_met(need: Need, end: End) -> bool:
    match need.when:
        case "ended":
            return True
        case "failed":
            return end.state in ("dead", "expired")
        case "skipped":
            return end.state == "skipped"
        case "succeeded":
            is_chosen = not need.cases or _case_of(end) in need.cases
            return end.state == "succeeded" and is_chosen


def _case_of(end: End) -> int | None:
    chosen = json.loads(end.result or "{}").get("case")
    return chosen if isinstance(chosen, int) else None


def failures_max(vertex: Vertex, total: int) -> int:
    """How many items of a fan-out may fail."""
    tolerance = vertex.tolerance
    return int(total * tolerance) if isinstance(tolerance, float) else min(tolerance, total)


def vertex_of(step: Step, queue: str) -> Vertex:
    """The step as it stands alone: who follows it is known to the whole. `queue` is the
    definition's.
    """
    condition = None if step.condition is None else compile_expression(step.condition)
    items = None if step.items is None else compile_expression(step.items)
    each = None if step.each is None else _work(queue, step, step.each)
    cases = tuple(
        (compile_expression(case.condition), index) for index, case in enumerate(step.cases)
    )
    undo = None if step.undo is None else _work(queue, step, step.undo)
    work = _work(queue, step, _of(step))
    parts: list[Expression | Template | None] = [
        condition,
        items,
        work.input,
        work.locks,
        *(case for case, _ in cases),
        *((each.input, each.locks) if each is not None else ()),
    ]
    return Vertex(
        id=step.id,
        work=work,
        needs=step.needs,
        quorum=len(step.needs) if step.join is None else step.join,
        condition=condition,
        is_foreseen=False,
        items=items,
        each=each,
        max_parallel=step.max_parallel,
        tolerance=step.tolerance,
        is_collected=step.collect,
        cases=cases,
        undo=undo,
        undo_named=frozenset() if undo is None else undo.input.steps,
        named=frozenset().union(*(part.steps for part in parts if part is not None)),
        is_constant=not cases and condition is None and items is None and _is_constant(work),
    )


def _is_constant(work: Work) -> bool:
    return work.input.is_constant and (work.locks is None or work.locks.is_constant)


def _of(step: Step) -> Inner:
    """The step's own work. Of some inputs one field alone is the template."""
    template = KINDS[step.kind].template
    return Inner(
        kind=step.kind,
        input=step.input if template is None else step.input[template],
        retry=step.retry,
        timeout_seconds=step.timeout_seconds,
        queue=step.queue,
        priority=step.priority,
        locks=step.locks,
        limits=step.limits,
    )


def _work(usual_queue: str, step: Step, work: Inner) -> Work:
    usual = default_for(work.kind)
    policy = usual if work.retry is None else read_retry(work.retry, usual)[0]
    ladder = policy.ladder_seconds
    shown = {"max_attempts": policy.max_attempts} if ladder else to_json(policy)
    return Work(
        kind=work.kind,
        input=compile_template(work.input),
        max_attempts=policy.max_attempts if KINDS[work.kind].awaits is None else 1,
        retry=None if work.retry is None else strict_json.write(shown),
        timeout_seconds=work.timeout_seconds,
        queue=work.queue or step.queue or usual_queue,
        priority=step.priority if work.priority is None else work.priority,
        locks=compile_template(list(work.locks)) if work.locks else None,
        limits=work.limits,
    )
