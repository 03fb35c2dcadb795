"""Embedded servers that come back: whichever ends by itself is started again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

import structlog

from windlass.embedded.errors import EmbeddedError
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers
from windlass.embedded.valkey import EmbeddedValkey
from windlass.supervise import supervisor

log = structlog.get_logger()

RESTART_REST_SECONDS: Final = 0.5


@contextlib.asynccontextmanager
async def kept_alive(servers: EmbeddedServers) -> AsyncIterator[None]:
    """While inside, an embedded server that ends by itself is started again."""
    keepers = [
        supervisor().keep(name, partial(_keep_alive, server))
        for name, server in (("postgres", servers.postgres), ("valkey", servers.valkey))
    ]
    try:
        yield
    finally:
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)


async def _keep_alive(server: EmbeddedPostgres | EmbeddedValkey) -> None:
    while True:
        log.error("server_ended", reason=str(await server.wait()))
        while True:
            await asyncio.sleep(RESTART_REST_SECONDS)
            try:
                await server.start()
                break
            except EmbeddedError as trouble:
                log.error("server_not_restarted", reason=str(trouble))  # noqa: TRY400
