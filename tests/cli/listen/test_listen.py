"""`windlass listen`: what a developer sees of deliveries, and what stands behind it gets."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime

import aiohttp
import pytest
from yarl import URL

from tests.cli.conftest import Windlass
from tests.cli.deliveries import BODY, OTHER, SHARED, signed_by, told
from tests.cli.peer import Peer, Says
from tests.cli.server import clean_environment
from tests.ports import free_port
from windlass.cli.limits import LISTEN_BODY_BYTES_MAX, LISTEN_IDS_MAX
from windlass.cli.listen.forward import always
from windlass.cli.listen.receive import Delivery, Receiver
from windlass.cli.listen.serve import Listening, listening
from windlass.cli.listen.verify import read_key
from windlass.limits import HEAD_BYTES_MAX


class Received:
    def __init__(self, url: str, client: aiohttp.ClientSession) -> None:
        self.url, self.client = url, client
        self.deliveries: list[Delivery] = []

    async def send(
        self,
        path: str = "/",
        body: bytes | io.BytesIO = BODY,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        url = URL(self.url + path, encoded=True)
        sent = self.client.post(url, data=body, headers=headers, allow_redirects=False)
        async with sent as answer:
            return answer.status, await answer.read()


@asynccontextmanager
async def receiving(
    forward_to: str | None = None, status: int = 200, secrets: tuple[str, ...] = ()
) -> AsyncIterator[Received]:
    found: list[Delivery] = []
    keys = [read_key(secret) for secret in secrets]
    wanted = Listening(host="127.0.0.1", port=0, forward_to=forward_to, status=status, keys=keys)
    async with (
        listening(wanted, found.append) as url,
        aiohttp.ClientSession(auto_decompress=False) as client,
    ):
        received = Received(url, client)
        received.deliveries = found
        yield received


async def test_a_delivery_is_answered_and_told() -> None:
    headers = {**signed_by(SHARED, datetime.now(UTC)), "windlass-attempt": "3"}
    async with receiving(status=503, secrets=(SHARED,)) as here:
        assert await here.send("/a%20b?x=%7E", headers=headers) == (503, b"")
        [told] = here.deliveries
    assert (told.method, told.path, told.body) == ("POST", "/a%20b?x=%7E", BODY)
    assert (told.webhook_id, told.attempt, told.times) == ("job_1", "3", 1)
    assert (told.verdict.word, told.status, told.trouble) == ("verified", 503, None)


async def test_a_repeat_is_marked() -> None:
    async with receiving() as here:
        for webhook_id in ("a", "b", "a", "a"):
            await here.send(headers={"webhook-id": webhook_id})
        await here.send()
        await here.send()
    assert [told.times for told in here.deliveries] == [1, 1, 2, 3, 1, 1]


def test_only_the_last_thousands_are_remembered() -> None:
    receiver = Receiver(keys=(), answer=always(200), show=lambda _: None)
    count = receiver._count
    for number in range(LISTEN_IDS_MAX):
        assert count(str(number)) == 1
    assert count("0") == 2  # it is the freshest now
    assert count("new") == 1
    assert count("0") == 3
    assert count("1") == 1  # forgotten, the oldest of all


async def test_a_body_at_the_cap_is_taken_and_one_beyond_is_refused() -> None:
    async with receiving() as here:
        assert (await here.send(body=b"x" * LISTEN_BODY_BYTES_MAX))[0] == 200
        status, text = await here.send(body=io.BytesIO(b"x" * (LISTEN_BODY_BYTES_MAX + 1)))
        assert (status, b"larger than" in text) == (413, True)

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(LISTEN_BODY_BYTES_MAX // 65_536 + 1):
                yield b"x" * 65_536

        async with here.client.post(here.url, data=endless()) as answer:
            assert answer.status == 413
    assert [told.status for told in here.deliveries] == [200, 413, 413]
    assert here.deliveries[1].body is None
    assert "too large" in " ".join(told(here.deliveries[2]))


async def test_a_delivery_is_forwarded_byte_for_byte_and_its_answer_comes_back(peer: Peer) -> None:
    peer.answer(Says(status=422, raw=b"no\x00\xff", headers={"X-Why": "because", "Te": "x"}))
    packed = gzip.compress(BODY)
    sent = {
        "Content-Encoding": "gzip",
        "X-One": "1",
        "X-Mine": "2",
        "Connection": "keep-alive, x-mine",
        "User-Agent": "windlass/0",
    }
    async with receiving(forward_to=f"{peer.url}/app/") as here:
        url = URL(here.url + "/hooks/%7E1?a=b", encoded=True)
        post = here.client.post(url, data=packed, headers=sent)
        async with post as answer:
            assert (answer.status, await answer.read()) == (422, b"no\x00\xff")
            assert answer.headers["X-Why"] == "because"
            assert "Te" not in answer.headers
    [call] = peer.calls
    assert (call.method, call.path, call.query) == ("POST", "/app/hooks/%7E1", {"a": ["b"]})
    assert call.body == packed
    assert call.headers["content-encoding"] == "gzip"
    assert call.headers["x-one"] == "1"
    assert call.headers["user-agent"] == "windlass/0"
    assert call.headers["host"] == peer.url.removeprefix("http://")
    assert "x-mine" not in call.headers
    assert here.deliveries[0].status == 422


async def test_a_redirect_of_the_program_behind_goes_back_to_the_sender(peer: Peer) -> None:
    peer.answer(Says(status=302, headers={"Location": "/elsewhere"}))
    async with receiving(forward_to=peer.url) as here:
        assert (await here.send())[0] == 302
    assert len(peer.calls) == 1


async def test_what_stands_twice_in_an_answer_comes_back_twice() -> None:
    async with (
        await asyncio.start_server(two_cookies, "127.0.0.1", 0) as program,
        receiving(forward_to=f"http://127.0.0.1:{program.sockets[0].getsockname()[1]}") as here,
        here.client.post(here.url, data=BODY) as answer,
    ):
        assert answer.headers.getall("Set-Cookie") == ["a=1", "b=2"]
        assert answer.headers.getall("Date") == ["yesterday"]
        assert await answer.read() == b"until the end"


async def two_cookies(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A program whose answer ends with its connection."""
    await reader.readuntil(BODY)
    head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nDate: yesterday\r\n\r\n"
    writer.write(head.encode() + b"until the end")
    await writer.drain()
    writer.close()


