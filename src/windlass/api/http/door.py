"""The door: ASGI middleware that every request passes before it is routed: request id, API key.

Owns: the request's id, which every answer carries, and the question who calls. Open are `/health*`,
the description of the API (a browser cannot send a key) and routes that ask for a token of their
own; everything else needs a key unless the owner switched that off. Code of this very process has
no key and needs none: its name is in the scope.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from windlass.api.http.auth import Keys
from windlass.api.http.body_budget import BodyBudget
from windlass.api.http.caller import INSIDE, enter
from windlass.api.http.problem import problem_reply
from windlass.api.http.reply import Reply
from windlass.api.http.route import Call, Route, answer
from windlass.api.http.spool import give_back
from windlass.limits import BODY_BYTES_MAX, LARGE_BODIES_BYTES_MAX

_OPEN: Final = "/health"
_PARAMETER: Final = re.compile(r"\{\w+:\w+\}")


class Door:
    def __init__(self, app: ASGIApp, keys: Keys | None, routes: Sequence[Route]) -> None:
        self._app = app
        self._keys = keys  # None: everybody may come in
        self._room = BodyBudget(LARGE_BODIES_BYTES_MAX)
        # For those who need no key: whoever they are, they keep none out that has one.
        self._room_for_strangers = BodyBudget(BODY_BYTES_MAX)
        # The busiest routes are known here: finding them again would cost a tenth of their time.
        self._hot = {(str(r.method), r.path): r for r in routes if r.is_hot}
        assert not any(route.is_open for route in self._hot.values()), "it is asked for no key"
        self._open_routes = [
            (str(r.method), re.compile(_PARAMETER.sub("[^/]+", r.path)))
            for r in routes
            if r.is_open and not r.path.startswith(_OPEN)
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        caller = enter(scope)
        mark = (b"x-request-id", caller.request_id.encode())

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Another message: this one may be what every answer of a route begins with.
                message = {**message, "headers": [*message["headers"], mark]}
            await send(message)

        hot = self._hot.get((scope["method"], scope["path"]))
        caller.room = self._room
        inside: str | None = scope.get(INSIDE)  # type: ignore[assignment]
        if inside is not None:
            caller.owner = inside
        elif self._keys is None:
            pass
        elif hot is None and self._is_open(scope["method"], scope["path"]):
            caller.room = self._room_for_strangers
        else:
            try:
                caller.owner = await self._keys.owner(caller.headers.get(b"authorization"))
            except Exception as trouble:  # whatever it is, the caller hears of it in our form
                await problem_reply(trouble, caller.request_id)(scope, receive, send_marked)
                return
        try:
            if hot is None:
                await self._app(scope, receive, send_marked)
            else:
                reply = await answer(hot, Call(scope, receive, send))
                assert isinstance(reply, Reply), "made for this request, and prepared"
                reply.headers.append(mark)
                await reply(scope, receive, send)
        finally:
            if caller.give_room() > BODY_BYTES_MAX:
                asyncio.get_running_loop().run_in_executor(None, give_back)

    def _is_open(self, method: str, path: str) -> bool:
        if path == _OPEN or path.startswith(_OPEN + "/"):
            return True
        method = "GET" if method == "HEAD" else method
        return any(method == m and route.fullmatch(path) for m, route in self._open_routes)
