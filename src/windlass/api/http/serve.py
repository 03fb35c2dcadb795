"""Serving the API (uvicorn) in our own event loop, from the first moment on.

The socket listens before anything else starts, so that a busy port is said at once. From then on
somebody answers there: until the node is ready, that it is starting.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from windlass.api.http.caller import random_hex
from windlass.api.http.connection import Connection, Timeouts, place_of
from windlass.api.http.connections import Connections, places
from windlass.api.http.problem import problem_reply
from windlass.api.http.proxies import TrustedProxies
from windlass.api.http.reply import Header, json_reply
from windlass.api.http.security_headers import AUTH_OFF
from windlass.errors import WindlassError
from windlass.limits import REMIND_SECONDS, TLS_LOOK_SECONDS
from windlass.supervise import describe

if TYPE_CHECKING:
    from windlass.api.http.tls import Certificate

log = structlog.get_logger()

_LIVE: Final = "/health/live"


class Starting(WindlassError):
    """This node has just started and does not serve yet; try again in a moment."""

    code = "starting"
    status = 503
    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__("this node is starting; try again in a moment")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAs:
    """What the settings say of the way in."""

    certificate: Certificate | None = None  # None: http
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    is_auth_off: bool = False

    @property
    def marks(self) -> tuple[Header, ...]:
        """Of every answer, whoever gives it."""
        return (AUTH_OFF,) if self.is_auth_off else ()


class Front:
    """The API, or who answers for it while it is not there yet."""

    def __init__(self, marks: Sequence[Header] = ()) -> None:
        self.app: ASGIApp | None = None  # None: the node is starting
        self._marks = marks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is not None:
            await self.app(scope, receive, send)
            return
        is_asked_for_life = scope["path"] == _LIVE
        reply = (
            json_reply({"status": "ok"})
            if is_asked_for_life
            else problem_reply(Starting(), random_hex())
        )
        reply.headers += self._marks
        await reply(scope, receive, send)


class Server(uvicorn.Server):
    """uvicorn that leaves signals alone (they drain the node first), with connections in bounds."""

    def __init__(
        self, front: Front, connections: Connections, timeouts: Timeouts, served_as: ServedAs
    ) -> None:
        self.connections = connections
        self._served_as = served_as
        self._looks_at = self._reminds_at = 0.0
        protocol = partial(
            Connection,
            connections=connections,
            timeouts=timeouts,
            proxies=served_as.proxies,
            marks=served_as.marks,
        )
        super().__init__(
            uvicorn.Config(
                front,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # whose word is taken about who calls is said in proxies.py
                http=protocol,  # type: ignore[arg-type]
                ws="none",
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        certificate = self._served_as.certificate
        if certificate is None:
            await super().startup(sockets)
            return
        from windlass.api.http.tls import TlsListener  # who serves without TLS never loads it

        await super().startup([])

        def protocol(takes_over: Callable[[], None]) -> asyncio.Protocol:
            return self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
                on_made=takes_over,
            )

        here = partial(place_of, proxies=self._served_as.proxies)
        self.servers = [
            TlsListener(each, certificate, self.connections, here, protocol)  # type: ignore[misc]
            for each in sockets or ()
        ]

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            now = asyncio.get_running_loop().time()
            self.connections.look(now)
            self._look_after(now)
        return await super().on_tick(counter)

    def _look_after(self, now: float) -> None:
        """New files of the certificate, and what is wrong for as long as it lasts."""
        certificate = self._served_as.certificate
        if certificate is not None and now >= self._looks_at:
            self._looks_at = now + TLS_LOOK_SECONDS
            certificate.look()
        if now >= self._reminds_at:
            self._reminds_at = now + REMIND_SECONDS
            if self._served_as.is_auth_off:
                log.warning("auth_off")
            if certificate is not None:
                certificate.remind()


class Serving:
    """A server at work."""

    def __init__(
        self,
        taken: socket.socket,
        *,
        served_as: ServedAs | None = None,  # None: by http, with authentication
        front: Front | None = None,
        connections: Connections | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        served_as = served_as or ServedAs()
        self.front = front or Front(served_as.marks)
        # As many as the descriptors of this process allow.
        self.connections = (
            connections if connections is not None else Connections(places(), self._refused)
        )
        self._on_refused: Callable[[str], None] = lambda _reason: None
        self.server = Server(self.front, self.connections, timeouts or Timeouts(), served_as)
        self.task = asyncio.create_task(self.server.serve(sockets=[taken]), name="api")

    def open(self, app: ASGIApp, on_refused: Callable[[str], None]) -> None:
        """The node has started: from now on this is served, and who is refused is counted."""
        self.front.app, self._on_refused = app, on_refused

    def _refused(self, reason: str) -> None:
        self._on_refused(reason)

    async def stop(self) -> None:
        """However it ended: who stops a node has more to close."""
        self.server.should_exit = True
        self.server.force_exit = True
        self.connections.drop_silent()
        try:
            await asyncio.wait_for(self.task, 5)
        except (asyncio.CancelledError, TimeoutError):
            pass
        except Exception as trouble:
            log.warning("api_failed", reason=describe(trouble))
