"""A wire to a receiver that talks as it is told."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.http1.answers import Heard
from tests.strategies.receiver import Talk, raw_receiver
from windlass.http1.connection import AnswerBounds, Connection
from windlass.limits import RESPONSE_BYTES_MAX, RESPONSE_HEAD_BYTES_MAX, RESPONSE_HEADERS_MAX

HOST = "shop.example"
BOUNDS = AnswerBounds(
    body_bytes_max=RESPONSE_BYTES_MAX,
    head_bytes_max=RESPONSE_HEAD_BYTES_MAX,
    fields_max=RESPONSE_HEADERS_MAX,
)
REQUEST = b"POST / HTTP/1.1\r\nhost: shop.example\r\ncontent-length: 0\r\n\r\n"


@asynccontextmanager
async def wired(
    talk: Talk, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None
) -> AsyncIterator[Connection]:
    """A wire to a receiver that talks so."""
    at_server, trusting = tls or (None, None)
    async with raw_receiver(talk, ssl=at_server) as url:
        _, wire = await asyncio.get_running_loop().create_connection(
            lambda: Connection(BOUNDS),
            "127.0.0.1",
            int(url.rpartition(":")[2]),
            ssl=trusting,
            server_hostname=HOST if trusting else None,
        )
        try:
            yield wire
        finally:
            wire.close()
            await asyncio.sleep(0)


async def exchange(wire: Connection, *, is_head: bool = False) -> Heard:
    await wire.ask(REQUEST, is_head=is_head)
    body = await wire.body()
    return Heard(wire.status, body, wire.is_reusable)


def answering(answer: bytes, *, hangs_up: bool = False) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            if hangs_up:
                return

    return talk
