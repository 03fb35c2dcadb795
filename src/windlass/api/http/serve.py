"""Serving the API (uvicorn) in our own event loop, from the first moment on.

The socket listens before anything else starts, so that a busy port is said at once. From then on
somebody answers there: until the node is ready, that it is starting.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import structlog
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from windlass.api.http.caller import random_hex
from windlass.api.http.connection import Connection, Timeouts
from windlass.api.http.connections import Connections, places
from windlass.api.http.problem import problem_reply
from windlass.api.http.reply import json_reply
from windlass.errors import WindlassError
from windlass.supervise import describe

log = structlog.get_logger()

_LIVE: Final = "/health/live"


class Starting(WindlassError):
    """This node has just started and does not serve yet; try again in a moment."""

    code = "starting"
    status = 503
    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__("this node is starting; try again in a moment")


class Front:
    """The API, or who answers for it while it is not there yet."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None  # None: the node is starting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is not None:
            await self.app(scope, receive, send)
        elif scope["path"] == _LIVE:
            await json_reply({"status": "ok"})(scope, receive, send)
        else:
            await problem_reply(Starting(), random_hex())(scope, receive, send)


class Server(uvicorn.Server):
    """uvicorn that leaves signals alone (they drain the node first), with connections in bounds."""

    def __init__(self, front: Front, connections: Connections, timeouts: Timeouts) -> None:
        self.connections = connections
        super().__init__(
            uvicorn.Config(
                front,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                proxy_headers=False,  # nobody's word about who calls is taken
                http=partial(Connection, connections=connections, timeouts=timeouts),  # type: ignore[arg-type]
                ws="none",
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:  # once a second
            self.connections.look(asyncio.get_running_loop().time())
        return await super().on_tick(counter)


class Serving:
    """A server at work."""

    def __init__(
        self,
        taken: socket.socket,
        *,
        front: Front | None = None,
        connections: Connections | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.front = front or Front()
        # As many as the descriptors of this process allow.
        self.connections = (
            connections if connections is not None else Connections(places(), self._refused)
        )
        self._on_refused: Callable[[str], None] = lambda _reason: None
        self.server = Server(self.front, self.connections, timeouts or Timeouts())
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
        try:
            await asyncio.wait_for(self.task, 5)
        except (asyncio.CancelledError, TimeoutError):
            pass
        except Exception as trouble:
            log.warning("api_failed", reason=describe(trouble))
