"""A receiver of webhooks that keeps what it was sent and answers as it is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.model.attempts import attempt
from windlass.model.attempt import Attempt
from windlass.model.outcome import Outcome
from windlass.strategies.http import Http

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


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
    yield made
    await runner.cleanup()


def request(url: str, **fields: Any) -> Attempt:
    return attempt(kind="http", input=json.dumps({"url": url, **fields}))


async def deliver(http: Http, url: str, **fields: Any) -> Outcome:
    async with asyncio.timeout(10):
        return await http.perform(request(url, **fields))
