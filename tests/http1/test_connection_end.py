"""How an exchange on a wire may end: answered too early, hung up on, cancelled, closed."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import socket
import weakref
from pathlib import Path
from typing import Any, cast

import pytest

from tests.http1.answers import CHUNKED, FINE, OK, Heard
from tests.http1.wired import HOST, REQUEST, answering, exchange, wired
from tests.strategies.http.certificate import self_signed
from tests.strategies.python.loops import on_both_loops
from tests.strategies.receiver import read_request
from tests.until import until
from windlass.http1.connection import ConnectionBroken

LARGE_BYTES = 20_000_000
LARGE = b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % LARGE_BYTES + b"x" * LARGE_BYTES


# -- requests that are not taken -----------------------------------------------------------------


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
@on_both_loops
async def test_a_large_request_arrives_whole_and_the_connection_stays(
    tmp_path: Path, is_secure: bool
) -> None:
    digests: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            digests.append(hashlib.sha256(await read_request(reader)).digest())
            writer.write(FINE)

    async with wired(talk, self_signed(tmp_path, HOST) if is_secure else None) as wire:
        for _ in range(2):
            await wire.ask(LARGE, is_head=False)
            assert await wire.body() == b"ok"
            assert wire.is_reusable
    assert digests == [hashlib.sha256(LARGE).digest()] * 2


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
@on_both_loops
async def test_an_answer_to_half_a_request_counts_and_the_connection_does_not(
    tmp_path: Path, is_secure: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(FINE)
        await asyncio.Event().wait()  # and never reads on

    async with wired(talk, self_signed(tmp_path, HOST) if is_secure else None) as wire:
        await wire.ask(LARGE, is_head=False)
        assert (wire.status, await wire.body()) == (200, b"ok")
        assert not wire.is_reusable


@on_both_loops
async def test_an_answer_that_ends_with_a_half_close_needs_nobody_to_hear_the_rest() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\nenough")
        writer.write_eof()
        await asyncio.Event().wait()

    async with wired(talk) as wire:
        await wire.ask(LARGE, is_head=False)
        assert await wire.body() == b"enough"
        assert wire.is_whole
        assert not wire.is_reusable


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
@on_both_loops
async def test_a_request_that_nobody_reads_is_left_when_its_sender_is_cancelled(
    tmp_path: Path, is_secure: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with wired(talk, self_signed(tmp_path, HOST) if is_secure else None) as wire:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await wire.ask(LARGE, is_head=False)
        assert not wire.is_reusable


# -- hanging up ----------------------------------------------------------------------------------


@on_both_loops
async def test_a_reset_is_no_end_of_an_answer() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"\r\nhalf")
        await writer.drain()
        await may_reset.wait()
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()

    may_reset = asyncio.Event()
    async with wired(talk) as wire:
        await wire.ask(REQUEST, is_head=False)
        may_reset.set()
        with pytest.raises(ConnectionResetError):
            await wire.body()


@pytest.mark.parametrize("says_goodbye", [True, False])
@on_both_loops
async def test_tls_that_ends_without_a_goodbye_may_have_been_cut_short(
    tmp_path: Path, says_goodbye: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"\r\nok")
        await writer.drain()
        if not says_goodbye:
            writer.transport.abort()

    async with wired(talk, self_signed(tmp_path, HOST)) as wire:
        assert await exchange(wire) == Heard(200, b"ok", False)
        assert wire.is_whole is says_goodbye


@pytest.mark.parametrize("says_goodbye", [True, False])
@on_both_loops
async def test_tls_that_ends_within_a_body_of_known_length_is_a_broken_answer(
    tmp_path: Path, says_goodbye: bool
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(CHUNKED + b"5\r\nhal")
        await writer.drain()
        if not says_goodbye:
            writer.transport.abort()

    async with wired(talk, self_signed(tmp_path, HOST)) as wire:
        with pytest.raises(ConnectionBroken) as caught:
            await exchange(wire)
        assert caught.value.cause == "broken answer"


@pytest.mark.parametrize("last_words", [b"", b"HTTP/1.1 408 Too slow\r\n\r\n", b"\r\n"])
@on_both_loops
async def test_a_connection_is_not_used_again_after_words_nobody_asked_for(
    last_words: bytes,
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(FINE)
        await is_idle.wait()
        writer.write(last_words)
        if last_words:
            await asyncio.Event().wait()

    is_idle = asyncio.Event()
    async with wired(talk) as wire:
        assert await exchange(wire) == Heard(200, b"ok", True)
        is_idle.set()
        await until(lambda: not wire.is_reusable)
        with pytest.raises(ConnectionBroken):
            await exchange(wire)


@on_both_loops
async def test_a_receiver_that_speaks_first_is_not_told_anything() -> None:
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ready\r\n")
        heard.append(await reader.read())
        is_over.set()

    is_over = asyncio.Event()
    async with wired(talk) as wire:
        await is_over.wait()
        with pytest.raises(ConnectionBroken, match="without being asked"):
            await exchange(wire)
        with pytest.raises(ConnectionBroken):
            await wire.ask(LARGE, is_head=False)
    assert heard == [b""]


@pytest.mark.parametrize("answer", [b"", OK + b"\r\nhalf", OK + b"content-length: 9\r\n\r\nhalf"])
@on_both_loops
async def test_closing_ends_an_exchange_and_what_there_is_of_an_answer_is_not_taken_for_one(
    answer: bytes,
) -> None:
    async with wired(answering(answer)) as wire:
        asking = asyncio.create_task(exchange(wire))
        await until(lambda: bool(wire.status) or not answer)
        await asyncio.sleep(0)
        wire.close()
        with pytest.raises(ConnectionBroken, match="our side"):
            await asking
        wire.close()
        assert not wire.is_reusable


@on_both_loops
async def test_a_cancelled_exchange_leaves_no_connection_for_the_next() -> None:
    is_heard, is_gone = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        is_heard.set()
        assert await reader.read() == b""
        is_gone.set()

    async with wired(talk) as wire:
        asking = asyncio.create_task(exchange(wire))
        await is_heard.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not wire.is_reusable
        wire.close()
        await is_gone.wait()


# -- nothing is left behind ----------------------------------------------------------------------


@pytest.mark.parametrize("answer", [FINE, OK + b"content-length: 9\r\n\r\nhalf", b"noise"])
@on_both_loops
async def test_a_wire_that_is_done_goes_without_the_help_of_the_collector(answer: bytes) -> None:
    async def used() -> weakref.ref[Any]:
        async with wired(answering(answer, hangs_up=True)) as wire:
            try:
                await exchange(wire)
            except ConnectionBroken:
                pass
            await until(lambda: not wire.is_reusable)
            return weakref.ref(wire)

    gc.collect()
    gc.disable()
    try:
        left = await used()
        await until(lambda: cast(object, left()) is None)
    finally:
        gc.enable()
