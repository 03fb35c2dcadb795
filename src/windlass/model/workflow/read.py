"""Reading a definition (windlass/v1): every problem at once, each with its pointer and the fix.

    document -> steps one by one -> graph -> order -> what can run -> what expressions may name

The checks of the graph wait until its steps could be read, so that one mistake is told once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from windlass.errors import InvalidInput
from windlass.limits import (
    CONCURRENT_MAX,
    DEFINITION_BYTES_MAX,
    DEFINITION_PATTERNS_COST_MAX,
    STEPS_MAX,
)
from windlass.model.job.submission import read_name
from windlass.model.json import strict as strict_json
from windlass.model.json.canonical import canonical_json, hash_of
from windlass.model.json.pointer import step as pointer_to
from windlass.model.json.schema_check import patterns_cost, schema_mistakes
from windlass.model.json.whole import read_whole
from windlass.model.workflow import fields
from windlass.model.workflow.check_graph import check_order, check_reachable
from windlass.model.workflow.check_names import check_names
from windlass.model.workflow.collector import Collector, Enough
from windlass.model.workflow.definition import (
    POLICIES,
    SCHEMA,
    Concurrency,
    Definition,
    Problem,
)
from windlass.model.workflow.graph import Graph, graph_of
from windlass.model.workflow.known_kinds import KnownKinds
from windlass.model.workflow.read_step import read_step


def read_definition(document: Any, kinds: KnownKinds) -> Definition | list[Problem]:
    """The definition in `document`, or everything that is wrong with it."""
    collector = Collector(kinds=kinds)
    if not isinstance(document, dict):
        collector.say("", 'a definition is an object such as {"name": "greet", "steps": […]}')
        return collector.problems
    given = {name: value for name, value in document.items() if name != "layout"}
    try:
        strict_json.write(document)  # its depth, and characters that cannot be stored
    except ValueError as trouble:
        collector.say("", str(trouble))
        return collector.problems
    text = canonical_json(given)
    if len(text) > DEFINITION_BYTES_MAX:
        at_most = f"at most {DEFINITION_BYTES_MAX} are allowed"
        collector.say("", f"takes {len(text)} bytes as JSON; {at_most}")
        return collector.problems
    if patterns_cost(given) > DEFINITION_PATTERNS_COST_MAX:
        collector.say("", "its patterns are too much to be compiled together; count less in them")
        return collector.problems
    try:
        found = _read_fields(document, collector)
        graph = _read_graph(given.get("steps"), found, collector)
    except Enough:
        return collector.problems
    if collector.problems:
        return collector.problems
    return Definition(**found, steps=graph.steps, document=given, hash=hash_of(text))


def trust_definition(document: Any) -> Definition:
    """A definition that was checked when it was published: read again, without judging it.

    A kind that this node does not have may be another's. Raises InvalidInput where it cannot be
    read at all, which a document of this release never does.
    """
    collector = Collector(kinds=None)
    given = {name: value for name, value in document.items() if name != "layout"}
    found = _read_fields(document, collector)
    graph = _graph_in(given["steps"], collector)[0]
    if collector.problems:
        raise InvalidInput(*collector.problems)
    digest = hash_of(canonical_json(given))
    return Definition(**found, steps=graph.steps, document=given, hash=digest)


def _read_fields(document: dict[str, Any], collector: Collector) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in document.items():
        read = _FIELDS.get(name)
        if read is None:
            collector.say(pointer_to(name), fields.unknown(name, tuple(_FIELDS)))
        elif value is not None:
            read(collector, found, value)
    for name, why in _NEEDED.items():
        if document.get(name) is None:
            collector.say(f"/{name}", why)
    return found


def _read_graph(given: Any, found: dict[str, Any], collector: Collector) -> Graph:
    graph, at = _graph_in(given if _is_list_of_steps(given) else [], collector)
    order = check_order(graph, at, collector)
    if order is not None and not collector.has_gaps:
        check_reachable(graph, order, at, collector)
    check_names(graph, order, at, found, collector)
    return graph


def _graph_in(given: list[Any], collector: Collector) -> tuple[Graph, list[int]]:
    """The graph, and where in the document each of its steps stands."""
    read = [(index, read_step(step, index, collector)) for index, step in enumerate(given)]
    steps = [(index, step) for index, step in read if step is not None]
    at = [index for index, _ in steps]
    return graph_of([step for _, step in steps], at, collector), at


def _is_list_of_steps(given: Any) -> bool:
    return isinstance(given, list) and 1 <= len(given) <= STEPS_MAX


def _schema(collector: Collector, found: dict[str, Any], value: Any) -> None:
    if value != SCHEMA:
        collector.say("/schema", f"must be {SCHEMA}, or be left out")


def _name(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["name"] = collector.take("/name", read_name, value)
    if found["name"] in RESERVED:
        collector.say("/name", f"{value} has a meaning of its own in the API; choose another")


def _description(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["description"] = collector.take("/description", fields.read_description, value)


def _inputs(collector: Collector, found: dict[str, Any], value: Any) -> None:
    mistakes = schema_mistakes(value) if collector.kinds is not None else []
    for pointer, detail in mistakes:
        collector.say(f"/inputs{pointer}", detail)
    if mistakes or not isinstance(value, dict):
        return
    kinds = value.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        collector.say("/inputs/type", "must be object: an input is an object")
    found["inputs"] = value


def _vars(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["vars"] = collector.take("/vars", fields.read_object, value)


def _queue(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["queue"] = collector.take("/queue", read_name, value)


def _priority(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["priority"] = collector.take("/priority", fields.read_priority, value)


def _timeout(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["timeout_seconds"] = collector.take("/timeout", fields.read_patience, value)


def _concurrency(collector: Collector, found: dict[str, Any], value: Any) -> None:
    if not isinstance(value, dict):
        collector.say("/concurrency", 'must be an object such as {"key": "${inputs.customer}"}')
        return
    for name in value:
        if name not in ("key", "limit", "policy"):
            detail = fields.unknown(name, ("key", "limit", "policy"))
            collector.say(f"/concurrency{pointer_to(name)}", detail)
    key, policy = value.get("key"), value.get("policy", "queue")
    if not isinstance(key, str) or not key:
        collector.say("/concurrency/key", 'needs a text, such as "${inputs.customer}"')
        return
    collector.collect("/concurrency/key", key, sees_steps=False)
    limit = collector.take(
        "/concurrency/limit",
        lambda given: read_whole(given, CONCURRENT_MAX),
        value.get("limit", 1),
    )
    if policy not in POLICIES:
        collector.say("/concurrency/policy", f"must be one of: {' '.join(POLICIES)}")
    found["concurrency"] = Concurrency(key=key, limit=limit or 1, policy=policy)


def _steps(collector: Collector, found: dict[str, Any], value: Any) -> None:
    if not _is_list_of_steps(value):
        count = f"holds {len(value)}; it " if isinstance(value, list) else ""
        collector.say("/steps", f"{count}must be a list of 1 to {STEPS_MAX} steps")


def _output(collector: Collector, found: dict[str, Any], value: Any) -> None:
    collector.collect("/output", value)
    found["output"] = value


def _layout(collector: Collector, found: dict[str, Any], value: Any) -> None:
    found["layout"] = collector.take("/layout", fields.read_object, value)


_FIELDS: Final[dict[str, Callable[[Collector, dict[str, Any], Any], None]]] = {
    "schema": _schema,
    "name": _name,
    "description": _description,
    "inputs": _inputs,
    "vars": _vars,
    "queue": _queue,
    "priority": _priority,
    "timeout": _timeout,
    "concurrency": _concurrency,
    "steps": _steps,
    "output": _output,
    "layout": _layout,
}
# What stands beside the names of workflows in a path.
RESERVED: Final = frozenset(("validate",))
_NEEDED: Final = {
    "name": "a workflow has a name",
    "steps": "a workflow has steps: at least one",
}
