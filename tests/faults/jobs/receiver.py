"""A receiver of webhooks that is its own witness: who called, when, with what, and what it said.

One receiver stands for one host: it listens on a port of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from windlass.clock import monotonic


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One request as the receiver saw it."""

    webhook_id: str
    attempt: int
    path: str
    headers: dict[str, str]
    body: bytes
    at: float  # monotonic
    status: int | None = None  # None: it was not answered


Behave = Callable[[Delivery], Awaitable[web.Response]]


async def accept(_delivery: Delivery) -> web.Response:
    return web.Response(text="thanks")


@dataclass(slots=True)
class Receiver:
    port: int
    behave: Behave = accept
    deliveries: list[Delivery] = field(default_factory=list)
    running: int = 0
    most_running: int = 0

    @property
    def host(self) -> str:
        """The target as Windlass writes it."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/hook") -> str:
        return f"http://{self.host}{path}"

    @property
    def answered(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if delivery.status == 200]

    async def handle(self, request: web.Request) -> web.Response:
        delivery = Delivery(
            webhook_id=request.headers.get("webhook-id", ""),
            attempt=int(request.headers.get("windlass-attempt", 0)),
            path=request.path,
            headers={name.lower(): value for name, value in request.headers.items()},
            body=await request.read(),
            at=monotonic(),
        )
        self.deliveries.append(delivery)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            response = await self.behave(delivery)
        finally:
            self.running -= 1
        delivery.status = response.status
        return response


@asynccontextmanager
async def receiver(behave: Behave = accept, port: int = 0) -> AsyncIterator[Receiver]:
    app = web.Application()
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    found = Receiver(port=port, behave=behave)
    app.router.add_route("*", "/{tail:.*}", found.handle)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    found.port = runner.addresses[0][1]
    try:
        yield found
    finally:
        await runner.cleanup()


@dataclass(slots=True)
class DeadHost:
    """Accepts a connection and drops it at once; counts how often it was tried."""

    port: int = 0
    connections: int = 0

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self) -> str:
        return f"http://{self.host}/hook"

    def _drop(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        writer.transport.abort()


@asynccontextmanager
async def dead_host() -> AsyncIterator[DeadHost]:
    dead = DeadHost()
    server = await asyncio.start_server(dead._drop, "127.0.0.1", 0)
    dead.port = server.sockets[0].getsockname()[1]
    try:
        yield dead
    finally:
        server.close()


@asynccontextmanager
async def silent_host() -> AsyncIterator[DeadHost]:
    """Accepts connections and never says a word."""
    silent = DeadHost()
    kept: list[asyncio.StreamWriter] = []

    def keep(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        silent.connections += 1
        kept.append(writer)

    server = await asyncio.start_server(keep, "127.0.0.1", 0)
    silent.port = server.sockets[0].getsockname()[1]
    try:
        yield silent
    finally:
        server.close()
        for writer in kept:
            writer.transport.abort()
