"""What expressions may name: inputs that are declared, vars that are there, steps that come before.

Whether a step comes before another is asked of a bit for every step: ten thousand of them are a
number of a kilobyte, and joining two is one operation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from windlass.model.expression import Expression, compile_expression
from windlass.model.expression.template import compile_template
from windlass.model.workflow.collector import Collector, Use
from windlass.model.workflow.fields import likely
from windlass.model.workflow.graph import Graph

_ITEM: Final = ("item", "index")
_OF_EXECUTION: Final = ("id", "workflow", "version", "created_at")
_OF_STEP: Final = ("output", "state", "error")
_SHOWN_MAX: Final = 20

Path = tuple[str | int, ...]


def check_names(
    graph: Graph,
    order: Sequence[int] | None,
    at: Sequence[int],
    found: Mapping[str, Any],
    collector: Collector,
) -> None:
    """`found` are the fields around the steps. Without an order, what comes before is not asked."""
    names = _Names(graph, order, at, found)
    for use in collector.uses:
        noted: dict[tuple[str, str], None] = {}  # each once, in order
        for pointer, expression in _compiled(use, collector):
            for path in sorted(expression.paths, key=str):
                # A name that is not asked for is a type, such as `int`.
                said = names.trouble(path, use) if path[0] in expression.names else None
                if said is not None:
                    noted[use.pointer + pointer, said] = None
        for pointer, said in noted:
            collector.say(pointer, said)


def _compiled(use: Use, collector: Collector) -> Iterable[tuple[str, Expression]]:
    """The expressions with their pointers below the use; notes those that are none."""
    if use.is_template:
        template = compile_template(use.value)
        for pointer, detail in template.problems:
            collector.say(use.pointer + pointer, detail)
        return template.expressions
    try:
        return [("", compile_expression(use.value))]
    except ValueError as trouble:
        collector.say(use.pointer, str(trouble))
        return []


class _Names:
    """Who is there to be named, and what to say of who is not."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[int] | None,
        at: Sequence[int],
        found: Mapping[str, Any],
    ) -> None:
        self.graph = graph
        self.before = None if order is None else _before(graph, order)
        self.index_of = {given: index for index, given in enumerate(at)}
        self.vars = found.get("vars") or {}
        self.inputs = _declared(found.get("inputs"))

    def trouble(self, path: Path, use: Use) -> str | None:
        root, *keys = path
        match root:
            case "steps" if use.sees_steps:
                return self._step_trouble(keys, use)
            case "inputs":
                return _missing("inputs", keys, self.inputs)
            case "vars":
                return _missing("vars", keys, self.vars)
            case "execution" if use.sees_steps:
                return _missing("execution", keys, _OF_EXECUTION)
            case "item" | "index" if use.sees_item:
                return None
            case "item" | "index":
                return f"{root} is there only in the step of a map"
            case "steps" | "execution":
                return f"{root} is not there yet: this is asked before the execution begins"
            case _:
                return _strange(root, use)

    def _step_trouble(self, keys: Sequence[str | int], use: Use) -> str | None:
        if not keys:
            return "must name the step that it asks: steps.charge.output"
        name = str(keys[0])
        index = self.graph.indexes.get(name)
        if index is None:
            return f"there is no step {name}{likely(name, self.graph.indexes)}"
        if len(keys) > 1 and keys[1] not in _OF_STEP:
            return f"steps.{name} has no {keys[1]}; it has {' '.join(_OF_STEP)}"
        mine = self.index_of.get(use.step) if use.step is not None else None
        if mine is None or self.before is None:
            return None
        if index == mine:
            if use.sees_itself:
                return None
            return f"steps.{name} is this step itself, which has not ended yet"
        if not self.before[mine] >> index & 1:
            own = self.graph.steps[mine].id
            return f"{name} need not have ended before {own} begins; add it to the needs of {own}"
        return None


def _strange(root: str | int, use: Use) -> str:
    here = ["inputs", "vars", *(("execution", "steps") if use.sees_steps else ())]
    here += _ITEM if use.sees_item else ()
    return f"there is no {root}; there are: {' '.join(here)}"


def _before(graph: Graph, order: Sequence[int]) -> list[int]:
    """For each step the steps that come before it, a bit each."""
    before = [0] * len(graph.steps)
    for index in order:
        reached = 0
        for parent in graph.needs[index]:
            reached |= before[parent] | 1 << parent
        before[index] = reached
    return before


def _declared(schema: Mapping[str, Any] | None) -> Collection[str] | None:
    """The names that an input may have; None: any."""
    if schema is None or schema.get("additionalProperties") is not False:
        return None
    if schema.keys() & {"$ref", "allOf", "anyOf", "oneOf"}:
        return None
    declared: Collection[str] = schema.get("properties", {})
    return declared


def _missing(root: str, keys: Sequence[str | int], known: Collection[str] | None) -> str | None:
    if known is None or not keys or keys[0] in known:
        return None
    there = " ".join(list(known)[:_SHOWN_MAX]) or "none"
    return f"there is no {root}.{keys[0]}{likely(str(keys[0]), known)}; there are: {there}"
