"""Bytes to a server and back, as no proper client would send them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

SURE_SECONDS = 30.0
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def all(self) -> bytes:
        """Everything until the server closes."""
        said = b""
        async with asyncio.timeout(SURE_SECONDS):
            try:
                while piece := await self.reader.read(65536):
                    said += piece
            except ConnectionError:
                pass  # closed, and not gently
        return said

    async def answer(self) -> bytes:
        """The next answer, whole, of a server that says how long it is."""
        async with asyncio.timeout(SURE_SECONDS):
            head = await self.reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head)
            return head + await self.reader.readexactly(int(length[1]) if length else 0)


@asynccontextmanager
async def wire(url: str) -> AsyncIterator[Wire]:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    try:
        yield Wire(reader=reader, writer=writer)
    finally:
        writer.close()


async def exchange(url: str, data: bytes) -> bytes:
    """What the server says to `data` until it closes."""
    async with wire(url) as there:
        try:
            await there.send(data)
        except ConnectionError:
            pass  # it may close before it has read everything
        return await there.all()


def statuses(said: bytes) -> list[int]:
    """Of all the answers in it."""
    return [int(found) for found in _STATUS.findall(said)]
