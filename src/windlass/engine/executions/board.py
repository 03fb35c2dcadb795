"""The board of one execution while its next steps are decided: what is known of its steps (needs,
joins, results), and what follows.

Decides without waiting: what it would have to look up is put on a list, and decided in the next
round, when it is known; what takes longer than the loop may be held up is put on another, and
decided by another process (`decide_heavy`). A join may only be decided while the execution is held;
see `progress`.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from windlass.engine.executions.decide_apart import decide_steps_apart
from windlass.engine.executions.facts import Facts
from windlass.limits import EXPRESSION_EXECUTION_WORK_MAX, EXPRESSION_QUICK_WORK_MAX
from windlass.model.expression import Run
from windlass.model.workflow.plan import End, Vertex, readiness
from windlass.model.workflow.step_decision import StepDecision, decide_step


class Step(msgspec.Struct):
    """A step that was decided, to be written."""

    facts: Facts
    vertex: Vertex
    decision: StepDecision


class Board:
    def __init__(self, facts: Facts, quick_work_max: int = EXPRESSION_QUICK_WORK_MAX) -> None:
        self.facts = facts
        self.quick_left = quick_work_max  # what its expressions may still do on the loop
        self.is_held = False  # the execution's row is locked by this transaction
        self.wants_hold = False
        self.wanted: dict[str, bool] = {}  # step -> is its result wanted too
        self._ends: dict[str, End] = {}
        self._looked: dict[str, bool] = {}  # asked for, with or without its result
        self.heavy: dict[str, Vertex] = {}  # ready, and more work than was allowed on the loop
        self._work_left = EXPRESSION_EXECUTION_WORK_MAX
        self._open: deque[str] = deque()  # steps that may be ready to be decided
        self._scope: dict[str, Any] | None = None

    def ended(self, step: str, end: End) -> None:
        self._ends[step] = end
        self._looked[step] = True
        vertex = self.facts.plan.vertices.get(step)
        if vertex is not None:
            self._open.extend(vertex.dependents)

    def begin(self) -> None:
        """Its first steps are due."""
        self._open.extend(self.facts.plan.first)

    def again(self, known: Mapping[str, End], steps: Iterable[str]) -> None:
        """These are decided anew, the execution being held. How all others ended is known, if not
        with what result.
        """
        self.is_held = True
        self._ends |= known
        self._looked = dict.fromkeys(self.facts.plan.vertices, False)
        self._looked |= {step: end.result is not None for step, end in known.items()}
        self._open.extend(steps)

    def learned(self, found: Mapping[str, End]) -> None:
        """What was wanted; steps that have no job are not in it."""
        for step, has_result in self.wanted.items():
            self._looked[step] = has_result or self._looked.get(step, False)
            if step in found:
                self._ends[step] = found[step]
        self.wanted = {}

    def decide(self) -> list[Step]:
        """All that can be decided now; the rest has put what it needs on `wanted`, or is heavy."""
        decided: list[Step] = []
        waiting: list[str] = []
        while self._open:
            vertex = self.facts.plan.vertices[self._open.popleft()]
            if vertex.id in self._ends or vertex.id in self.heavy:
                continue  # it has its job, by another of its needs
            if not self._knows_enough(vertex):
                waiting.append(vertex.id)
                continue
            said = readiness(vertex, self._ends)
            if said == "wait":
                continue  # whoever ends next comes by again
            if said == "ready" and not self._knows(dict.fromkeys(vertex.named, True)):
                waiting.append(vertex.id)
                continue
            if said == "skip":
                decision = StepDecision(state="skipped")
            elif vertex.constant is not None:
                decision = vertex.constant
            else:
                scope = self.scope(vertex)
                run = Run(scope, self.quick_left)
                decision = decide_step(vertex, scope, run)
                self.quick_left = max(0, run.left)
                if decision.is_spent:
                    self.heavy[vertex.id] = vertex
                    continue
                if vertex.is_constant and decision.state != "dead":  # which may be by accident
                    vertex.constant = decision
            decided.append(Step(self.facts, vertex, decision))
            self._put(vertex, decision)
        self._open.extend(dict.fromkeys(waiting))
        return decided

    async def decide_heavy(self) -> tuple[list[Step], int]:
        """What is heavy, and the work that it was."""
        vertices = list(self.heavy.values())
        scopes = [self.scope(vertex) for vertex in vertices]
        found = await decide_steps_apart(self.facts, vertices, scopes, self._work_left)
        self._work_left -= found.work
        self.heavy = {}
        decided: list[Step] = []
        for vertex, decision in zip(vertices, found.decisions, strict=True):
            decided.append(Step(self.facts, vertex, decision))
            self._put(vertex, decision)
        return decided, found.work

    def scope(self, vertex: Vertex) -> dict[str, Any]:
        """What the expressions of a step see."""
        if self._scope is None:
            self._scope = self.facts.scope()
        if not vertex.named:
            return self._scope
        return self._scope | {
            "steps": {name: step_in_scope(self._ends.get(name)) for name in vertex.named}
        }

    def _put(self, vertex: Vertex, decision: StepDecision) -> None:
        if decision.state in ("queued", "awaited"):
            self._ends[vertex.id] = End(state="queued")
        else:
            self.ended(
                vertex.id, End(state=decision.state, result=decision.result, error=decision.error)
            )

    def _knows_enough(self, vertex: Vertex) -> bool:
        """For one need its own end is enough; a join must look, and nobody else may meanwhile."""
        if len(vertex.needs) <= 1:
            return True
        if not self.is_held:
            self.wants_hold = True
        # Which way a switch went is its result.
        wanted = {need.step: bool(need.cases) or need.step in vertex.named for need in vertex.needs}
        return self._knows(wanted | {vertex.id: False}) and self.is_held

    def _knows(self, wanted: Mapping[str, bool]) -> bool:
        is_all = True
        for step, with_result in wanted.items():
            known = self._looked.get(step)
            if known is None or (with_result and not known):
                self.wanted[step] = self.wanted.get(step, False) or with_result
                is_all = False
        return is_all


def step_in_scope(end: End | None) -> dict[str, Any]:
    """A step as expressions see it. What is nested too deeply to be read is not there: whoever
    looks at it has no answer, and nobody else is concerned.
    """
    if end is None:
        return {"state": "open", "output": None, "error": None}
    found: dict[str, Any] = {"state": "open" if end.is_open else end.state}
    for name, text in (("output", end.result), ("error", end.error)):
        with contextlib.suppress(RecursionError):
            found[name] = None if text is None else msgspec.json.decode(text)
    return found
