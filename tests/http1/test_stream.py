"""A body that is read piece by piece as it comes, and a reader that may be slow."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.http1.answers import CHUNKED, FINE, OK
from tests.http1.wired import BOUNDS, HOST, REQUEST, answering, exchange, wired
from tests.strategies.http.certificate import self_signed
from tests.strategies.python.loops import on_both_loops
from tests.strategies.receiver import read_request
from tests.until import until
from windlass.http1.connection import Connection, ConnectionBroken

LARGE_BYTES = 20_000_000


async def rest_of(wire: Connection) -> bytes:
    found = b""
    while piece := await wire.piece():
        found += piece
    return found


@on_both_loops
async def test_pieces_come_as_they_are_said() -> None:
    heard = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(CHUNKED)
        for word in (b"one", b"two"):
            heard.clear()
            writer.write(b"3\r\n%s\r\n" % word)
            await heard.wait()
        writer.write(b"0\r\n\r\n")
        await reader.read()

    async with wired(talk) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        assert wire.status == 200
        for word in (b"one", b"two"):
            assert await wire.piece() == word
            heard.set()
        assert await wire.piece() == b""
        assert wire.is_reusable


@pytest.mark.parametrize(
    ("answer", "body", "is_kept"),
    [
        (FINE, b"ok", True),
        (OK + b"content-length: 0\r\n\r\n", b"", True),
        (CHUNKED + b"2\r\nok\r\n0\r\n\r\n", b"ok", True),
        (OK + b"\r\nok", b"ok", False),
    ],
    ids=["with a length", "empty", "in chunks", "that ends with the connection"],
)
@on_both_loops
async def test_a_streamed_answer_ends_as_any_other(
    answer: bytes, body: bytes, is_kept: bool
) -> None:
    async with wired(answering(answer, hangs_up=not is_kept)) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        assert await rest_of(wire) == body
        assert wire.is_reusable is is_kept
        if is_kept:  # and whoever comes next has it whole
            assert (await exchange(wire)).body == body


@on_both_loops
async def test_a_stream_has_no_cap() -> None:
    size = 3 * BOUNDS.body_bytes_max
    answer = OK + b"content-length: %d\r\n\r\n" % size + b"x" * size
    async with wired(answering(answer)) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        assert await rest_of(wire) == b"x" * size
        assert wire.is_whole
        assert wire.is_reusable


@on_both_loops
async def test_what_came_before_a_break_is_read_before_it_is_told() -> None:
    async with wired(answering(CHUNKED + b"4\r\nhalf\r\n5\r\nano", hangs_up=True)) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        await until(lambda: wire.is_broken)
        assert await wire.piece() == b"halfano"
        with pytest.raises(ConnectionBroken) as caught:
            await wire.piece()
        assert caught.value.cause == "broken answer"


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
@on_both_loops
async def test_a_reader_that_is_behind_makes_the_sender_wait(
    tmp_path: Path, is_secure: bool
) -> None:
    written = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        await read_request(reader)
        writer.write(OK + b"content-length: %d\r\n\r\n" % LARGE_BYTES)
        while written < LARGE_BYTES:
            writer.write(b"x" * 100_000)
            await writer.drain()
            written += 100_000
        await reader.read()

    async with wired(talk, self_signed(tmp_path, HOST) if is_secure else None) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        await until(lambda: wire.is_held)
        # What the sockets between hold is some megabytes; then nothing moves any more.
        before = -1
        while before < written:
            before = written
            await asyncio.sleep(0.1)
        assert written < LARGE_BYTES
        assert not wire.is_reusable
        assert len(await rest_of(wire)) == LARGE_BYTES
        assert written == LARGE_BYTES
        assert wire.is_reusable


@on_both_loops
async def test_a_stream_that_nobody_reads_on_can_be_closed() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"\r\n" + b"x" * LARGE_BYTES)
        try:
            await reader.read()
        finally:
            is_gone.set()

    is_gone = asyncio.Event()
    async with wired(talk) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        await until(lambda: wire.is_held)
        wire.close()
        await is_gone.wait()
        assert await wire.piece()
        with pytest.raises(ConnectionBroken, match="our side"):
            await wire.piece()


@on_both_loops
async def test_what_lies_between_the_parts_of_a_stream_is_bounded() -> None:
    extension = b"1;" + b"x" * 20 * BOUNDS.head_bytes_max
    async with wired(answering(CHUNKED + b"2\r\nok\r\n" + extension)) as wire:
        await wire.ask(REQUEST, is_streamed=True)
        with pytest.raises(ConnectionBroken) as caught:
            await rest_of(wire)
        assert caught.value.cause == "headers too large"


@on_both_loops
async def test_whether_any_byte_of_an_answer_came_is_known() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(FINE)
        await read_request(reader)

    async with wired(talk) as wire:
        await exchange(wire)
        was_untouched = [wire.is_untouched]
        with pytest.raises(ConnectionBroken):
            await exchange(wire)
        was_untouched.append(wire.is_untouched)
        assert was_untouched == [False, True]
    async with wired(answering(b"HTTP/1.1 20", hangs_up=True)) as wire:
        with pytest.raises(ConnectionBroken):
            await exchange(wire)
        assert not wire.is_untouched
