"""A server that must not be reached, and counts who reached it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

FINE = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nthanks"


class Canary:
    def __init__(self) -> None:
        self.port = 0
        self.has_ipv6 = False
        self.connections = 0
        self.requests: list[bytes] = []
        self.answer: bytes | None = FINE  # None: it hangs up instead
        self._writers: list[asyncio.StreamWriter] = []

    def will_redirect(self, url: str, status: int = 307) -> None:
        head = f"HTTP/1.1 {status} Elsewhere\r\nlocation: {url}\r\ncontent-length: 0\r\n\r\n"
        self.answer = head.encode()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                if self.answer is None:
                    break
                writer.write(self.answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def hang_up(self) -> None:
        while self._writers:
            self._writers.pop().close()


@asynccontextmanager
async def perched(
    host: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Canary]:
    """On one port of `host`; for 127.0.0.1 also on the same port of ::1, where there is one."""
    canary = Canary()
    servers = [await asyncio.start_server(canary.serve, host, port, ssl=tls)]
    canary.port = servers[0].sockets[0].getsockname()[1]
    if host == "127.0.0.1":
        try:
            servers.append(await asyncio.start_server(canary.serve, "::1", canary.port, ssl=tls))
            canary.has_ipv6 = True
        except OSError:
            pass  # no IPv6 here, or the port is taken
    yield canary
    for server in servers:
        server.close()
    canary.hang_up()
