"""Windlass in a web application: FastAPI, Starlette, Litestar, or whatever else speaks ASGI.

    api = FastAPI(lifespan=lifespan(app))       # Starlette likewise; Litestar(lifespan=[…])
    api.mount("/windlass", mount(app))          # optional: the Windlass API under a path

Owns: a node that lives as long as the web application, or only the way to one elsewhere (`url`).
Promises: the application is not ready before the node is; when it stops, work in hand is finished
or handed back; what is mounted asks for a key, as it would at its own address.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final
from weakref import WeakKeyDictionary

from windlass.extras import server_parts
from windlass.sdk.http.cross_loop import AsgiApp, Receive, Send
from windlass.sdk.tasks.app import App

# Nodes that run in this process, by their App.
_running: WeakKeyDictionary[App, AsgiApp] = WeakKeyDictionary()
# What a request is; what the outer application has put beside it stays there.
_REQUEST: Final = (
    *("type", "asgi", "http_version", "method", "scheme"),
    *("query_string", "headers", "client", "server"),
)


def lifespan(
    app: App, *, url: str | None = None, token: str | None = None, **settings: object
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """What web frameworks call a lifespan.

    With `url` the App only talks to that server. Without it a node runs in this process, by
    `settings` as on the command line (database_url=…, workers=…) and by the environment; without a
    database_url it brings its own PostgreSQL and Valkey, in the folder `data`.
    """

    @asynccontextmanager
    async def live(_web: object = None) -> AsyncIterator[None]:
        async with _client(app, url, token) if url is not None else _node(app, settings):
            yield

    return live


@asynccontextmanager
async def _client(app: App, url: str, token: str | None) -> AsyncIterator[None]:
    from windlass.sdk.http.http_transport import HttpTransport
    from windlass.sdk.http.local_key import LocalKey

    transport = HttpTransport(url, token, local_key=LocalKey(url))
    app.connect(transport)
    try:
        yield
    finally:
        app.connect(None)
        await transport.close()


@asynccontextmanager
async def _node(app: App, settings: dict[str, object]) -> AsyncIterator[None]:
    # Here: who only wants a client needs no server installed.
    with server_parts("a node in this program (lifespan without url=)"):
        from windlass.compose.in_program import NodeInProgram

    node = NodeInProgram(
        app, {name: value for name, value in settings.items() if value is not None}
    )
    _running[app] = await node.start()
    try:
        yield
    finally:
        del _running[app]
        await node.stop()


def mount(app: App) -> AsgiApp:
    """The API of the node that `lifespan(app)` runs, to be mounted under a path."""

    async def serve(scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError("the Windlass API speaks HTTP only")
        node = _running.get(app)
        if node is None:
            await _say_absent(app, send)
        else:
            await node(_own(scope), receive, send)

    return serve


def _own(scope: Any) -> dict[str, Any]:
    """The request as if the API stood at the root: no path of the mount, nobody else's notes."""
    path, root = scope["path"], scope.get("root_path", "").rstrip("/")
    # Starlette leaves the mount in the path and names it; Litestar takes it away.
    inner = path[len(root) :] if path.startswith(root + "/") else path
    own = {name: scope[name] for name in _REQUEST if name in scope}
    return {**own, "path": inner, "raw_path": inner.encode(), "root_path": "", "state": {}}


async def _say_absent(app: App, send: Send) -> None:
    detail = f"no node of the app {app.name!r} runs in this process; give it lifespan(app)"
    problem = {"title": "Unavailable", "status": 503, "code": "unavailable", "detail": detail}
    headers = [(b"content-type", b"application/problem+json")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(problem).encode()})
