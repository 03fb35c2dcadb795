"""A route is a row: what is called, what it takes, what it answers.

The router's table and the OpenAPI operation are both made from it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, quote, urlencode

from starlette.types import ASGIApp, Receive, Scope, Send

from windlass.api.http.caller import caller_of
from windlass.api.http.paging import PageReply
from windlass.api.http.problem import problem_reply
from windlass.api.http.query import Param, read_query
from windlass.model.identity.rights import ANYBODY, NOBODY, RIGHTS

Schema = dict[str, Any]
# A part of a route's path that may be anything, and what it is called.
PARAMETER: Final = re.compile(r"\{(\w+):str\}")


class Call:
    """One request, as its route sees it."""

    __slots__ = ("receive", "scope", "send")

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send

    @property
    def path_params(self) -> dict[str, Any]:
        values: dict[str, Any] = self.scope["path_params"]
        return values


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
    needs: str  # a right (model.identity.rights), or NOBODY or ANYBODY
    summary: str
    tag: str
    answers: Mapping[int, Answer]
    query: Sequence[Param] = ()
    takes_any_query: bool = False  # True: somebody else writes it, and what is not known is let be
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, tuple[str, Schema]] = field(default_factory=dict)  # optional ones
    body: Schema | None = None  # None: takes no body
    is_body_optional: bool = False  # True: none at all is as good as an empty object
    problems: Sequence[int] = ()  # beside those that any route may answer
    takes_token: bool = False  # True: the caller shows a token of its own instead of a key
    matters_twice: bool = False  # True: performed again, it would begin its work again
    shows_secret: bool = False  # True: its answer is shown once, and kept nowhere
    # What of it has a queue or a workflow, which a confined key must have; `asked`: its handler
    # looks for itself. None: not for confined keys.
    confined_by: Literal["queue", "workflow", "job", "execution", "asked"] | None = None
    description: str = ""
    operation: str = ""  # its name in the document; made of the path unless two were the same

    def __post_init__(self) -> None:
        assert self.needs in (NOBODY, ANYBODY) or self.needs in RIGHTS, f"{self.needs} is no right"

    @property
    def is_open(self) -> bool:
        """May it be called without a key?"""
        return self.needs == NOBODY


async def answer(route: Route, request: Call) -> ASGIApp:
    """What the route says, or the problem it met: every error has an answer."""
    try:
        query = read_query(request.scope, route.query, takes_any=route.takes_any_query)
        reply = await route.handle(request, query)
    except Exception as trouble:
        return problem_reply(trouble, caller_of(request.scope).request_id)
    if isinstance(reply, PageReply) and reply.next_cursor is not None:
        reply.headers.append((b"link", _next_page(request.scope, reply.next_cursor)))
    return reply


def _next_page(scope: Scope, cursor: str) -> bytes:
    """Where the next page is, as a Link (RFC 8288)."""
    asked = parse_qsl(scope["query_string"].decode("ascii"), keep_blank_values=True)
    kept = [(name, text) for name, text in asked if name != "cursor"]
    query = urlencode([*kept, ("cursor", cursor)])
    return f'<{quote(scope["path"])}?{query}>; rel="next"'.encode("ascii")
