"""Receivers that mean no good, or do not know better."""

from __future__ import annotations

import asyncio
import json
import socket

import psutil
import pytest
from aiohttp import web

from tests.model.job.attempts import attempt
from tests.strategies.receiver import Receiver, deliver, perform_in_slot
from windlass.model.job.outcome import Failed, Succeeded, TimedOut
from windlass.runtime.worker.kinds import Kinds
from windlass.strategies.http.http import Http


async def test_an_endless_body_is_cut_off_and_takes_no_memory(
    http: Http, receiver: Receiver
) -> None:
    sent = 0

    async def flood(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65_536)
            sent += 65_536

    receiver.answer = flood
    await deliver(http, receiver.url)
    before = psutil.Process().memory_info().rss
    outcomes = [await deliver(http, receiver.url) for _ in range(20)]
    assert all(isinstance(outcome, Succeeded) for outcome in outcomes)
    assert psutil.Process().memory_info().rss - before < 30 * 1024 * 1024
    # What the kernel buffers on a loopback connection, but no more.
    assert sent < 21 * 16 * 1024 * 1024, "the receiver is cut off, not read on"


async def test_a_compressed_body_is_not_unpacked(http: Http, receiver: Receiver) -> None:
    async def bomb(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"\x1f\x8b not really", headers={"content-encoding": "gzip"})

    receiver.answer = bomb
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Succeeded)
    assert "not really" in json.loads(outcome.result or b"")["body"]


async def test_whatever_a_receiver_says_can_be_stored(http: Http, receiver: Receiver) -> None:
    async def nonsense(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"\x00\xff\xfe\xed\xa0\x80 end")

    receiver.answer = nonsense
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Succeeded)
    text = (outcome.result or b"").decode()
    assert "\\u0000" not in text
    assert json.loads(text)["body"].endswith(" end")


async def test_a_slow_receiver_is_ended_by_the_attempts_timeout(
    http: Http, receiver: Receiver
) -> None:
    is_over = asyncio.Event()

    async def dawdle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while not is_over.is_set():
            await response.write(b".")  # a byte now and then
            await asyncio.sleep(0.02)
        return response

    receiver.answer = dawdle
    kinds = Kinds(instant={}, slotted={"http": http}, timeout_seconds={}, default_timeout_seconds=9)
    slow = attempt(kind="http", timeout_ms=150, input=json.dumps({"url": receiver.url}))
    async with asyncio.timeout(5):
        assert await perform_in_slot(kinds, slow) == TimedOut(0.15)
    is_over.set()


async def test_a_port_where_nobody_listens_is_a_failure_that_may_pass(http: Http) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    outcome = await deliver(http, f"http://127.0.0.1:{port}")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("connection refused", False)


async def raw_server(answer: bytes) -> asyncio.Server:
    """Says `answer` to whoever calls, and hangs up."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(handle, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (b"", "disconnected"),
        (b"hello\r\n\r\n", "not http"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", "broken answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 100_000 + b"\r\n\r\n", "headers too large"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not http"),
    ],
    ids=["nothing", "no http", "too short", "huge header", "bad chunk"],
)
async def test_a_receiver_that_breaks_the_protocol_is_a_failure_that_may_pass(
    http: Http, answer: bytes, cause: str
) -> None:
    async with await raw_server(answer) as server:
        outcome = await deliver(http, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == (cause, False)
    assert outcome.message
    assert "127.0.0.1" not in outcome.message, "an address may hold a secret"
