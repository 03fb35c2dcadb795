"""A definition in a request: JSON, or YAML with `Content-Type: application/yaml`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from windlass.api.http import body as bodies
from windlass.api.http.caller import Caller, caller_of
from windlass.api.http.idempotency import idempotency_of
from windlass.api.http.problem import NotAcceptable
from windlass.api.http.route import Call
from windlass.api.parts import ApiParts
from windlass.engine.jobs.request import Idempotency
from windlass.errors import InvalidInput, MalformedBody
from windlass.limits import DEFINITION_HERE_BYTES_MAX
from windlass.model.identity.principal import Confined, Principal
from windlass.model.json import yaml as strict_yaml
from windlass.model.json.schema_check import has_patterns
from windlass.model.workflow.collector import is_open
from windlass.model.workflow.definition import Definition, Problem
from windlass.model.workflow.known_kinds import KnownKinds, TaskShape
from windlass.model.workflow.plan import plan_of
from windlass.model.workflow.read import read_definition
from windlass.model.workflow.step_kinds import KINDS

_YAML: Final = frozenset(("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SentDefinition:
    """A document as it came."""

    document: Any
    size: int
    idempotency: Idempotency | None


async def read_sent_definition(request: Call) -> SentDefinition:
    """Raises what the caller did wrong: type, size, syntax."""
    caller = caller_of(request.scope)
    is_yaml = _is_yaml(caller)
    body = await bodies.read_bytes(request)
    if not body:
        raise MalformedBody.at("", "the body is empty; send a definition")
    idempotency = None
    if request.scope["method"] == "POST":
        idempotency = idempotency_of(caller, "POST", request.scope["path"], body)
    if not is_yaml:
        document = await bodies.parse(body)
    elif len(body) > DEFINITION_HERE_BYTES_MAX:
        document = await asyncio.to_thread(strict_yaml.parse, body)
    else:
        document = strict_yaml.parse(body)
    return SentDefinition(document=document, size=len(body), idempotency=idempotency)


async def check(parts: ApiParts, document: Any, size: int) -> Definition | list[Problem]:
    """The definition, or everything that is wrong with it."""
    kinds = known_kinds(parts)
    if size > DEFINITION_HERE_BYTES_MAX or has_patterns(document):
        return await asyncio.to_thread(read_definition, document, kinds)
    return read_definition(document, kinds)


async def require_valid(parts: ApiParts, caller: Caller, document: Any, size: int) -> Definition:
    """The definition. Raises InvalidInput with every problem; Confined for one that reaches further
    than the key that brings it.
    """
    found = await check(parts, document, size)
    if isinstance(found, list):
        raise InvalidInput(*found)
    if caller.known.is_confined:
        _check_reach(caller.known, found)
    return found


def _check_reach(principal: Principal, definition: Definition) -> None:
    """Its jobs go to queues of the caller's, and the workflows that it starts are his too."""
    for queue in plan_of(definition).queues:
        principal.check_queue(queue)
    for step in definition.steps:
        for work in (step, step.each, step.undo):
            if work is not None and KINDS[work.kind].awaits == "child":
                name = work.input.get("workflow")
                if not isinstance(name, str) or is_open(name):
                    raise Confined("workflow", None, principal.workflows or ())
                principal.check_workflow(name)


def known_kinds(parts: ApiParts) -> KnownKinds:
    described = parts.strategies()
    tasks = [task for strategy in described for task in strategy.tasks or ()]
    return KnownKinds(
        checks=parts.kinds,
        schemas={
            strategy.kind: strategy.input_schema
            for strategy in described
            if strategy.input_schema is not None
        },
        tasks={
            task["task"]: TaskShape(
                names=tuple(task["positional"]),
                schema=task["parameters"],
                has_rest=task["takes_more"],
            )
            for task in tasks
            if task.get("parameters") is not None
        },
    )


def _is_yaml(caller: Caller) -> bool:
    given = caller.headers.get(b"content-type", b"application/json").decode("latin-1")
    if given.partition(";")[0].strip().lower() in _YAML:
        return True
    try:
        bodies.check_type(caller)
    except NotAcceptable:
        raise NotAcceptable(
            "send a definition as Content-Type: application/json or application/yaml in UTF-8"
        ) from None
    return False
