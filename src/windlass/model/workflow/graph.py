"""The graph of a definition: who waits for whom, switches included, and in what order.

Every walk is a loop over lists of numbers: ten thousand steps in a row would be too deep for
recursion, and each walk passes every edge once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from windlass.model.workflow.collector import Collector
from windlass.model.workflow.definition import DEFAULT_CASE, Need, Step
from windlass.model.workflow.fields import likely


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    steps: tuple[Step, ...]
    indexes: dict[str, int]  # of each id
    needs: list[list[int]]  # whom the step at this index waits for, as `Step.needs`


def graph_of(steps: Sequence[Step], at: Sequence[int], collector: Collector) -> Graph:
    """`at` says where in the document each step stands. Notes names that are not there."""
    indexes: dict[str, int] = {}
    for index, step in enumerate(steps):
        if step.id in indexes:
            first = at[indexes[step.id]]
            collector.say(
                f"/steps/{at[index]}/id", f"is the id of /steps/{first} as well; choose another"
            )
        indexes.setdefault(step.id, index)
    by_case = _cases(steps, at, indexes, collector)
    whole = []
    for index, step in enumerate(steps):
        needs = _with_cases(step, by_case.get(step.id, {}), f"/steps/{at[index]}/needs", collector)
        whole.append(replace(step, needs=needs) if needs is not step.needs else step)
    edges = _edges(whole, at, indexes, collector)
    _check_join(whole, at, collector)
    return Graph(steps=tuple(whole), indexes=indexes, needs=edges)


def _cases(
    steps: Sequence[Step], at: Sequence[int], indexes: dict[str, int], collector: Collector
) -> dict[str, dict[str, list[int]]]:
    """By step: the switches that may go to it, and in which cases."""
    found: dict[str, dict[str, list[int]]] = {}
    for index, step in enumerate(steps):
        ways = [(n, f"/cases/{n}/go", case.go) for n, case in enumerate(step.cases)]
        for case, pointer, names in [*ways, (DEFAULT_CASE, "/default", step.default_go)]:
            for n, name in enumerate(names):
                if name not in indexes:
                    collector.has_gaps = True
                    collector.say(f"/steps/{at[index]}{pointer}/{n}", _no_step(name, indexes))
                else:
                    found.setdefault(name, {}).setdefault(step.id, []).append(case)
    return found


def _with_cases(
    step: Step, by_case: dict[str, list[int]], pointer: str, collector: Collector
) -> tuple[Need, ...]:
    """The needs of a step with those that switches imply. One that it names itself is joined."""
    if not by_case:
        return step.needs
    needs = []
    for n, need in enumerate(step.needs):
        cases = by_case.pop(need.step, None)
        if cases is None:
            needs.append(need)
            continue
        if need.when != "succeeded":
            detail = f"{need.step} goes here by a case, so it must have succeeded"
            collector.say(f"{pointer}/{n}", f"{detail}; leave out when: {need.when}")
        needs.append(Need(step=need.step, cases=tuple(cases)))
    needs += [Need(step=name, cases=tuple(cases)) for name, cases in by_case.items()]
    return tuple(needs)


def _edges(
    steps: Sequence[Step], at: Sequence[int], indexes: dict[str, int], collector: Collector
) -> list[list[int]]:
    edges = []
    for index, step in enumerate(steps):
        found = []
        for n, need in enumerate(step.needs):
            parent = indexes.get(need.step)
            if parent is None:
                collector.has_gaps = True
                collector.say(f"/steps/{at[index]}/needs/{n}", _no_step(need.step, indexes))
            else:
                found.append(parent)
        edges.append(found)
    return edges


def _check_join(steps: Sequence[Step], at: Sequence[int], collector: Collector) -> None:
    for index, step in enumerate(steps):
        if step.join is not None and step.join > len(step.needs):
            count = f"{len(step.needs)} need{'s' if len(step.needs) != 1 else ''}"
            said = f"asks for {step.join} and the step has {count}; it could never start"
            collector.say(f"/steps/{at[index]}/join", said)


def _no_step(name: str, indexes: dict[str, int]) -> str:
    return f"there is no step {name}{likely(name, indexes)}"


def topological_order(needs: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The steps in an order in which each follows its needs, and every cycle, as its members."""
    open_ones = [len(parents) for parents in needs]
    children: list[list[int]] = [[] for _ in needs]
    for index, parents in enumerate(needs):
        for parent in parents:
            children[parent].append(index)
    order = [index for index, count in enumerate(open_ones) if not count]
    for index in order:  # grows while it is walked
        for child in children[index]:
            open_ones[child] -= 1
            if not open_ones[child]:
                order.append(child)
    if len(order) == len(needs):
        return order, []
    return order, _circles({index for index, count in enumerate(open_ones) if count}, needs)


def _circles(stuck: set[int], needs: Sequence[Sequence[int]]) -> list[list[int]]:
    """Whoever is stuck waits for somebody stuck: following that always ends in a circle."""
    circles = []
    walked: set[int] = set()
    for start in sorted(stuck):
        path: dict[int, None] = {}
        index = start
        while index not in walked and index not in path:
            path[index] = None
            index = next(parent for parent in needs[index] if parent in stuck)
        if index in path:
            way = list(path)
            circles.append(way[way.index(index) :])
        walked.update(path)
    return circles
