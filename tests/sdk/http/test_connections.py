"""The connection pool of the SDK: bounded, in turn, kept, and raced for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import pytest

from tests.http1.answers import FINE
from tests.strategies.python.loops import on_both_loops
from tests.strategies.receiver import Talk, raw_receiver, read_request
from tests.until import until
from windlass.http1.connection import Connection, ConnectionBroken
from windlass.sdk.http import connections
from windlass.sdk.http.connections import Connections, Endpoint
from windlass.sdk.limits import CONNECT_SECONDS

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def serving(connected: list[asyncio.StreamWriter]) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.append(writer)
        while True:
            await read_request(reader)
            writer.write(FINE)

    return talk


def pool_to(url: str, *, size_max: int = 100, host: str = "127.0.0.1") -> Connections:
    port = int(url.rpartition(":")[2])
    return Connections(Endpoint(host=host, port=port, tls=None), size_max=size_max)


async def exchange(pool: Connections) -> tuple[Connection, bool]:
    connection, is_kept = await pool.take()
    try:
        await connection.ask(REQUEST)
        assert await connection.body() == b"ok"
    finally:
        pool.give(connection)
    return connection, is_kept


@on_both_loops
async def test_a_connection_is_kept_and_the_one_used_last_comes_first() -> None:
    connected: list[asyncio.StreamWriter] = []
    async with raw_receiver(serving(connected)) as url:
        pool = pool_to(url)
        first, is_kept = await exchange(pool)
        assert not is_kept
        assert await exchange(pool) == (first, True)
        taken = [(await pool.take())[0] for _ in range(3)]
        assert taken[0] is first
        for connection in taken:
            await connection.ask(REQUEST)
            await connection.body()
            pool.give(connection)
        assert (await pool.take())[0] is taken[-1]
        await pool.close()
    assert len(connected) == 3


@on_both_loops
async def test_whoever_finds_none_free_waits() -> None:
    connected: list[asyncio.StreamWriter] = []
    served: list[int] = []

    async def ask(number: int) -> None:
        connection, _ = await pool.take()
        served.append(number)
        await connection.ask(REQUEST)
        await connection.body()
        pool.give(connection)

    async with raw_receiver(serving(connected)) as url:
        pool = pool_to(url, size_max=2)
        held = [(await pool.take())[0] for _ in range(2)]
        asking = [asyncio.create_task(ask(number)) for number in range(20)]
        await asyncio.sleep(0.05)
        assert served == []
        asking[3].cancel()  # and its wait with it
        for connection in held:
            pool.give(connection)  # nothing was asked on them, so they are not kept
        await asyncio.wait(asking)
        # Two connect at once, and either may be the first of them.
        assert sorted(served[:2]) == [0, 1]
        assert served[2:] == [2, *range(4, 20)]
        await pool.close()
    assert len(connected) == 4


@on_both_loops
async def test_one_that_the_server_closed_while_it_was_idle_is_not_used() -> None:
    connected: list[asyncio.StreamWriter] = []
    async with raw_receiver(serving(connected)) as url:
        pool = pool_to(url)
        first, _ = await exchange(pool)
        connected[0].close()
        await until(lambda: not first.is_reusable)
        second, is_kept = await exchange(pool)
        assert second is not first
        assert not is_kept
        await pool.close()


async def test_one_that_was_idle_for_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_receiver(serving([])) as url:
        pool = pool_to(url)
        first, _ = await exchange(pool)
        monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
        await asyncio.sleep(0.01)
        second, is_kept = await exchange(pool)
        assert (second is not first, is_kept) == (True, False)
        assert not first.is_reusable
        await pool.close()


@on_both_loops
async def test_one_that_was_cancelled_within_an_exchange_is_not_kept() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        is_heard.set()
        await reader.read()
        is_gone.set()

    is_heard, is_gone = asyncio.Event(), asyncio.Event()
    async with raw_receiver(talk) as url:
        pool = pool_to(url, size_max=1)
        asking = asyncio.create_task(exchange(pool))
        await is_heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await is_gone.wait()
        _, is_kept = await pool.take()  # there is room for another
        assert not is_kept
        await pool.close()


@on_both_loops
async def test_there_is_room_again_after_a_connection_that_failed() -> None:
    async with raw_receiver(serving([])) as url:
        pass
    pool = pool_to(url, size_max=1)
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            await pool.take()
    await pool.close()


@on_both_loops
async def test_a_closed_pool_gives_nothing() -> None:
    async with raw_receiver(serving([])) as url:
        pool = pool_to(url)
        connecting = asyncio.create_task(pool.take())
        await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(ConnectionBroken, match="our side"):
            await connecting


# -- names and several addresses -----------------------------------------------------------------


@contextmanager
def silent(port: int) -> Iterator[str]:
    """An address at which nobody answers: its queue of connections is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.2", port))
        listener.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.2", port))
        try:
            yield "127.0.0.2"
        finally:
            for one in waiting:
                one.close()


def leading_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Every name leads there; what was asked for is noted."""
    asked: list[str] = []

    def lookup(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        families = [socket.AF_INET6 if ":" in one else socket.AF_INET for one in addresses]
        return [
            (family, socket.SOCK_STREAM, 6, "", (one, port))
            for family, one in zip(families, addresses, strict=True)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return asked


@on_both_loops
async def test_a_name_is_looked_up() -> None:
    async with raw_receiver(serving([])) as url:
        pool = pool_to(url, host="localhost")
        assert await exchange(pool)
        await pool.close()
        nobody = pool_to(url, host="nobody.invalid")
        for _ in range(2):
            with pytest.raises(socket.gaierror):
                await nobody.take()
        await nobody.close()


async def test_many_who_connect_at_once_look_a_name_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = leading_to(monkeypatch, "127.0.0.1")
    async with raw_receiver(serving([])) as url:
        pool = pool_to(url, host="shop.example")
        taken = await asyncio.gather(*(pool.take() for _ in range(20)))
        assert len({connection for connection, _ in taken}) == 20
        assert asked == ["shop.example"]
        monkeypatch.setattr(connections, "LOOKUP_SECONDS", -1.0)
        await pool.take()
        await pool.close()


async def test_an_address_that_is_silent_does_not_hold_up_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with raw_receiver(serving([])) as url:
        with silent(int(url.rpartition(":")[2])) as away:
            leading_to(monkeypatch, away, "127.0.0.1")
            pool = pool_to(url, host="shop.example")
            began_at = monotonic()
            connection, _ = await exchange(pool)
            assert monotonic() - began_at < CONNECT_SECONDS
            assert connection.address == "127.0.0.1"
            await pool.close()


async def test_an_address_that_refuses_is_followed_by_the_next_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "NEXT_ADDRESS_SECONDS", 60.0)
    async with raw_receiver(serving([])) as url:
        leading_to(monkeypatch, "127.0.0.3", "::1", "127.0.0.1")
        pool = pool_to(url, host="shop.example")
        connection, _ = await exchange(pool)
        assert connection.address == "127.0.0.1"
        await pool.close()
        leading_to(monkeypatch, "127.0.0.3", "127.0.0.4")
        nowhere = pool_to(url, host="shop.example")
        with pytest.raises(ConnectionRefusedError):
            await nowhere.take()
        await nowhere.close()


@on_both_loops
async def test_a_connection_that_does_not_come_about_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.1)
    async with raw_receiver(serving([])) as url:
        with silent(int(url.rpartition(":")[2])) as away:
            pool = pool_to(url, host=away, size_max=1)
            for _ in range(2):
                with pytest.raises(ConnectionBroken, match=r"no connection within 0\.1 s"):
                    await pool.take()
            await pool.close()
