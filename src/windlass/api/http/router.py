"""The router: finds the route of a request in a table of path segments, and answers with it.

    /v1/jobs/batch              a path without parameters: one look-up
    /v1/jobs/{job_id:str}/why   any other: segment by segment, a word before a parameter

Owns: which row a request meets, and what is said where there is none: 404, 405 with Allow. A route
is performed for callers that have the right it needs, and for nobody else (authorize).
Promises: finding one takes as long among a thousand routes as among ten (ADR 0038 has the figures).
HEAD is answered wherever GET is, OPTIONS wherever anything is. Slashes at the end, or two in a row,
do not matter: a route sees its path without them.
Never: goes back. Where a word fits, no parameter is tried instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from starlette.types import Receive, Scope, Send

from windlass.api.http.authorize import Confinement, authorize
from windlass.api.http.caller import caller_of
from windlass.api.http.problem import BadRequest, MethodNotAllowed, NothingThere
from windlass.api.http.reply import HeadReply, Reply, empty_reply
from windlass.api.http.route import PARAMETER, Call, Route, answer

# What a host may be made of (RFC 3986), and a port.
_HOST: Final = re.compile(rb"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")


class RoutesOfPath:
    """The routes of one path, by method."""

    __slots__ = ("allow", "by_method", "parameters", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.parameters: list[str] = PARAMETER.findall(path)
        self.by_method: dict[str, Route] = {}
        self.allow = ""  # every method that is answered

    def add(self, route: Route) -> None:
        assert route.path == self.path, f"{route.path} and {self.path} name one parameter twice"
        assert route.method not in self.by_method, f"{route.method} {route.path} stands twice"
        self.by_method[route.method] = route
        implied = {"HEAD", "OPTIONS"} if "GET" in self.by_method else {"OPTIONS"}
        self.allow = ", ".join(sorted(implied.union(self.by_method)))


class Found(NamedTuple):
    routes: RoutesOfPath
    path: str  # as it was asked for, without slashes that do not matter
    values: dict[str, str]  # of the path's parameters


class RouteTable:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, RoutesOfPath] = {}
        self._first = _Segment()
        for route in routes:
            self._routes_of(route.path).add(route)

    def find(self, path: str) -> Found | None:
        """None: there is nothing at this path."""
        if (fixed := self._fixed.get(path)) is not None:
            return Found(fixed, path, {})
        texts = [text for text in path.split("/") if text]
        path = "/" + "/".join(texts)
        if (fixed := self._fixed.get(path)) is not None:
            return Found(fixed, path, {})
        segment, values = self._first, []
        for text in texts:
            following = segment.words.get(text)
            if following is None:
                following = segment.parameter
                values.append(text)
                if following is None:
                    return None
            segment = following
        routes = segment.routes
        if routes is None:
            return None
        return Found(routes, path, dict(zip(routes.parameters, values, strict=True)))

    def _routes_of(self, path: str) -> RoutesOfPath:
        """Where the routes of this path are, made if need be."""
        assert "{" not in PARAMETER.sub("", path), f"{path}: a parameter is written {{name:str}}"
        if not PARAMETER.search(path):
            return self._fixed.setdefault(path, RoutesOfPath(path))
        segment = self._first
        for text in path.removeprefix("/").split("/"):
            if not PARAMETER.fullmatch(text):
                segment = segment.words.setdefault(text, _Segment())
            else:
                segment.parameter = segment.parameter or _Segment()
                segment = segment.parameter
        segment.routes = segment.routes or RoutesOfPath(path)
        return segment.routes


class _Segment:
    """A part of a path between slashes, and what may follow it."""

    __slots__ = ("parameter", "routes", "words")

    def __init__(self) -> None:
        self.words: dict[str, _Segment] = {}
        self.parameter: _Segment | None = None  # None: only words follow
        self.routes: RoutesOfPath | None = None  # None: no path ends here


class Router:
    """An ASGI application that serves the routes."""

    def __init__(self, routes: Iterable[Route], confinement: Confinement) -> None:
        self._table = RouteTable(routes)
        self._confinement = confinement

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what is wrong with a request that meets no route; a route answers its errors."""
        host = caller_of(scope).headers.get(b"host")
        if host is not None and not _HOST.fullmatch(host):
            raise BadRequest("Invalid host header")
        found = self._table.find(scope["path"])
        if found is None:
            raise NothingThere(scope["path"])
        route = found.routes.by_method.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if route is None:
            await _without_route(scope["method"], found.routes.allow)(scope, receive, send)
            return
        scope["path"], scope["path_params"] = found.path, found.values
        call = Call(scope, receive, send)
        await authorize(route, call, self._confinement)
        reply = await answer(route, call)
        if scope["method"] == "HEAD":
            reply = HeadReply(reply)
        await reply(scope, receive, send)


def _without_route(method: str, allow: str) -> Reply:
    """The answer of a path that is there, to a method that no route of it has."""
    if method != "OPTIONS":
        raise MethodNotAllowed(method, allow)
    return empty_reply((b"allow", allow.encode()))
