"""The session for tokens: what it keeps, leaves out, and does not do behind our back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.strategies.http.canary import Canary, perched
from tests.strategies.http.certificate import self_signed
from windlass.strategies.http.net.egress import Egress, EgressRefused
from windlass.strategies.http.net.token_session import open_session

HOST = "shop.example"


def lookup(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
    return [(2, 1, 6, "", ("127.0.0.1", port))]


@pytest.fixture
async def receiver() -> AsyncIterator[Canary]:
    async with perched() as made:
        yield made


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session(Egress(["127.0.0.1"]), 10, lookup) as made:
        yield made


async def post(session: aiohttp.ClientSession, url: str, **options: Any) -> bytes:
    async with asyncio.timeout(10), session.post(url, **options) as response:
        return await response.read()


async def test_the_second_request_takes_the_same_connection(
    session: aiohttp.ClientSession, receiver: Canary
) -> None:
    for _ in range(2):
        assert await post(session, f"http://{HOST}:{receiver.port}/") == b"thanks"

    assert receiver.connections == 1
    assert len(receiver.requests) == 2


async def test_a_refusal_is_raised_as_what_it_is(session: aiohttp.ClientSession) -> None:
    with pytest.raises(EgressRefused) as caught:
        await post(session, "http://127.0.0.9/")
    assert caught.value.address == "127.0.0.9"


async def test_closing_the_session_ends_a_lookup_that_hangs() -> None:
    is_asked, released = threading.Event(), threading.Event()

    def hang(host: str, port: int, **hints: Any) -> list[tuple[Any, ...]]:
        is_asked.set()
        assert released.wait(30)
        return []

    session = open_session(Egress(), 10, hang)
    waiting = asyncio.create_task(post(session, f"http://{HOST}/"))
    await asyncio.to_thread(is_asked.wait, 10)

    await session.close()

    with pytest.raises(aiohttp.ClientConnectorDNSError, match="closed"):
        await waiting
    released.set()


async def test_a_broken_connection_is_not_tried_again_behind_our_back(
    session: aiohttp.ClientSession, receiver: Canary
) -> None:
    receiver.answer = None
    for method in ("PUT", "DELETE", "GET"):
        receiver.requests.clear()
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.request(method, f"http://{HOST}:{receiver.port}/")
        assert len(receiver.requests) == 1, method


async def test_no_cookie_is_kept(session: aiohttp.ClientSession, receiver: Canary) -> None:
    receiver.answer = b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n"
    for _ in range(2):
        await post(session, f"http://{HOST}:{receiver.port}/")

    assert not any(b"cookie" in request.lower() for request in receiver.requests)


@pytest.mark.parametrize(
    "head", [b"x: " + b"y" * 20_000 + b"\r\n", b"".join(b"x%d: y\r\n" % n for n in range(200))]
)
async def test_an_answer_with_a_huge_head_is_refused(
    session: aiohttp.ClientSession, receiver: Canary, head: bytes
) -> None:
    receiver.answer = b"HTTP/1.1 200 OK\r\n" + head + b"content-length: 0\r\n\r\n"

    with pytest.raises(aiohttp.ClientError):
        await post(session, f"http://{HOST}:{receiver.port}/")


async def test_a_compressed_answer_stays_as_it_came(
    session: aiohttp.ClientSession, receiver: Canary
) -> None:
    receiver.answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nraw"
    assert await post(session, f"http://{HOST}:{receiver.port}/") == b"raw"


async def test_the_name_is_what_the_certificate_is_for(
    session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    at_server, trusting = self_signed(tmp_path, HOST)
    async with perched(tls=at_server) as receiver:
        url = f"https://{HOST}:{receiver.port}/"
        assert await post(session, url, ssl=trusting) == b"thanks"
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await post(session, f"https://127.0.0.1:{receiver.port}/", ssl=trusting)
