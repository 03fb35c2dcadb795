"""An ASGI application that lives on one event loop, called from any other.

Owns: the bridge between the caller's loop and the application's. Every message waits until the
other side has taken it, so that neither runs ahead of the other and nothing is kept between them.
Promises: when the caller is cancelled the application is too; when the application's loop has
ended the caller hears ConnectionError.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from typing import Any, TypeVar

T = TypeVar("T")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


async def on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
    """Await `work` on `loop`, wherever we are."""
    if loop is asyncio.get_running_loop():
        return await work
    if not loop.is_running():
        work.close()
        raise ConnectionError("it has stopped")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class CrossLoop:
    """Calls `app` on `loop`."""

    def __init__(self, app: AsgiApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self._loop = app, loop

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        here = asyncio.get_running_loop()
        if here is self._loop:
            await self._app(scope, receive, send)
            return

        async def receive_there() -> Message:
            return await on_loop(here, _message(receive))

        async def send_there(message: Message) -> None:
            await on_loop(here, _sent(send, message))

        await on_loop(self._loop, _served(self._app, scope, receive_there, send_there))


# What ASGI calls awaitable may be any; what another loop is given must be a coroutine.


async def _message(receive: Receive) -> Message:
    return await receive()


async def _sent(send: Send, message: Message) -> None:
    await send(message)


async def _served(app: AsgiApp, scope: Any, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)
