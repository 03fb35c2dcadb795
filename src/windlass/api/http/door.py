"""The door: ASGI middleware that every request passes before it is routed: request id, who calls,
how often.

    peer -> its address, or whom a trusted proxy names (proxies) -> key or session (auth) -> router

Owns: the request's id, which every answer carries, and the question who calls. Open are `/health*`,
the description of the API (a browser cannot send a key) and routes that ask for a token of their
own; everything else needs a key or a session unless the owner switched that off; then whoever calls
must be here, and no page of a stranger. Code of this very process has no key and needs none: its
name is in the scope. What a caller may do is the router's question. Who has a quota of requests is
told what is left of it with every answer, as RateLimit and RateLimit-Policy
(draft-ietf-httpapi-ratelimit-headers); health, metrics and what is open are not counted.
Promises: whatever goes wrong behind it before an answer has begun is told as a problem document.
Every answer says so if authentication is off, and to browsers that came by TLS that they shall not
come otherwise.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final
from uuid import UUID

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from windlass.api.http.auth import Authenticator, check_is_here, origin_of
from windlass.api.http.body_budget import BodyBudget
from windlass.api.http.caller import INSIDE, Caller, enter
from windlass.api.http.problem import problem_reply
from windlass.api.http.proxies import TrustedProxies, is_https
from windlass.api.http.reply import Header
from windlass.api.http.route import PARAMETER, Route
from windlass.api.http.security_headers import AUTH_OFF, HSTS
from windlass.api.http.spool import give_back
from windlass.engine.identity.request_limits import RequestLimits, RequestsLeft
from windlass.errors import RateLimited
from windlass.limits import BODY_BYTES_MAX, LARGE_BODIES_BYTES_MAX
from windlass.model.identity.actor import Actor, begin_acting, caller_as_actor, end_acting
from windlass.model.identity.principal import ANONYMOUS, program
from windlass.model.identity.quota import SubjectQuota

_OPEN: Final = "/health"
_UNCOUNTED: Final = "/metrics"


class Door:
    def __init__(
        self,
        app: ASGIApp,
        authenticator: Authenticator | None,
        routes: Sequence[Route],
        *,
        limits: RequestLimits | None = None,  # None: nobody is counted
        on_limited: Callable[[str], None] | None = None,  # hears of each refusal: user or key
        proxies: TrustedProxies | None = None,  # None: nobody's word about a caller is taken
        public_url: str | None = None,  # where browsers reach us; None: wherever Host says
        node_id: Callable[[], UUID | None] = lambda: None,  # None: no node serves it
    ) -> None:
        self._app = app
        self._node_id = node_id
        self._limits, self._on_limited = limits, on_limited
        self._authenticator = authenticator  # None: everybody may come in
        self._proxies = proxies or TrustedProxies()
        self._own_origin = None if public_url is None else origin_of(public_url)
        self._marks = (AUTH_OFF,) if authenticator is None else ()
        self._room = BodyBudget(LARGE_BODIES_BYTES_MAX)
        # For those who need no key: whoever they are, they keep none out that has one.
        self._room_for_strangers = BodyBudget(BODY_BYTES_MAX)
        self._open_paths = {
            method: _any_of(r.path for r in routes if r.is_open and r.method == method)
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        }
        self._open_paths["HEAD"] = self._open_paths["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError("the API speaks HTTP only")  # who comes otherwise shows no key here
        caller = enter(scope)
        caller.own_origin = self._own_origin
        if caller.address in self._proxies:
            self._look_behind(caller, scope)
        mark = (b"x-request-id", caller.request_id.encode())
        marks = (*self._marks, HSTS, mark) if _wants_tls(caller) else (*self._marks, mark)
        is_begun = False  # True: there is an answer, and cannot be another

        async def send_marked(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                # Another message: this one may be what every answer of a route begins with.
                told = _told(caller.requests_left) if caller.requests_left else ()
                message = {**message, "headers": [*message["headers"], *marks, *told]}
            await send(message)

        # Whoever reads this in the audit log: nobody asks for it unless something is changed.
        acting = begin_acting(partial(_actor, caller, self._node_id))
        try:
            await self._admit(caller, scope)
            await self._app(scope, receive, send_marked)
        except Exception as trouble:  # whatever it is, the caller hears of it in our form
            if is_begun:
                raise
            await problem_reply(trouble, caller.request_id)(scope, receive, send_marked)
        finally:
            end_acting(acting)
            if caller.give_room() > BODY_BYTES_MAX:
                asyncio.get_running_loop().run_in_executor(None, give_back)

    def _look_behind(self, caller: Caller, scope: Scope) -> None:
        """Who calls there, and how, of a request that a trusted proxy has handed on."""
        caller.address = self._proxies.caller(caller.address, scope["headers"])
        is_secure = is_https(scope["headers"])
        if is_secure is not None:
            caller.is_secure = is_secure

    async def _admit(self, caller: Caller, scope: Scope) -> None:
        """Find out who calls. Raises Unauthorized, CrossSite, ForeignHost, RateLimited."""
        caller.room = self._room
        inside: str | None = scope.get(INSIDE)
        if inside is not None:
            caller.principal = program(inside)
        elif self._authenticator is None:
            check_is_here(caller, scope["method"])
            caller.principal = ANONYMOUS
        elif self._is_open(scope["method"], scope["path"]):
            caller.room = self._room_for_strangers
        else:
            caller.principal = await self._authenticator.principal(caller, scope)
            quotas = caller.principal.quotas
            if quotas and self._limits is not None and scope["path"] != _UNCOUNTED:
                await self._count(self._limits, quotas, caller)

    async def _count(
        self, limits: RequestLimits, quotas: Sequence[SubjectQuota], caller: Caller
    ) -> None:
        """Raises RateLimited."""
        try:
            await limits.admit(quotas, caller.requests_left)
        except RateLimited:
            if self._on_limited is not None:
                self._on_limited(caller.requests_left[-1].noun)
            raise

    def _is_open(self, method: str, path: str) -> bool:
        if path == _OPEN or path.startswith(_OPEN + "/"):
            return True
        paths = self._open_paths.get(method)
        return paths is not None and paths.fullmatch(path) is not None


def _wants_tls(caller: Caller) -> bool:
    """Shall a browser come by TLS from now on? Not to a name that a machine's servers share."""
    if not caller.is_secure:
        return False
    name = caller.headers.get(b"host", b"").partition(b":")[0].lower()
    return name != b"localhost" and not name.endswith(b".localhost")


def _actor(caller: Caller, node_id: Callable[[], UUID | None]) -> Actor:
    return caller_as_actor(
        caller.principal,
        address=caller.address,
        request_id=caller.request_id,
        node_id=node_id(),
    )


def _any_of(paths: Iterable[str]) -> re.Pattern[str]:
    """Matches these paths and no other; a parameter is anything but a slash."""
    fixed_parts = (map(re.escape, PARAMETER.split(path)[::2]) for path in paths)
    return re.compile("|".join(map("[^/]+".join, fixed_parts)) or "(?!)")


def _told(left: Sequence[RequestsLeft]) -> Iterable[Header]:
    """What a caller's quotas of requests are, and what is left of each."""
    policies = [f'"{one.noun}";q={one.pace.in_window};w={one.pace.window_seconds}' for one in left]
    states = [f'"{one.noun}";r={one.remaining};t={math.ceil(one.reset_seconds)}' for one in left]
    yield b"ratelimit-policy", ", ".join(policies).encode()
    yield b"ratelimit", ", ".join(states).encode()
