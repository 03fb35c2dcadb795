"""A proxy in front of a node that loses answers and cuts streams.

client -- request --> proxy -- forwarded --> node
client <--- cut ----- proxy <-- answer ---- node      (swallowed)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any
from urllib.parse import urlsplit

_CHUNK_BYTES = 1 << 16


class Cutting:
    def __init__(self, target_url: str) -> None:
        address = urlsplit(target_url)
        self._host, self._port = address.hostname or "", address.port or 80
        self._links: set[asyncio.StreamWriter] = set()
        self.url = ""
        self.connections = 0  # that were ever made
        self.swallow = 0  # so many answers to come get lost, and their connections with them
        self.swallowed = 0

    def cut_all(self) -> None:
        """Whatever is open ends now."""
        for writer in list(self._links):
            writer.transport.abort()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._links.add(writer)
        try:
            behind = await asyncio.open_connection(self._host, self._port)
            await _first_of(_pump(reader, behind[1]), self._answers(behind[0], writer))
            behind[1].close()
        except OSError:
            pass  # one of the two has gone, which is what it is about
        finally:
            self._links.discard(writer)
            writer.transport.abort()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            if self.swallow > 0:
                self.swallow -= 1
                self.swallowed += 1
                return
            writer.write(data)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)


async def _first_of(*ways: Coroutine[Any, Any, None]) -> None:
    tasks = [asyncio.create_task(way) for way in ways]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def cutting(target_url: str) -> AsyncIterator[Cutting]:
    proxy = Cutting(target_url)
    server = await asyncio.start_server(proxy.connected, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut_all()
        await server.wait_closed()
