"""The lifetime of `windlass listen`: bind, say where, serve, end at a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from windlass.cli.exits import Exit, Stopped
from windlass.cli.limits import LISTEN_BODY_BYTES_MAX, LISTEN_STOP_SECONDS
from windlass.cli.listen.forward import always, forward_to, session_for_forwarding
from windlass.cli.listen.receive import Delivery, Receiver
from windlass.cli.listen.verify import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    host: str
    port: int  # 0: any that is free
    forward_to: str | None  # None: nobody stands behind us
    status: int  # what is answered then
    keys: Sequence[Key]


def run(wanted: Listening, show: Callable[[Delivery], None], ready: Callable[[str], None]) -> int:
    """Serve until Ctrl-C or SIGTERM; a reader of our output who leaves ends it too."""
    return asyncio.run(_run(wanted, show, ready))


async def _run(
    wanted: Listening, show: Callable[[Delivery], None], ready: Callable[[str], None]
) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end(reason: BrokenPipeError | None = None) -> None:
        if not ended.done():
            ended.set_exception(reason) if reason else ended.set_result(None)

    def show_or_end(delivery: Delivery) -> None:
        try:
            show(delivery)
        except BrokenPipeError as gone:
            end(gone)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    async with listening(wanted, show_or_end) as address:
        ready(address)
        await ended
    return Exit.OK


@contextlib.asynccontextmanager
async def listening(wanted: Listening, show: Callable[[Delivery], None]) -> AsyncIterator[str]:
    """While inside, deliveries are received; yields our address."""
    taken = _bound(wanted.host, wanted.port)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(taken.close)
        answer = always(wanted.status)
        if wanted.forward_to is not None:
            session: aiohttp.ClientSession = session_for_forwarding()
            await stack.enter_async_context(session)
            answer = forward_to(wanted.forward_to, session)
        receiver = Receiver(keys=wanted.keys, answer=answer, show=show)
        app = web.Application(client_max_size=LISTEN_BODY_BYTES_MAX)
        app.router.add_route("*", "/{path:.*}", receiver.handle)
        runner = web.AppRunner(
            app,
            access_log=None,
            auto_decompress=False,  # a signature covers the bytes as they were sent
            shutdown_timeout=LISTEN_STOP_SECONDS,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.SockSite(runner, taken).start()
        yield f"http://{_shown(wanted.host)}:{taken.getsockname()[1]}"


def _bound(host: str, port: int) -> socket.socket:
    taken = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host, port))
        taken.listen()
    except OSError as trouble:
        taken.close()
        raise Stopped(
            f"cannot listen on {host}:{port}: {trouble.strerror}; "
            "stop what uses it or choose another with --port"
        ) from trouble
    taken.setblocking(False)
    return taken


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host
