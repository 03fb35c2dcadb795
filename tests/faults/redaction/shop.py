"""A shop that deliveries go to, and that says back what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.faults.redaction.canaries import Canaries


class Shop:
    """Receivers that say back whatever they were told."""

    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries
        self.callback_token = ""
        self.webhook_id = ""
        self.oauth_token = canaries.new("token that a token endpoint gave")
        self.calls: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.calls.append(request.path)
        echo = {
            "headers": dict(request.headers),
            "url": str(request.url),
            "body": body.decode(errors="replace"),
        }
        parts = request.path.strip("/").split("/")
        if parts[0] == "quiet":
            return web.json_response({"sorry": True}, status=int(parts[1]))
        kind = parts[0]
        match kind:
            case "hang":
                await asyncio.sleep(60)
                return web.Response()
            case "token":
                return web.json_response({"access_token": self.oauth_token, "expires_in": 3600})
            case "later":
                if not self.callback_token:
                    token = request.headers["windlass-callback-token"]
                    self.callback_token = self._canaries.add("callback token", token)
                    self.webhook_id = request.headers["webhook-id"]
                return web.Response(status=202, headers={"windlass-async": "true"})
            case _:
                return web.json_response(echo, status=int(kind))


@asynccontextmanager
async def open_shop(canaries: Canaries) -> AsyncIterator[tuple[Shop, str]]:
    shop = Shop(canaries)
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", shop.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield shop, f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
