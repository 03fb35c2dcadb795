"""A route is a row: what is called, what it takes, what it answers.

The server's handler and the OpenAPI operation are both made from it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

from litestar import Request
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, HTTPScope, Receive, Send

from windlass.api.http.caller import caller_of
from windlass.api.http.paging import PageReply
from windlass.api.http.problem import problem_reply
from windlass.api.http.query import Param, read_query
from windlass.api.http.reply import HeadReply

Schema = dict[str, Any]


class Call:
    """One request, as its route sees it."""

    __slots__ = ("receive", "scope", "send")

    def __init__(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send

    @property
    def path_params(self) -> dict[str, Any]:
        return self.scope["path_params"]


Handle = Callable[[Call, dict[str, Any]], Awaitable[ASGIApp]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One documented answer."""

    description: str
    schema: Schema | None = None  # None: no body
    media_type: str = "application/json"
    others: Mapping[str, Schema] = field(default_factory=dict)  # if asked for: media type -> schema
    headers: Mapping[str, str] = field(default_factory=dict)  # name -> what it says


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str  # /v1/jobs/{job_id:str}
    handle: Handle
    summary: str
    tag: str
    answers: Mapping[int, Answer]
    query: Sequence[Param] = ()
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, Schema]] = field(default_factory=dict)  # optional ones
    body: Schema | None = None  # None: takes no body
    is_body_optional: bool = False  # True: none at all is as good as an empty object
    problems: Sequence[int] = ()  # beside those that any route may answer
    is_hot: bool = False  # True: the door calls it without the router; its path is fixed
    takes_token: bool = False  # True: the caller shows a token of its own instead of a key
    matters_twice: bool = False  # True: performed again, it would begin its work again
    is_public: bool = False  # True: what it shows is the same for everybody, and no secret
    description: str = ""
    operation: str = ""  # its name in the document; made of the path unless two were the same

    @property
    def is_open(self) -> bool:
        """May it be called without a key?"""
        return self.takes_token or self.is_public or self.path.startswith("/health")


async def answer(route: Route, request: Call) -> ASGIApp:
    """What the route says, or the problem it met: every error has an answer."""
    try:
        reply = await route.handle(request, read_query(request.scope, route.query))
    except Exception as trouble:
        return problem_reply(trouble, caller_of(request.scope).request_id)
    if isinstance(reply, PageReply) and reply.next_cursor is not None:
        reply.headers.append((b"link", _next_page(request.scope, reply.next_cursor)))
    return reply


def _next_page(scope: HTTPScope, cursor: str) -> bytes:
    """Where the next page is, as a Link (RFC 8288)."""
    asked = parse_qsl(scope["query_string"].decode("ascii"), keep_blank_values=True)
    kept = [(name, text) for name, text in asked if name != "cursor"]
    query = urlencode([*kept, ("cursor", cursor)])
    return f'<{quote(scope["path"])}?{query}>; rel="next"'.encode("ascii")


def handler_of(routes: Sequence[Route]) -> HTTPRouteHandler:
    """The handler Litestar serves for the routes of one path.

    One for all methods, so that the router knows what the path allows; HEAD wherever GET is.
    """
    by_method = {str(route.method): route for route in routes}

    async def serve(request: Request[Any, Any, Any]) -> ASGIApp:
        call, method = Call(request.scope, request.receive, request.send), request.scope["method"]
        if method == "HEAD":
            return HeadReply(await answer(by_method["GET"], call))
        return await answer(by_method[method], call)

    methods: list[Any] = [*by_method, *(["HEAD"] if "GET" in by_method else [])]
    return HTTPRouteHandler(
        routes[0].path,
        http_method=methods,
        status_code=200,  # a formality: the reply has its own
        include_in_schema=False,  # see openapi.py
        name=routes[0].path,
    )(serve)
