"""The steps of a trace as a definition has them: as a person would have written it."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

from windlass.sdk.workflow.block import Switch
from windlass.sdk.workflow.needs import Graph, Place
from windlass.sdk.workflow.render import expression
from windlass.sdk.workflow.trace import Trace


def steps_of(trace: Trace) -> list[dict[str, Any]]:
    """Raises CannotTrace where the code says what no definition can."""
    graph = Graph(trace)
    return [_step(graph.places[step.id]) for step in trace.steps]


def _step(place: Place) -> dict[str, Any]:
    step = place.step
    made: dict[str, Any] = {"id": step.id}
    if step.title is not None:
        made["title"] = step.title
    body = dict(step.body)
    made["kind"] = body.pop("kind")
    if place.needs:
        made["needs"] = [
            name if when == "succeeded" else {"step": name, "when": when}
            for name, when in place.needs.items()
        ]
    if place.join is not None:
        made["join"] = place.join
    if place.conditions:
        made["if"] = expression(reduce(and_, place.conditions))
    made |= body if step.switch is None else _ways(step.switch)
    if step.undo_body is not None:
        made["undo"] = step.undo_body
    return made


def _ways(switch: Switch) -> dict[str, Any]:
    cases = [
        {"if": expression(case.condition), "go": case.go}
        for case in switch.cases
        if case.condition is not None
    ]
    return {"cases": cases, "default": [] if switch.otherwise is None else switch.otherwise.go}
