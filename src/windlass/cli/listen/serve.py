"""The lifetime of `windlass listen`: bind, say where, serve, end at a signal."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

import uvicorn

from windlass.api.http.serve import Front, Serving
from windlass.cli.exits import Exit, Stopped
from windlass.cli.limits import LISTEN_STOP_SECONDS
from windlass.cli.listen.forward import always, forward_to
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
    base = wanted.forward_to
    answer = always(wanted.status) if base is None else forward_to(base)
    front = Front()
    front.app = Receiver(keys=wanted.keys, answer=answer, show=show)
    taken = _bound(wanted.host, wanted.port)
    address = f"http://{_shown(wanted.host)}:{taken.getsockname()[1]}"
    with contextlib.closing(taken):
        server, task = _served(taken, front)
        try:
            yield address
        finally:
            server.should_exit = True
            await task


def _served(taken: socket.socket, front: Front) -> tuple[uvicorn.Server, asyncio.Task[None]]:
    """The server of a node's API: connections, heads and the time they take are in bounds."""
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())  # what happens is shown by us
    serving = Serving(taken, front=front)
    config = serving.server.config
    config.date_header = False  # that of the program behind us goes through
    config.timeout_graceful_shutdown = LISTEN_STOP_SECONDS  # type: ignore[assignment]
    return serving.server, serving.task


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
