"""A Redis that takes its time: a proxy that holds back every answer."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from windlass.testing.servers import PrivateServers

_CHUNK_BYTES: Final = 1 << 16


@asynccontextmanager
async def slow(servers: PrivateServers, seconds: float = 2.0) -> AsyncIterator[str]:
    """The URL at which the servers' Valkey answers so much later."""
    behind_url = urlsplit(servers.redis_url)
    path = behind_url.path
    links: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        links.add(task)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            behind, to_behind = await asyncio.open_unix_connection(path)
            asking = asyncio.create_task(_carry(reader, to_behind, 0.0))
            try:
                await _carry(behind, writer, seconds)
            finally:
                asking.cancel()
                to_behind.close()
                writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    try:
        yield f"redis://:{behind_url.password}@127.0.0.1:{server.sockets[0].getsockname()[1]}/0"
        assert links, "somebody came"
    finally:
        server.close()
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        await asyncio.sleep(seconds)
        writer.write(data)
