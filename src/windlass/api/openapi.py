"""The OpenAPI 3.1 document, made from the table of routes and the JSON Schemas of every noun.

What goes out is taken from the structures that are sent (`view.py`); what comes in is checked by
model/job/submission.py and described in the same words. tests/api compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from http import HTTPStatus
from typing import Any, Final

from windlass import __version__
from windlass.api import audit, id_matches, queues, secrets, targets
from windlass.api.cluster import cache, health, nodes, operation_view, refresh, signals, system
from windlass.api.executions import schema as executions
from windlass.api.http import shapes
from windlass.api.http.auth import COOKIE, CSRF_HEADER
from windlass.api.http.field_texts import OPERATIONS, TAGS, describe, describe_inline
from windlass.api.http.route import PARAMETER, Answer, Route
from windlass.api.http.shapes import Named, ref
from windlass.api.identity import schema as identity
from windlass.api.jobs import bulk, tasks
from windlass.api.jobs import schema as jobs
from windlass.api.locks import view as locks
from windlass.api.schedules import schema as schedules
from windlass.api.workflows import view as workflows
from windlass.model.identity.rights import ANYBODY, ROLES, roles_with

_IN_PATH: Final = {
    "approval_id": "The approval",
    "code": "The code of the problem",
    "execution_id": "The execution",
    "host": "The target, with its port unless that is 443",
    "job_id": "The job",
    "key_id": "The key",
    "name": "Its name",
    "node_id": "The node",
    "operation_id": "The operation",
    "schedule": "The schedule, by its name or its id",
    "session_id": "The session",
    "text": "The first digits of an id, with or without its prefix, or the name of a node",
    "user": "The user, by name or id",
    "version": "The number of the version",
}
_REQUEST_ID: Final = {
    "description": "The request's id: the caller's X-Request-ID, or a new one",
    "schema": {"type": "string"},
}


def document(routes: Sequence[Route], kinds: Collection[str]) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_path(route), {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": __version__,
            "description": "Runs work that must not be lost.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "Where this document came from"}],
        "tags": [{"name": name, "description": TAGS[name]} for name in _tags(routes)],
        "security": [{"key": []}, {"session": [], "csrf": []}],
        "paths": paths,
        "components": {
            "schemas": components(kinds),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "`wlk_…`"},
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": COOKIE,
                    "description": "Of a browser that has logged in by `POST /v1/session`",
                },
                "csrf": {
                    "type": "apiKey",
                    "in": "header",
                    "name": CSRF_HEADER,
                    "description": "`csrf_token` of `GET /v1/session`; for what changes something",
                },
            },
        },
    }


def _path(route: Route) -> str:
    return PARAMETER.sub(r"{\1}", route.path)


def _tags(routes: Sequence[Route]) -> list[str]:
    """Those in use, in the order of their words."""
    used = {route.tag for route in routes}
    return [*(name for name in TAGS if name in used), *sorted(used - TAGS.keys())]


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _name(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": {str(code): _response(route.answers[code]) for code in sorted(route.answers)},
    }
    operation["description"] = route.description or OPERATIONS[f"{route.method} {_path(route)}"]
    operation["x-needs"] = route.needs
    if route.is_open:
        operation["security"] = []
    else:
        operation["x-roles"] = list(ROLES) if route.needs == ANYBODY else roles_with(route.needs)
        operation["x-confined-by"] = route.confined_by
    if parameters := _parameters(route):
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.is_body_optional,
            "content": {"application/json": {"schema": describe_inline(route.body)}},
        }
    for code in sorted(_problems(route)):
        operation["responses"].setdefault(str(code), _problem(code))
    return operation


def _name(route: Route) -> str:
    if route.operation:
        return route.operation
    words = re.findall(r"[A-Za-z]+", PARAMETER.sub("", route.path.removeprefix("/v1")))
    return "_".join([route.method.lower(), *words, *(["one"] if route.path.endswith("}") else [])])


def _problems(route: Route) -> set[int]:
    # Any request may carry an unknown parameter; any part we need may be away.
    ordinary = {422} if route.is_open else {401, 422, 429, 503}
    if not route.is_open and (route.needs != ANYBODY or route.method != "GET"):
        ordinary.add(403)  # it lacks the right, or comes from a page of somebody else
    return {*ordinary, *route.problems}


def _parameters(route: Route) -> list[dict[str, Any]]:
    in_path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _IN_PATH[name],
            "schema": schema,
        }
        for name, schema in route.path_schemas.items()
    ]
    in_query = [
        {
            "name": param.name,
            "in": "query",
            "description": param.description,
            "required": param.is_required,
            "schema": param.schema,
            **({"style": "form", "explode": True} if param.is_list else {}),
        }
        for param in route.query
    ]
    in_head = [
        {"name": name, "in": "header", "description": text, "schema": schema}
        for name, (text, schema) in route.headers.items()
    ]
    return [*in_path, *in_query, *in_head]


def _response(answer: Answer) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": answer.description,
        "headers": {
            "X-Request-ID": _REQUEST_ID,
            **{
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in answer.headers.items()
            },
        },
    }
    if answer.schema is not None:
        by_type = {answer.media_type: answer.schema, **answer.others}
        response["content"] = {
            name: {"schema": describe_inline(schema)} for name, schema in by_type.items()
        }
    return response


# Of callers who have a quota of requests, with every answer.
_RATE_LIMIT: Final[dict[str, Any]] = {
    "RateLimit-Policy": {
        "description": "Your quotas of requests, if you have any: `q` of them in `w` seconds",
        "schema": {"type": "string"},
    },
    "RateLimit": {
        "description": "What is left of each: `r` requests; after `t` seconds all of it is back",
        "schema": {"type": "string"},
    },
}


def _problem(code: int) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-ID": _REQUEST_ID}
    if code in (429, 503):
        headers["Retry-After"] = {
            "description": "Seconds after which to try again",
            "schema": {"type": "integer"},
        }
    if code == 429:
        headers |= _RATE_LIMIT
    if code == 412:
        headers["ETag"] = {
            "description": "What it has now; absent when there is no such thing",
            "schema": {"type": "string"},
        }
    return {
        "description": HTTPStatus(code).phrase,
        "headers": headers,
        "content": {"application/problem+json": {"schema": ref("Problem")}},
    }


_NOUNS: Final = (
    *(shapes, jobs, bulk, tasks, queues, targets, locks, secrets, executions, schedules),
    *(id_matches, audit, identity, nodes, system, refresh, cache, signals, operation_view, health),
)


def components(kinds: Collection[str]) -> Named:
    """Each with words. `kinds`: of jobs, for which there are some as well."""
    named = {**jobs.schemas(kinds), **workflows.schemas(kinds)}
    for noun in _NOUNS:
        named |= noun.SCHEMAS
    return describe(named)