async def test_an_answer_without_a_body_has_none() -> None:
    async with receiving(status=204) as here:
        assert await here.send() == (204, b"")
        async with here.client.head(here.url) as answer:
            assert answer.status == 204


async def test_a_head_without_end_is_refused_and_not_told() -> None:
    async with receiving() as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(here.url).port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\nx: " + b"x" * HEAD_BYTES_MAX)
        assert b" 431 " in await reader.readline()
        writer.close()
    assert not here.deliveries


async def test_a_sender_that_leaves_within_its_request_is_not_told() -> None:
    async with receiving() as here:
        _, writer = await asyncio.open_connection("127.0.0.1", URL(here.url).port)
        writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab")
        await writer.drain()
        writer.close()
        assert (await here.send("/next"))[0] == 200
    assert [told.path for told in here.deliveries] == ["/next"]


async def test_a_forward_that_fails_is_a_502_with_a_reason(peer: Peer) -> None:
    async with receiving(forward_to=f"http://127.0.0.1:{free_port()}") as here:
        status, text = await here.send("/hooks")
        assert (status, b"could not forward" in text) == (502, True)
    trouble = here.deliveries[0].trouble or ""
    assert trouble.startswith("not forwarded to http://127.0.0.1:")
    assert trouble in told(here.deliveries[0])[1]
    peer.answer(Says(status=0, hangs_up=True))
    async with receiving(forward_to=peer.url) as here:
        assert (await here.send())[0] == 502
    huge = Says(raw=b"x" * (LISTEN_BODY_BYTES_MAX + 1))
    peer.answer_by(lambda _: huge)
    async with receiving(forward_to=peer.url) as here:
        status, text = await here.send()
        assert (status, b"larger than" in text) == (502, True)


# The command.


