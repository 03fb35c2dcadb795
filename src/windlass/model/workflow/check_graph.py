"""Can every step run? Cycles, and unreachable steps, whose needs can never be met.

What is possible is worked out in the order of the graph. For each step: the ways in which it may
end, and the cases of switches without which it does not run:

    route -- case 0 --> a --+
          \\- default --> b --+--> both        needs a and b: `both` would need two cases of one
                                             switch at once, and never runs

A step is called unreachable only when that is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from windlass.limits import EXCLUSIONS_MAX
from windlass.model.workflow.collector import Collector
from windlass.model.workflow.definition import Need, Step
from windlass.model.workflow.graph import Graph, topological_order
from windlass.model.workflow.step_kinds import KINDS

_CIRCLE_SHOWN_MAX: Final = 10

# The ways in which a step may end.
_SUCCEEDED, _FAILED, _SKIPPED = 1, 2, 4
_WANTED: Final = {
    "succeeded": _SUCCEEDED,
    "failed": _FAILED,
    "skipped": _SKIPPED,
    "ended": _SUCCEEDED | _FAILED | _SKIPPED,
}

# By switch: the cases of which one must have been chosen.
Cases = dict[str, frozenset[int]]


def check_order(graph: Graph, at: Sequence[int], collector: Collector) -> list[int] | None:
    """The steps in order, or None when some wait in a circle."""
    order, circles = topological_order(graph.needs)
    for circle in circles:
        names = [graph.steps[index].id for index in [*circle[:_CIRCLE_SHOWN_MAX], circle[0]]]
        if len(circle) > _CIRCLE_SHOWN_MAX:
            names.insert(-1, f"… {len(circle) - _CIRCLE_SHOWN_MAX} more …")
        way = " needs ".join(names)
        collector.say(f"/steps/{at[circle[0]]}/needs", f"waits in a circle: {way}")
    return None if circles else order


def check_reachable(
    graph: Graph, order: Sequence[int], at: Sequence[int], collector: Collector
) -> None:
    """Notes the first steps that can never run; what only follows from them is not repeated."""
    ends = [0] * len(graph.steps)
    chosen: list[Cases] = [{}] * len(graph.steps)
    for index in order:
        step = graph.steps[index]
        met = [ends[graph.indexes[need.step]] & _WANTED[need.when] != 0 for need in step.needs]
        # More than there are was told already.
        wanted = len(step.needs) if step.join is None else min(step.join, len(step.needs))
        trouble = None
        if sum(met) < wanted:
            trouble = _impossible(step, met, graph, ends)
        elif wanted == len(step.needs):
            chosen[index], trouble = _all_of(step, graph, chosen)
        else:
            chosen[index] = _any_of(step, graph, chosen)
        if trouble is not None:
            collector.say(f"/steps/{at[index]}/needs", trouble)
            # Taken as reachable from here on, so that each mistake is told once.
        ends[index] = _ends_of(step, graph, ends)


def _ends_of(step: Step, graph: Graph, ends: Sequence[int]) -> int:
    is_sure = step.condition is None and all(
        not need.cases and ends[graph.indexes[need.step]] & ~_WANTED[need.when] == 0
        for need in step.needs
    )
    ran = _SUCCEEDED | _FAILED if KINDS[step.kind].can_succeed else _FAILED
    return ran if is_sure else ran | _SKIPPED


def _impossible(step: Step, met: Sequence[bool], graph: Graph, ends: Sequence[int]) -> str:
    need = next(need for need, is_met in zip(step.needs, met, strict=True) if not is_met)
    return f"can never run: {need.step} never ends {need.when} ({_why(need, graph)})"


def _why(need: Need, graph: Graph) -> str:
    other = graph.steps[graph.indexes[need.step]]
    if not KINDS[other.kind].can_succeed and need.when == "succeeded":
        return f"it is of kind {other.kind}; say when: failed"
    return "it has no condition, and nothing that it needs can go wrong"


def _all_of(step: Step, graph: Graph, chosen: Sequence[Cases]) -> tuple[Cases, str | None]:
    """Every need must be met, so the cases of all of them must be chosen."""
    asked = [(need, _asked(need, graph, chosen)) for need in step.needs]
    # Most steps ask for nothing of their own, and share what the one before them asked for.
    asking = [cases for _, cases in asked if cases]
    if len(asking) <= 1:
        return (asking[0] if asking else {}), None
    whole: Cases = {}
    for need, cases in asked:
        for switch, allowed in cases.items():
            both = whole.get(switch, allowed) & allowed
            if not both:
                others = ", ".join(n.step for n, c in asked if switch in c and n.step != need.step)
                return whole, (
                    f"can never run: {need.step} and {others or need.step} lie on different cases "
                    f"of {switch}, of which only one is chosen; say join: any"
                )
            whole[switch] = both
    return _bounded(whole.items()), None


def _any_of(step: Step, graph: Graph, chosen: Sequence[Cases]) -> Cases:
    """Some need is met: what all of them ask for is certain, and nothing else."""
    whole: Cases | None = None
    for need in step.needs:
        cases = _asked(need, graph, chosen)
        if whole is None:
            whole = cases
        else:
            whole = {name: whole[name] | cases[name] for name in whole if name in cases}
        if not whole:
            return {}
    return whole or {}


def _asked(need: Need, graph: Graph, chosen: Sequence[Cases]) -> Cases:
    if need.when in ("ended", "skipped"):
        return {}  # met although it never ran
    above = chosen[graph.indexes[need.step]]
    if not need.cases:
        return above
    return _bounded([*above.items(), (need.step, frozenset(need.cases))])


def _bounded(cases: Iterable[tuple[str, frozenset[int]]]) -> Cases:
    # Ten thousand switches in a row would make a hundred million entries; the nearest matter.
    return dict(list(cases)[-EXCLUSIONS_MAX:])
