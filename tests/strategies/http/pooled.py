"""A pool of connections, and one exchange through it."""

from __future__ import annotations

import gc
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import psutil

from windlass.http1.connection import Connection
from windlass.strategies.http.net.address import read_address
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool, Timings
from windlass.strategies.http.net.resolver import Lookup

HOST = "shop.example"
REQUEST = b"GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n"


def leading_to(*addresses: str) -> Lookup:
    def lookup(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        return [(2, 1, 6, "", (address, port)) for address in addresses]

    return lookup


HERE: Final = leading_to("127.0.0.1")


@asynccontextmanager
async def opened(*allow: str, lookup: Lookup = HERE) -> AsyncIterator[Pool]:
    pool = Pool(Egress(allow or ["127.0.0.0/8"]), lookup)
    yield pool
    await pool.close()


def no_pool() -> Pool:
    raise AssertionError("nothing here asks for a token")


async def take(
    pool: Pool, url: str, timings: Timings | None = None, context: ssl.SSLContext | None = None
) -> Connection:
    return await pool.take(
        read_address(url),
        context=context,
        connect_seconds=5,
        timings=Timings() if timings is None else timings,
    )


async def measured(pool: Pool, url: str, context: ssl.SSLContext | None = None) -> Timings:
    """How one exchange came about."""
    timings = Timings()
    wire = await take(pool, url, timings, context)
    try:
        await wire.ask(REQUEST, is_head=False)
        await wire.body()
    finally:
        pool.give(wire)
    return timings


def files_before() -> int:
    gc.collect()  # what others have left must not go in the middle of this test
    return open_files()


def open_files() -> int:
    """Sockets of the network: threads of other tests may have files, and sockets of the machine."""
    return len(psutil.Process().net_connections(kind="tcp"))
