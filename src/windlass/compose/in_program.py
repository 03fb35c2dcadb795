"""An embedded node: a whole one inside another program, such as a web server.

It has a thread and an event loop of its own: whatever the program does on its loop, heartbeats go
on. Without a database of its own it brings the embedded servers, as `windlass up` does.

    program's loop                    the node's thread
    start()  -------- settings -----> servers, compose.start
             <------- the API  ------ ready
    stop()   ------------------------> drain, servers stop

Promises: `start` returns when the node is ready and raises what kept it from that; after `stop`
nothing of it is left but the data.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.compose import start as compose
from windlass.compose.embedded import keep_alive
from windlass.compose.foreground import DATA, on_embedded
from windlass.compose.private_file import write_private
from windlass.config import Settings, load_settings
from windlass.embedded.servers import EmbeddedServers
from windlass.engine.identity.first import FIRST_USER, FirstLogin, ensure_first_login
from windlass.sdk.http.cross_loop import AsgiApp, CrossLoop
from windlass.sdk.http.local_key import KEY_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    loop: asyncio.AbstractEventLoop
    api: AsgiApp
    stop: asyncio.Event  # of that loop


class NodeInProgram:
    def __init__(self, app: Any, flags: Mapping[str, object]) -> None:
        """`flags` are settings, stronger than the environment and the settings file."""
        self._app, self._flags = app, flags
        self._ready: Future[_Ready] = Future()
        self._ended: Future[None] = Future()

    async def start(self) -> AsgiApp:
        """The API of the node, to be called from any loop."""
        settings = load_settings(self._flags, os.environ, Path.cwd()).settings
        threading.Thread(target=self._run, args=(settings,), name="windlass", daemon=True).start()
        ready = await asyncio.wrap_future(self._ready)
        return CrossLoop(ready.api, ready.loop)

    async def stop(self) -> None:
        """Drain, and wait until everything is closed."""
        ready = self._ready.result()
        with contextlib.suppress(RuntimeError):  # an operation has made it leave already
            ready.loop.call_soon_threadsafe(ready.stop.set)
        await asyncio.wrap_future(self._ended)

    def _run(self, settings: Settings) -> None:
        try:
            asyncio.run(self._live(settings))
        except BaseException as trouble:  # whoever waits hears of it; nobody else could
            (self._ended if self._ready.done() else self._ready).set_exception(trouble)
        else:
            self._ended.set_result(None)

    async def _live(self, settings: Settings) -> None:
        folder = (settings.data or DATA) if settings.database_url is None else None
        async with _servers(settings) as (settings, database_url, redis_url):
            running = await compose.start(
                settings,
                database_url=database_url,
                redis_url=redis_url,
                serving=None,
                app=self._app,
            )
            first = await ensure_first_login(
                running.database,
                running.app_in_node.passwords,
                has_users=settings.auth == "on",
            )
            if first.key is not None and folder is not None:
                write_private(folder / KEY_FILE, first.key)
            _show(first)
            stop = asyncio.Event()
            here = asyncio.get_running_loop()
            self._ready.set_result(_Ready(loop=here, api=running.app_in_node.api(), stop=stop))
            waits = [asyncio.ensure_future(e.wait()) for e in (stop, running.node.leave_asked)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            await running.drain()


@contextlib.asynccontextmanager
async def _servers(settings: Settings) -> AsyncIterator[tuple[Settings, str, str | None]]:
    if settings.database_url is not None:
        yield settings, settings.database_url, settings.redis_url
        return
    async with EmbeddedServers(settings.data or DATA) as servers, keep_alive(servers):
        yield on_embedded(settings, servers), servers.database_url, servers.redis_url


def _show(first: FirstLogin) -> None:
    if first.key is not None:
        print(f"windlass: admin key: {first.key}; it is shown only now", file=sys.stderr)
    if first.password is not None:
        said = f"user {FIRST_USER}, one-time password {first.password}"
        print(f"windlass: admin login: {said}; it is shown only now", file=sys.stderr)
