"""The edges of the graph: who waits for whom by `after=`, by values that are used, and by blocks.

A step waits for what it names in `after=`, and for every step whose output it uses, unless that
has surely succeeded before something else that it waits for. In a block

    with when(paid.out["risk"] > 0.8):      ok    needs [boxes], if ${steps.paid.output.risk > 0.8}
        ok = approval("Risky", after=boxes)
    ship.step(boxes.out, after=ok)          ship  needs [{ok, ended}, boxes],
                                                  if ${steps.ok.state in ['succeeded', 'skipped']}

the steps with which it begins carry its condition (or stand in the `go` of their case), and those
that follow in it are skipped with them. `after=` a step of a block from outside reads as in Python:
after the block, whether it was entered or not, but not when something in it failed. So it waits for
the end of that step and for whatever the block waits for, and asks that nothing in between failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from windlass.model.workflow.definition import When as WhenWord
from windlass.sdk.workflow.block import Block, Case, When
from windlass.sdk.workflow.cannot_trace import CannotTrace
from windlass.sdk.workflow.render import expression, references
from windlass.sdk.workflow.step import Step
from windlass.sdk.workflow.trace import Trace
from windlass.sdk.workflow.value import Value, value_of

_FINE: Final = value_of(["succeeded", "skipped"])


class Vertex:
    """What is known of a step once everything before it is."""

    def __init__(self, step: Step[Any]) -> None:
        self.step = step
        self.needs: dict[str, WhenWord] = {}
        self.join = step.join
        self.conditions: list[Value] = []
        self.case: Case | None = None  # it stands in the `go` of this one
        self.lax: set[str] = set()  # needs that may have been skipped with their block
        self.sure: set[str] = set()  # steps that have succeeded when this one begins
        self.before: set[str] = set()  # steps that have ended then

    @property
    def parents(self) -> dict[str, WhenWord]:
        """Its needs, and the switch of the case that leads to it."""
        switch: dict[str, WhenWord] = {}
        if self.case is not None:
            switch[self.case.switch.step.id] = "succeeded"
        return {**self.needs, **switch}


class Graph:
    """The vertices of all steps, made in the order in which they were written."""

    def __init__(self, trace: Trace) -> None:
        self.vertices: dict[str, Vertex] = {}
        for step in trace.steps:
            self.vertices[step.id] = _EdgeFinder(step, self.vertices).vertex


class _EdgeFinder:
    """Finds the edges that lead to one step."""

    def __init__(self, step: Step[Any], vertices: dict[str, Vertex]) -> None:
        self.step, self.vertices = step, vertices
        self.vertex = Vertex(step)
        self.implied: dict[str, WhenWord] = {}
        self.fine: dict[str, None] = {}  # steps of blocks passed by, of which none may have failed
        self._imply(step.body)
        self._imply(step.undo_body, but=step.id)
        if step.switch is not None:
            asks = [case.condition for case in step.switch.cases]
            self._imply([expression(one) for one in asks if one is not None])
        self._explicit()
        self._enter_blocks()
        self._ask_for_harm()
        self._add_implied()
        self._remember()

    def _explicit(self) -> None:
        self._check_ends()
        if self.step.join is None and self._are_all_ways():
            self.vertex.join = "any"
        for end in self.step.after_ends:
            is_used = self.implied.get(end.step.id) == "succeeded"
            if end.when is not None:
                self.vertex.needs[end.step.id] = end.when
            elif self.vertex.join is None and not is_used and self._gate(end.step) is not None:
                self._pass_by(end.step)
            else:
                self.vertex.needs[end.step.id] = "succeeded"

    def _check_ends(self) -> None:
        for end in self.step.after_ends:
            if end.step.trace is not self.step.trace:
                self._refuse(f"{end.step.id} is a step of workflow {end.step.trace.workflow!r}")

    def _are_all_ways(self) -> bool:
        """Is it after the ends of all ways of one switch, of which one is always taken?"""
        ends = [end.step for end in self.step.after_ends if end.when is None]
        gates = [self._gate(end) for end in ends]
        if len(gates) < max(2, len(self.step.after_ends)):
            return False
        first = gates[0]
        if not isinstance(first, Case) or first.switch.otherwise is None:
            return False
        if {*gates} != {*first.switch.ways} or len(gates) != len(first.switch.ways):
            return False
        # One in a block of its own may be passed by although its way is taken.
        if [end.block for end in ends] != gates:
            return False
        # What another block asks for would be counted by the join.
        if not all(_is_in(ends[0], block) for block in self._blocks()):
            return False
        # What it uses besides must have succeeded whichever way was taken.
        return self.implied.keys() <= set.intersection(*(self._known(end.id) for end in ends))

    def _blocks(self) -> list[Block]:
        """Those around it, the innermost first."""
        return [] if self.step.block is None else list(self.step.block.and_above())

    def _gate(self, other: Step[Any]) -> Block | None:
        """The outermost block around the other step that this one stands outside of."""
        if other.block is None:
            return None
        mine = self._blocks()
        outside = [block for block in other.block.and_above() if block not in mine]
        return outside[-1] if outside else None

    def _pass_by(self, other: Step[Any]) -> None:
        """After the block of the other step, be it entered or not."""
        gate = self._gate(other)
        if gate is None:
            self.implied.setdefault(other.id, "succeeded")
            return
        if other.id in self.vertex.lax:
            return
        self.vertex.needs.setdefault(other.id, "ended")
        self.vertex.lax.add(other.id)
        for name in self._inside(other.id, gate):
            vertex = self.vertices[name]
            self.fine[name] = None
            for need, when in vertex.parents.items():
                if _is_in(self.vertices[need].step, gate):
                    continue
                if need in vertex.lax:
                    self._pass_by(self.vertices[need].step)
                else:
                    self.implied.setdefault(need, when)

    def _inside(self, name: str, gate: Block) -> Iterable[str]:
        """The step and those before it in the block, in the order of the code."""
        found, rest = {name}, [name]
        while rest:
            for need in self.vertices[rest.pop()].parents:
                if need not in found and _is_in(self.vertices[need].step, gate):
                    found.add(need)
                    rest.append(need)
        return sorted(found, key=lambda one: self.vertices[one].step.position)

    def _imply(self, template: Any, but: str | None = None) -> None:
        """It needs the steps that its expressions ask for: their output, or at least their end."""
        for name, is_output in references(template):
            if name == but:
                continue
            if name not in self.vertices:
                self._refuse(f"it asks for a step {name}, which is not there before it")
            if is_output or name not in self.implied:
                self.implied[name] = "succeeded" if is_output else "ended"

    def _enter_blocks(self) -> None:
        """Carries the conditions of those blocks that no step before it carries for it."""
        for block in self._blocks():
            if self._is_covered(block):
                break  # and so is whatever that one lies in
            if isinstance(block, When):
                self.vertex.conditions.insert(0, block.condition)
                self._imply(expression(block.condition))
            elif isinstance(block, Case):
                if self.vertex.join is not None:
                    self._refuse("join= at the start of a case; put a step before it")
                block.go.append(self.step.id)
                self.vertex.case = block

    def _ask_for_harm(self) -> None:
        states = [Value(f"steps.{name}.state") for name in self.fine]
        if len(states) == 1:
            self.vertex.conditions.append(_FINE.contains(states[0]))
        elif states:
            self.vertex.conditions.append(value_of(states).all(lambda state: _FINE.contains(state)))

    def _is_covered(self, block: Block) -> bool:
        known = {**self.implied, **self.vertex.needs}
        inside = [
            when == "succeeded" and _is_in(self.vertices[name].step, block)
            for name, when in known.items()
        ]
        if self.vertex.case is not None:
            inside.append(_is_in(self.vertex.case.switch.step, block))
        return bool(inside) and (any(inside) if self.vertex.join is None else all(inside))

    def _add_implied(self) -> None:
        """What is used must have been said, where it does not follow from something else."""
        if self.vertex.join is not None:
            self._check_joined()
            return
        for name in sorted(self.implied, key=lambda one: self.vertices[one].step.position):
            when = self.implied[name]
            if name in self.vertex.needs and name not in self.vertex.lax:
                continue
            others = [other for other in {**self.vertex.needs, **self.implied} if other != name]
            if self._follows(name, when, others):
                continue
            self.vertex.needs[name] = when

    def _check_joined(self) -> None:
        """Another need would be counted by the join, so what is used must be among those named."""
        for name in self.implied:
            if not any(
                name == need or name in self.vertices[need].before for need in self.vertex.needs
            ):
                self._refuse(f"it uses {name} as well, so with join= name that in after=")

    def _follows(self, name: str, when: WhenWord, others: list[str]) -> bool:
        known = {**self.implied, **self.vertex.needs}
        switch = None if self.vertex.case is None else self.vertex.case.switch.step.id
        if when == "succeeded":
            strict = [other for other in others if known[other] == "succeeded"]
            strict += [] if switch is None else [switch]
            return name == switch or any(name in self.vertices[other].sure for other in strict)
        every = others + ([] if switch is None else [switch])
        return when == "ended" and any(name in self.vertices[other].before for other in every)

    def _remember(self) -> None:
        vertex = self.vertex
        parents = vertex.parents
        for name, when in parents.items():
            vertex.before |= {name, *self.vertices[name].before}
            if vertex.join is None and when == "succeeded":
                vertex.sure |= self._known(name)
        if vertex.join is not None and {*parents.values()} == {"succeeded"}:
            vertex.sure = set.intersection(*(self._known(name) for name in parents))

    def _known(self, name: str) -> set[str]:
        """What has succeeded when this one has."""
        return {name, *self.vertices[name].sure}

    def _refuse(self, detail: str) -> None:
        raise CannotTrace(f"{self.step.id}: {detail}", file=self.step.file, line=self.step.line)


def _is_in(step: Step[Any], block: Block) -> bool:
    return step.block is not None and any(above is block for above in step.block.and_above())
