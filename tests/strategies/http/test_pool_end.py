"""Connections that do not come about, are given up, or are closed: nothing of them is left."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.strategies.http.canary import perched
from tests.strategies.http.certificate import self_signed
from tests.strategies.http.pooled import (
    HOST,
    files_before,
    leading_to,
    measured,
    open_files,
    opened,
    take,
)
from tests.strategies.python.loops import on_both_loops
from tests.until import until
from windlass.http1.connection import ConnectionBroken
from windlass.strategies.http.net.address import read_address
from windlass.strategies.http.net.pool import Timings

# -- several addresses ---------------------------------------------------------------------------


@asynccontextmanager
async def silent_at(address: str, port: int) -> AsyncIterator[None]:
    """A port whose line of callers is full: the kernel lets nobody in and answers nothing."""
    async with AsyncExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind((address, port))
        listener.listen(0)
        for _ in range(3):
            caller = stack.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex((address, port))
        yield


@on_both_loops
async def test_the_next_address_is_tried_when_one_is_silent_or_refuses() -> None:
    lookup = leading_to("127.0.0.2", "127.0.0.1")
    async with perched() as receiver, opened(lookup=lookup) as pool:
        url = f"http://{HOST}:{receiver.port}/"
        receiver.answer = b"HTTP/1.1 204 No\r\nconnection: close\r\n\r\n"
        before = files_before()
        assert (await measured(pool, url)).address == "127.0.0.1"
        async with silent_at("127.0.0.2", receiver.port):
            assert (await measured(pool, url)).address == "127.0.0.1"
        await until(lambda: open_files() <= before)


@on_both_loops
async def test_when_no_address_answers_it_is_refused() -> None:
    async with perched() as gone:
        port = gone.port
    async with opened(lookup=leading_to("127.0.0.2", "127.0.0.3")) as pool:
        with pytest.raises(ConnectionRefusedError):
            await take(pool, f"http://{HOST}:{port}/")


# -- how it ends ---------------------------------------------------------------------------------


@on_both_loops
async def test_a_take_that_is_late_or_cancelled_leaves_no_socket(tmp_path: Path) -> None:
    async def ignore(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(ignore, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    before = files_before()
    async with AsyncExitStack() as stack:
        stack.callback(server.close)  # a loop of uvloop that still listens is never closed
        pool = await stack.enter_async_context(opened())
        await stack.enter_async_context(silent_at("127.0.0.2", port))
        held = files_before()
        for url in f"https://127.0.0.1:{port}/", f"http://127.0.0.2:{port}/":
            with pytest.raises(TimeoutError):
                await pool.take(
                    read_address(url), context=None, connect_seconds=0.05, timings=Timings()
                )
            taking = asyncio.create_task(take(pool, url))
            await until(lambda: open_files() > held)
            taking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await taking
            await until(lambda: open_files() <= held)
    await until(lambda: open_files() < before)


@on_both_loops
async def test_failures_by_the_hundred_leave_no_socket(tmp_path: Path) -> None:
    at_server, _ = self_signed(tmp_path, HOST)
    async with perched() as gone:
        port = gone.port
    async with perched(tls=at_server) as receiver, opened("127.0.0.1") as pool:
        before = files_before()
        urls = [
            f"https://{HOST}:{receiver.port}/",  # nobody vouches for it
            f"http://{HOST}:{receiver.port}/",  # it does not speak TLS
            f"http://{HOST}:{port}/",  # nobody listens
            "http://127.0.0.9/",  # forbidden
        ]
        for _ in range(25):
            told = await asyncio.gather(
                *(measured(pool, url) for url in urls), return_exceptions=True
            )
            assert all(isinstance(one, OSError) for one in told), told
        await until(lambda: open_files() <= before)


@on_both_loops
async def test_closing_ends_exchanges_and_nobody_gets_a_connection_after_it() -> None:
    async with perched() as receiver:
        receiver.answer = b""
        before = files_before()
        async with opened() as pool:
            url = f"http://{HOST}:{receiver.port}/"
            asking = asyncio.create_task(measured(pool, url))
            await until(lambda: len(receiver.requests) == 1)
            connecting = asyncio.create_task(measured(pool, f"http://127.0.0.1:{receiver.port}/"))
            await asyncio.sleep(0)
            await pool.close()
            for lost in asking, connecting:
                with pytest.raises(ConnectionBroken, match="our side"):
                    await lost
            with pytest.raises(OSError, match="closed"):
                await measured(pool, url)
        await until(lambda: open_files() <= before)


@on_both_loops
async def test_closing_ends_a_lookup_that_hangs() -> None:
    is_asked, released = threading.Event(), threading.Event()

    def hang(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        is_asked.set()
        assert released.wait(30)
        return []

    async with opened(lookup=hang) as pool:
        waiting = asyncio.create_task(take(pool, f"http://{HOST}/"))
        await asyncio.to_thread(is_asked.wait, 10)
        await pool.close()
        with pytest.raises(OSError, match="closed"):
            await waiting
        released.set()


@on_both_loops
async def test_a_connection_that_breaks_is_not_tried_again_behind_our_back() -> None:
    async with perched() as receiver, opened() as pool:
        receiver.answer = None
        with pytest.raises(ConnectionBroken, match="without an answer"):
            await measured(pool, f"http://{HOST}:{receiver.port}/")
        assert len(receiver.requests) == 1
