"""A receiver of webhooks that keeps what it was sent and answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Any, Final, NamedTuple

from aiohttp import web

from tests.model.job.attempts import attempt
from windlass.model.job.attempt import Attempt
from windlass.model.job.outcome import Outcome
from windlass.runtime.worker.kinds import Kinds
from windlass.runtime.worker.slots import Slots
from windlass.strategies.http.http import Http

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]
# A deadline of a fraction of a second has ended it by then, however busy the machine is.
SOON_SECONDS: Final = 4.0


class Receiver:
    def __init__(self) -> None:
        self.seen: list[tuple[web.Request, bytes]] = []
        self.answer: Answer = self.fine
        self.url = ""

    async def fine(self, request: web.Request) -> web.StreamResponse:
        return web.Response(text="thanks")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.seen.append((request, await request.read()))
        return await self.answer(request)

    def will(self, status: int, text: str = "", **headers: str) -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            return web.Response(status=status, text=text, headers=headers)

        self.answer = answer


@asynccontextmanager
async def listening() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application(client_max_size=10**8)
    app.router.add_route("*", "/{path:.*}", made.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


def request(url: str, **fields: Any) -> Attempt:
    return attempt(kind="http", input=json.dumps({"url": url, **fields}))


async def deliver(http: Http, url: str, **fields: Any) -> Outcome:
    async with asyncio.timeout(10):
        return await http.perform(request(url, **fields))


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def raw_receiver(talk: Talk, ssl: SSLContext | None = None) -> AsyncIterator[str]:
    """A receiver that has no manners of its own: `talk` gets the bare connection.

    Yields its address. Whoever still talks at the end is hung up on.
    """
    talking: set[asyncio.Task[None]] = set()
    over = False

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side had enough, or the test is over
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Known from the moment it exists: a task that had not yet begun when the test ended
        # would talk on unseen, and be found by the collector in the middle of another test.
        if over:
            writer.close()
            return
        task = asyncio.create_task(handle(reader, writer))
        talking.add(task)
        task.add_done_callback(talking.discard)
        task.add_done_callback(lambda _: writer.close())  # one cancelled before its first line

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=ssl)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if ssl else 'http'}://127.0.0.1:{port}"
    finally:
        over = True
        server.close()
        for task in list(talking):
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The head and body of one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + await reader.readexactly(length)


async def perform_in_slot(kinds: Kinds, attempt: Attempt) -> Outcome:
    """How it ends, its timeout included."""
    ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
    Slots(kinds, 1, lambda _, outcome, __: ended.set_result(outcome)).begin(attempt)
    return await ended


async def perform_within(http: Http, seconds: float, url: str, **fields: Any) -> Performed:
    """As a slot does it: the attempt's timeout comes from outside."""
    kinds = Kinds(instant={}, slotted={"http": http}, timeout_seconds={}, default_timeout_seconds=9)
    one = attempt(
        kind="http",
        timeout_ms=int(seconds * 1000),
        input=json.dumps({"url": url, **fields}),
    )
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(10):
        outcome = await perform_in_slot(kinds, one)
    return Performed(outcome, one.detail or {}, asyncio.get_running_loop().time() - began)


class Performed(NamedTuple):
    outcome: Outcome
    detail: dict[str, Any]
    took_seconds: float
