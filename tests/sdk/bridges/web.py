"""A web application served on loopback, with its lifespan, for as long as a test needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from tests.until import until


class _Server(uvicorn.Server):
    """Leaves the signals of the test run alone."""

    def install_signal_handlers(self) -> None:
        pass


@asynccontextmanager
async def served(web: Any) -> AsyncIterator[str]:
    """The address of the running application."""
    config = uvicorn.Config(
        web, host="127.0.0.1", port=0, lifespan="on", access_log=False, log_level="warning"
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started or serving.done(), within_seconds=60)
    assert server.started, "the application did not start; its log says why"
    host, port = server.servers[0].sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        await serving