def started(*words: str, stdout: int, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "windlass", "listen", "--port", "0", *words],
        env=clean_environment(**environment),
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def command(*words: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with started(*words, stdout=subprocess.PIPE, **environment) as process:
        try:
            yield process
        finally:
            process.kill()


def read_address(line: str) -> str:
    assert line.startswith("listening: http://127.0.0.1:"), line
    return line.split()[1]


async def post(url: str, headers: dict[str, str]) -> int:
    async with aiohttp.ClientSession() as client, client.post(url, headers=headers) as answer:
        return answer.status


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_it_says_where_it_listens_and_ends_cleanly(number: signal.Signals) -> None:
    with command("--forward-to", "http://127.0.0.1:9/x") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.endswith(" -> http://127.0.0.1:9/x\n")
        hint = [process.stdout.readline() for _ in range(3)]
        assert f'"url": "{read_address(first)}/"' in hint[0]
        assert "WINDLASS_EGRESS_ALLOW=127.0.0.0/8" in hint[1]
        assert "--secret" in hint[2]
        assert await post(read_address(first), {"webhook-id": "job_1"}) == 502
        assert "  job_1  0 B  unsigned  502  " in process.stdout.readline()
        assert "not forwarded to http://127.0.0.1:9/x/: " in process.stdout.readline()
        process.send_signal(number)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0


async def test_programs_read_json_lines_and_secrets_come_from_the_environment() -> None:
    with command("-o", "jsonl", WINDLASS_LISTEN_SECRET=f"{OTHER} {SHARED}") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        headers = signed_by(SHARED, datetime.now(UTC), b"")
        assert await post(read_address(process.stderr.readline()), headers) == 200
        found = json.loads(process.stdout.readline())
    assert (found["signature"], found["webhook_id"]) == ("verified", "job_1")


def test_its_secret_in_the_environment_is_no_setting_of_a_node(
    windlass: Windlass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WINDLASS_TOKEN")
    monkeypatch.setenv("WINDLASS_LISTEN_SECRET", SHARED)
    ended = windlass("config", "show")
    assert (ended.code, ended.err) == (0, "")
    assert SHARED not in ended.out


async def test_a_reader_that_leaves_ends_it_without_a_word() -> None:
    with command() as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = read_address(process.stdout.readline())
        process.stdout.close()
        assert await post(address, {}) == 200
        assert process.wait(30) == 141
        assert process.stderr.read() == ""


def test_a_busy_port_is_said_at_once(windlass: Windlass) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = windlass("listen", "--port", str(port))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: cannot listen on 127.0.0.1:{port}: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--forward-to", "ftp://here"], "'ftp://here' is not an address"),
        (["--forward-to", "127.0.0.1:3000"], "is not an address"),
        (["--forward-to", "http://[::1"], "is not an address"),
        (["--forward-to", "http://here/?a=b"], "no query"),
        (["--status", "99"], "--status must be"),
        (["--port", "70000"], "--port must be"),
        (["--print", "nothing"], "nothing"),
        (["--secret", "hunter2"], "--secret must be whsec_"),
        (["--secret", "whsec_"], "--secret must be whsec_"),
        (["--secret", "whpk_AAAA"], "--secret must be whsec_"),
        (["--secret", "whsk_AAAA"], "its public key, whpk_"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    windlass: Windlass, words: list[str], said: str
) -> None:
    ended = windlass("listen", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "hunter2" not in ended.err


async def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    with started(stdout=theirs, TERM="xterm-256color", COLUMNS="40") as process:
        os.close(theirs)
        shown = ""
        while "whpk_" not in shown:
            shown += os.read(ours, 65_536).decode()
        assert await post(read_address(shown), {"webhook-id": "job_1"}) == 200
        while " ms" not in shown:
            shown += os.read(ours, 65_536).decode()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    os.close(ours)
    assert "\x1b[33munsigned\x1b[0m" in shown
    assert "\x1b[32m200\x1b[0m" in shown


@pytest.mark.parametrize(
    "path", ["/../admin", "/a/%2e%2e/%2E%2e/admin", "/%252e%252e/x", "/..%5cx", "/./a"]
)
async def test_a_path_that_climbs_is_not_forwarded(peer: Peer, path: str) -> None:
    async with receiving(forward_to=f"{peer.url}/app") as here:
        reader, writer = await asyncio.open_connection("127.0.0.1", URL(here.url).port)
        writer.write(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n".encode())
        assert b" 400 " in await reader.readline()
        writer.close()
    assert not peer.calls
