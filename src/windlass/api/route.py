"""A route is a row: what is called, what it takes, what it answers.

The server's handler and the OpenAPI operation are both made from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from windlass.api.caller import caller_of
from windlass.api.problem import problem_reply
from windlass.api.query import Param, read_query

Call = Request[Any, Any, Any]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One documented answer."""

    description: str
    schema: Schema | None = None  # None: no body
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)  # name -> what it says


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str  # /v1/jobs/{job_id:str}
    handle: Callable[[Call, dict[str, Any]], Awaitable[ASGIApp]]
    summary: str
    tag: str
    answers: Mapping[int, Answer]
    query: Sequence[Param] = ()
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # optional request headers
    body: Schema | None = None  # None: takes no body
    problems: Sequence[int] = ()  # beside those that any route may answer
    description: str = ""

    @property
    def is_open(self) -> bool:
        return self.path.startswith("/health")


def handler_of(route: Route) -> HTTPRouteHandler:
    """The handler Litestar serves: errors become problem documents here, at the least cost."""

    async def serve(request: Call) -> ASGIApp:
        try:
            return await route.handle(request, read_query(request.scope, route.query))
        except Exception as trouble:  # every error has an answer
            return problem_reply(trouble, caller_of(request.scope).request_id)

    return HTTPRouteHandler(
        route.path,
        http_method=route.method,
        status_code=200,  # a formality: the reply has its own
        include_in_schema=False,  # see openapi.py
        name=f"{route.method} {route.path}",
    )(serve)
