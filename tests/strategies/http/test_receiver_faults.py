"""Every way a receiver fails us, played by a real one that speaks raw bytes.

Deadlines are short here; what is asserted is that they end it, and what is said about it.
"""

from __future__ import annotations

import asyncio
import datetime
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psutil
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.strategies.receiver import (
    SOON_SECONDS,
    Talk,
    deliver,
    perform_within,
    raw_receiver,
    read_request,
)
from windlass.limits import RESPONSE_BYTES_MAX
from windlass.model.job.outcome import Failed, Succeeded, TimedOut
from windlass.strategies.http.http import Http

OK = b"HTTP/1.1 200 OK\r\n"
FINE = OK + b"content-length: 2\r\n\r\nok"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


def saying(*parts: bytes) -> Talk:
    """Answers each request with `parts`."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            for part in parts:
                writer.write(part)
                await writer.drain()

    return talk


def flooding(head: bytes, part: bytes) -> Talk:
    """Answers with `head`, and then `part` for ever."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        while True:
            writer.write(part)
            await writer.drain()

    return talk


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(-1)
    await asyncio.Event().wait()


@asynccontextmanager
async def never_accepting() -> AsyncIterator[str]:
    """A port whose line of callers is full: the kernel lets nobody in and answers nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        async with AsyncExitStack() as callers:
            for _ in range(3):
                caller = callers.enter_context(socket.socket())
                caller.setblocking(False)
                caller.connect_ex(listener.getsockname())
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"


async def test_one_that_never_accepts_is_left_at_the_connect_deadline(http: Http) -> None:
    async with never_accepting() as url:
        done = await perform_within(http, 5, url, connect_timeout="200ms")
    assert done.outcome == TimedOut(0.2, "a connection")
    assert done.took_seconds < SOON_SECONDS
    assert done.detail["address"] == "127.0.0.1"
    assert "status_code" not in done.detail
    assert "connect" not in done.detail["timings_ms"], "it never came about"


async def test_one_that_never_answers_is_left_at_the_first_byte_deadline(http: Http) -> None:
    async with raw_receiver(silent) as url:
        done = await perform_within(http, 5, url, json={}, first_byte_timeout="200ms")
    assert done.outcome == TimedOut(0.2, "the first byte")
    assert done.took_seconds < SOON_SECONDS
    assert done.detail["request_headers"]["content-type"] == "application/json"
    assert done.detail["timings_ms"].keys() == {"connect", "total"}


async def test_without_deadlines_of_its_own_the_attempts_timeout_ends_it(http: Http) -> None:
    async with raw_receiver(silent) as url:
        done = await perform_within(http, 1.0, url)
    assert done.outcome == TimedOut(1.0)
    assert done.took_seconds < SOON_SECONDS
    assert done.detail["request_headers"]["webhook-id"].startswith("job_")
    assert done.detail["timings_ms"]["total"] >= 990


async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def test_one_that_never_reads_a_long_request_is_left_at_either_deadline(http: Http) -> None:
    before = psutil.Process().num_fds()
    async with raw_receiver(deaf) as url:
        for deadline in {"first_byte_timeout": "1s"}, {}:
            done = await perform_within(http, 2.0, url, text="x" * 20_000_000, **deadline)
            assert isinstance(done.outcome, TimedOut)
            assert done.took_seconds < 2 * SOON_SECONDS
            assert done.detail["is_reused"] is False
            assert "status_code" not in done.detail
    async with asyncio.timeout(5):
        while psutil.Process().num_fds() > before:  # noqa: ASYNC110 (a socket goes without a word)
            await asyncio.sleep(0.01)


async def test_an_answer_after_the_deadline_is_not_taken_for_the_next_ones(http: Http) -> None:
    requests: list[bytes] = []
    is_late = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            requests.append(await read_request(reader))
            if not is_late.is_set():
                await is_late.wait()
                writer.write(OK + b"content-length: 4\r\n\r\nlate")
            else:
                writer.write(FINE)
            await writer.drain()

    async with raw_receiver(talk) as url:
        late = await perform_within(http, 0.2, url)
        is_late.set()
        second = await perform_within(http, 5, url)
    assert late.outcome == TimedOut(0.2)
    assert isinstance(second.outcome, Succeeded)
    assert second.detail["response_excerpt"] == "ok"
    assert second.detail["is_reused"] is False


async def test_one_that_drips_is_left_at_the_attempts_timeout(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"content-length: 1000\r\n\r\n")
        while True:
            writer.write(b".")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_receiver(talk) as url:
        done = await perform_within(http, 2.0, url)
    assert done.outcome == TimedOut(2.0)
    assert done.took_seconds < 2 * SOON_SECONDS
    assert done.detail["status_code"] == 200, "as far as it came"


async def test_one_that_drips_its_headers_is_left_at_the_first_byte_deadline(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with raw_receiver(talk) as url:
        done = await perform_within(http, 5, url, first_byte_timeout="300ms")
    assert done.outcome == TimedOut(0.3, "the first byte")


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (OK + b"\r\n", b"x" * 65_536),
        (OK + b"content-length: 99999999999\r\n\r\n", b"x" * 65_536),
        (CHUNKED, b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
        (CHUNKED, b"1\r\nx\r\n" * 10_000),
        (CHUNKED + b"fffffffffffffff\r\n", b"x" * 65_536),
    ],
    ids=["to the end", "a long one", "chunks", "tiny chunks", "a giant chunk"],
)
async def test_an_endless_body_is_cut_off_and_memory_stays_flat(
    http: Http, head: bytes, part: bytes
) -> None:
    async with raw_receiver(flooding(head, part)) as url:
        await deliver(http, url)
        before = psutil.Process().memory_info().rss
        for _ in range(5):
            done = await perform_within(http, 5, url)
            assert isinstance(done.outcome, Succeeded)
            assert done.detail["is_reused"] is False, "what was cut off is not used again"
    assert psutil.Process().memory_info().rss - before < 20 * 1024 * 1024


@pytest.mark.parametrize(
    ("head", "part", "causes"),
    [
        (OK, b"x: " + b"y" * 1_000 + b"\r\n", {"headers too large"}),
        (OK + b"x: ", b"y" * 65_536, {"headers too large"}),
        (OK, b"x: y\r\n" * 1_000, {"headers too large"}),
        (b"HTTP/1.1 200 ", b"O" * 65_536, {"headers too large", "not http"}),
        (CHUNKED + b"5;", b"e" * 65_536, {"headers too large"}),
        (CHUNKED + b"0\r\n", b"x: y\r\n" * 1_000, {"headers too large"}),
        (CHUNKED + b"0\r\nx: ", b"y" * 65_536, {"headers too large"}),
    ],
    ids=[
        "many long",
        "one without end",
        "many short",
        "the first line",
        "a chunk's extension",
        "many after the body",
        "one after the body",
    ],
)
async def test_headers_without_end_are_a_failure_and_memory_stays_flat(
    http: Http, head: bytes, part: bytes, causes: set[str]
) -> None:
    before = psutil.Process().memory_info().rss
    async with raw_receiver(flooding(head, part)) as url:
        done = await perform_within(http, 5, url)
    assert isinstance(done.outcome, Failed)
    assert done.outcome.cause in causes
    assert not done.outcome.is_final
    assert len(done.outcome.message) < 1_000
    assert psutil.Process().memory_info().rss - before < 20 * 1024 * 1024


async def test_talk_without_end_that_says_nothing_is_left_at_the_deadline(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        while True:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100)
            await writer.drain()
            await asyncio.sleep(0.01)

    before = psutil.Process().memory_info().rss
    async with raw_receiver(talk) as url:
        done = await perform_within(http, 0.3, url)
    assert done.outcome == TimedOut(0.3)
    assert done.took_seconds < SOON_SECONDS
    assert psutil.Process().memory_info().rss - before < 20 * 1024 * 1024


async def test_a_gzip_bomb_does_not_go_off(http: Http) -> None:
    bomb = gzip.compress(b"\0" * 40_000_000)
    head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
    before = psutil.Process().memory_info().rss
    async with raw_receiver(saying(head, bomb)) as url:
        done = await perform_within(http, 5, url)
    assert isinstance(done.outcome, Succeeded)
    assert len(done.outcome.result or b"") < RESPONSE_BYTES_MAX
    assert psutil.Process().memory_info().rss - before < 20 * 1024 * 1024


async def test_a_receiver_that_wants_to_talk_otherwise_is_a_failure_for_good(http: Http) -> None:
    switch = b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
    async with raw_receiver(flooding(switch, b"noise" * 100)) as url:
        outcome = await deliver(http, url)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("http 101", True)


async def test_a_reset_in_the_middle_of_the_body_is_a_failure_that_may_pass(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK + b"content-length: 1000\r\n\r\nhalf")
        await writer.drain()
        reset(writer)

    async with raw_receiver(talk) as url:
        done = await perform_within(http, 5, url)
    assert isinstance(done.outcome, Failed)
    assert done.outcome.cause in ("broken answer", "connection reset")
    assert not done.outcome.is_final


async def test_a_reset_before_the_answer_is_a_failure_that_may_pass(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        reset(writer)

    async with raw_receiver(talk) as url:
        outcome = await deliver(http, url)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("connection reset", False)


def reset(writer: asyncio.StreamWriter) -> None:
    """Hang up without a goodbye."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def test_an_answer_before_the_body_was_read_counts_and_the_connection_does_not(
    http: Http,
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(FINE)
        await writer.drain()
        await asyncio.Event().wait()  # and never reads the rest

    async with raw_receiver(talk) as url:
        for _ in range(2):
            done = await perform_within(http, 5, url, text="x" * 20_000_000)
            assert isinstance(done.outcome, Succeeded)
            assert done.detail["is_reused"] is False, "half a request must not lead the next"


async def test_a_port_without_tls_is_a_failure_that_may_pass(http: Http) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with raw_receiver(talk) as url:
        outcome = await deliver(http, url.replace("http:", "https:"))
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("tls", False)


async def test_a_certificate_nobody_vouches_for_is_a_failure_and_nothing_is_sent(
    http: Http, tmp_path: Path
) -> None:
    said: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said.append(await reader.read(1))

    async with raw_receiver(talk, ssl=self_signed(tmp_path)) as url:
        done = await perform_within(http, 5, url, json={"secret": 1})
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("tls", False)
    assert "certificate" in done.outcome.message
    assert said in ([], [b""])


def self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "pair.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "pair.pem")
    return context
