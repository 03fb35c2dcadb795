"""An endpoint that gives tokens as it is told, and whoever asks it for them."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from tests.strategies.receiver import Receiver
from windlass.strategies.http.auth.auth import Credentials, Prepared
from windlass.strategies.http.auth.oauth import Grant

SECRET = "hush:ø +/"


class Endpoint:
    """Gives `t1`, `t2`, …; `extra` replaces fields of the answer, a closed `gate` delays it."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.url = receiver.url + "/token"
        self.status = 200
        self.extra: dict[str, Any] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        receiver.answer = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        number = len(self.receiver.seen)
        self.asked.set()
        await self.gate.wait()
        given = {"access_token": f"t{number}", "token_type": "Bearer", "expires_in": 3600}
        return web.json_response(given | self.extra, status=self.status)

    @property
    def requests(self) -> int:
        return len(self.receiver.seen)

    async def until_asked(self, times: int) -> None:
        async with asyncio.timeout(10):
            while self.requests < times:
                self.asked.clear()
                await self.asked.wait()

    def auth(self, **fields: str) -> dict[str, str]:
        return {
            "type": "oauth2", "token_url": self.url, "client_id": "shop", "secret": "s",
        } | fields  # fmt: skip

    def grant(self) -> Grant:
        return Grant(token_url=self.url, client_id="shop", secret="s", scope=None)


async def prepare(credentials: Credentials, auth: object) -> Prepared:
    return await credentials.prepare(
        auth, target="shop.example", webhook_id="job_1", timestamp=1, body=b""
    )


async def shown(credentials: Credentials, auth: object) -> str:
    return (await prepare(credentials, auth)).headers["authorization"]
