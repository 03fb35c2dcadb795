"""What goes over the network, byte by byte: requests, refusals, TLS, answers without measure."""

from __future__ import annotations

import asyncio
import base64
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.cli.peer import Peer, Says, problem
from tests.http1.answers import CHUNKED, FINE, OK
from tests.strategies.http.certificate import self_signed
from tests.strategies.python.loops import on_both_loops
from tests.strategies.receiver import Talk, raw_receiver, read_request
from windlass import __version__
from windlass.errors import Unavailable
from windlass.http1.connection import AnswerBounds
from windlass.sdk.http import connections, http_transport
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.http_transport import HttpTransport
from windlass.sdk.http.problems import Unreachable
from windlass.sdk.http.transport import Request


def request(
    method: str = "GET",
    path: str = "/v1/x",
    headers: dict[str, str] | None = None,
    body: bytes | None = None,
) -> Request:
    return Request(method=method, path=path, body=body, headers=headers or {}, timeout_seconds=10)


def noting(heard: list[bytes], answer: bytes = FINE) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            heard.append(await read_request(reader))
            writer.write(answer)

    return talk


# -- what is sent --------------------------------------------------------------------------------


@on_both_loops
async def test_a_request_is_these_bytes() -> None:
    heard: list[bytes] = []
    async with raw_receiver(noting(heard)) as url:
        transport = HttpTransport(url + "/behind/", "wlk_test")
        answer = await transport.send(request("POST", "/v1/jobs?a=b", {"X-Y": "é"}, b"{}"))
        await transport.send(request())
        await transport.send(request("POST"))
        await transport.close()

    host = url.removeprefix("http://")
    usual = (
        f"Host: {host}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
        f"User-Agent: windlass-python/{__version__}\r\nAuthorization: Bearer wlk_test\r\n"
    )
    assert [one.decode() for one in heard] == [
        f"POST /behind/v1/jobs?a=b HTTP/1.1\r\n{usual}X-Y: é\r\nContent-Length: 2\r\n\r\n{{}}",
        f"GET /behind/v1/x HTTP/1.1\r\n{usual}\r\n",
        f"POST /behind/v1/x HTTP/1.1\r\n{usual}Content-Length: 0\r\n\r\n",
    ]
    assert (answer.status, answer.headers, answer.body) == (200, {"content-length": "2"}, b"ok")


@pytest.mark.parametrize(
    "asked",
    [
        request("GET /v1/y HTTP/1.1\r\nX:"),
        request(path="v1/x"),
        request(path="@elsewhere.example/"),
        request(headers={"X-Y": "a\r\nX-Z: b"}),
        request(headers={"X-Y": "a\0b"}),
        request(headers={"X-Y: a\r\nX-Z": "b"}),
        request(headers={"": "b"}),
        request(headers={"Content-Length": "3"}),
        request(headers={"transfer-encoding": "chunked"}),
    ],
    ids=lambda asked: repr((asked.method, asked.path, asked.headers)),
)
async def test_nothing_can_become_another_line_of_a_request(asked: Request, peer: Peer) -> None:
    transport = HttpTransport(peer.url)
    with pytest.raises(ValueError, match=r"method|path|header"):
        await transport.send(asked)
    with pytest.raises(ValueError, match=r"method|path|header"):
        async with transport.stream(asked):
            pass
    assert peer.calls == []


async def test_a_key_of_two_lines_is_refused(peer: Peer) -> None:
    async with AsyncClient(peer.url) as client:
        with pytest.raises(ValueError, match="Idempotency-Key"):
            await client.jobs.submit("noop", idempotency_key="mine\r\nX-Other: 1")
    assert peer.calls == []


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/v1/a b", "/v1/a%20b"),
        ("/v1/x\r\nX-Y: 1", "/v1/x%0D%0AX-Y:%201"),
        ("/v1/é?q=ü", "/v1/%C3%A9?q=%C3%BC"),
        ("/v1/a%2Fb?x=%20&y=1+2", "/v1/a%2Fb?x=%20&y=1+2"),
        ("/v1/x#part", "/v1/x"),
        ('/v1/"<>', "/v1/%22%3C%3E"),
    ],
)
async def test_a_path_is_quoted_where_it_has_to_be(path: str, sent: str) -> None:
    heard: list[bytes] = []
    async with raw_receiver(noting(heard)) as url:
        transport = HttpTransport(url)
        await transport.send(request(path=path))
        await transport.close()
    assert heard[0].split(b" HTTP/1.1\r\n")[0] == b"GET " + sent.encode()


async def test_a_caller_may_say_otherwise_what_is_said_by_itself(peer: Peer) -> None:
    async with AsyncClient(
        peer.url, "wlk_a", headers=lambda: {"authorization": "Other", "Accept": "text/plain"}
    ) as client:
        await client.system.stats()
    [call] = peer.calls
    assert (call.headers["authorization"], call.headers["accept"]) == ("Other", "text/plain")
    assert call.headers["user-agent"].startswith("windlass-python/")


async def test_a_user_in_the_address_is_told_and_its_password_not_shown(peer: Peer) -> None:
    url = peer.url.replace("http://", "http://ann:p%40ss@")
    async with AsyncClient(url) as client:
        await client.system.stats()
        peer.answer(Says(status=0, hangs_up=True))
        with pytest.raises(Unreachable) as refused:
            await client.nodes.resize("node_1", 4)
    assert refused.value.url == peer.url
    assert not any(word in str(refused.value) for word in ("ann:", "p%40ss", "p@ss"))
    said = "Basic " + base64.b64encode(b"ann:p@ss").decode()
    assert {call.headers["authorization"] for call in peer.calls} == {said}
    with pytest.raises(ValueError, match="not both"):
        AsyncClient(url, "wlk_test")


@pytest.mark.parametrize(
    "url", ["http://a b", "http://a\u200b..b", "http://x:99999", "http://x#a", "http://[::1", "//x"]
)
def test_an_address_that_no_host_has_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        HttpTransport(url)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://Shop.Example", "shop.example"),
        ("http://shop.example:80/", "shop.example"),
        ("https://shop.example:80", "shop.example:80"),
        ("https://shop.example.:443", "shop.example"),
        ("http://[::1]:5777", "[::1]:5777"),
        ("http://[fe80::1%25eth0]", "[fe80::1]"),
        ("http://bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_a_server_is_called_by_its_name(url: str, host: str) -> None:
    message = HttpTransport(url)._message(request())
    assert f"\r\nHost: {host}\r\n".encode() in message


# -- connections that the server has closed ------------------------------------------------------

KEYED = {"Idempotency-Key": "mine"}
REPEATABLE = [
    *(request(method) for method in ("GET", "PUT", "DELETE")),
    request("POST", headers=KEYED),
]
ONCE = [
    request("POST"),
    request("PATCH", headers=KEYED),
    request("PUT", headers={"If-Match": '"1"'}),
    request("POST", headers={**KEYED, "If-Match": '"1"'}),
]


def _cutting(heard: list[bytes], second: bytes) -> Talk:
    """Answers the first request of its first connection; the second one with `second` and an end.
    Whoever comes on another connection is served.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        is_first = not heard
        heard.append(await read_request(reader))
        writer.write(FINE)
        heard.append(await read_request(reader))
        writer.write(second if is_first else FINE)
        if not is_first:
            await reader.read()

    return talk


@pytest.mark.parametrize("asked", REPEATABLE, ids=lambda asked: asked.method)
@on_both_loops
async def test_what_met_a_dead_kept_connection_is_sent_again_where_that_is_safe(
    asked: Request,
) -> None:
    heard: list[bytes] = []
    async with raw_receiver(_cutting(heard, b"")) as url:
        transport = HttpTransport(url)
        for _ in range(2):
            assert (await transport.send(asked)).body == b"ok"
        await transport.close()
    assert len(heard) == 3
    assert len(set(heard)) == 1


@pytest.mark.parametrize("asked", ONCE, ids=lambda asked: f"{asked.method} {set(asked.headers)}")
async def test_what_could_be_done_twice_is_not_sent_again(asked: Request) -> None:
    heard: list[bytes] = []
    async with raw_receiver(_cutting(heard, b"")) as url:
        transport = HttpTransport(url)
        await transport.send(asked)
        with pytest.raises(Unreachable, match="hung up without an answer") as refused:
            await transport.send(asked)
        await transport.close()
    assert not refused.value.is_final
    assert len(heard) == 2


@pytest.mark.parametrize("second", [b"HTTP/1.1 200", OK + b"content-length: 9\r\n\r\nhal"])
async def test_what_was_answered_in_part_is_not_sent_again_by_itself(second: bytes) -> None:
    heard: list[bytes] = []
    async with raw_receiver(_cutting(heard, second)) as url:
        transport = HttpTransport(url)
        await transport.send(request())
        with pytest.raises(Unreachable, match="hung up"):
            await transport.send(request())
        await transport.close()
    assert len(heard) == 2


async def test_a_new_connection_that_breaks_is_told_and_not_repeated_here() -> None:
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await read_request(reader))

    async with raw_receiver(talk) as url:
        transport = HttpTransport(url)
        with pytest.raises(Unreachable, match="hung up without an answer"):
            await transport.send(request())
        await transport.close()
    assert len(heard) == 1


# -- answers without measure ---------------------------------------------------------------------


async def _refused_by(answer: bytes, ask: Callable[[HttpTransport], Awaitable[object]]) -> None:
    async with raw_receiver(noting([], answer)) as url:
        transport = HttpTransport(url)
        try:
            await ask(transport)
        finally:
            await transport.close()


async def test_an_answer_over_its_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = AnswerBounds(body_bytes_max=1000, head_bytes_max=1000, fields_max=5)
    monkeypatch.setattr(connections, "_BOUNDS", bounds)
    large = CHUNKED + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n"
    with pytest.raises(Unreachable, match=r"larger than .* ask for less") as refused:
        await _refused_by(large, lambda transport: transport.send(request()))
    assert refused.value.is_final
    for head in (b"x: " + b"x" * 1000, b"\r\n".join(b"x: y" for _ in range(6))):
        with pytest.raises(Unreachable, match="head of the answer"):
            await _refused_by(OK + head + b"\r\n\r\n", lambda transport: transport.send(request()))


async def _read_lines(
    transport: HttpTransport, asked: Request | None = None, heard: list[bytes] | None = None
) -> list[bytes]:
    found = [] if heard is None else heard
    async with transport.stream(asked or request()) as lines:
        async for line in lines:
            found.append(line)  # what was heard before an error counts
    return found


async def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "LINE_BYTES_MAX", 1000)
    fits = b"x" * 1000 + b"\n"
    await _refused_by(OK + b"content-length: 1001\r\n\r\n" + fits, _read_lines)
    with pytest.raises(Unreachable, match="line without end") as refused:
        await _refused_by(OK + b"content-length: 1001\r\n\r\n" + b"x" * 1001, _read_lines)
    assert refused.value.is_final


async def test_a_refused_stream_is_read_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = b"HTTP/1.1 503 Busy\r\ncontent-length: 1001\r\n\r\n" + b"x" * 1001
    with pytest.raises(Unavailable, match="503"):
        await _refused_by(busy, _read_lines)
    monkeypatch.setattr(http_transport, "ANSWER_BYTES_MAX", 1000)
    with pytest.raises(Unreachable, match="larger than"):
        await _refused_by(busy, _read_lines)


@on_both_loops
async def test_lines_are_whole_however_they_are_cut() -> None:
    text = b"data: one\r\n\r\nid: 7\ndata: " + b"y" * 300_000 + b"\n\nnot ended"

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(CHUNKED)
        for start in range(0, 40, 3):
            writer.write(b"3\r\n%s\r\n" % text[start : start + 3])
            await asyncio.sleep(0)
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text) - 42, text[42:]))
        await reader.read()

    async with raw_receiver(talk) as url:
        transport = HttpTransport(url)
        assert await _read_lines(transport) == [
            *(b"data: one", b"", b"id: 7"),
            *(b"data: " + b"y" * 300_000, b""),
        ]
        await transport.close()


async def test_a_stream_that_falls_silent_is_given_up_and_so_is_one_that_never_speaks() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await read_request(reader)).split()[1]
        if path == b"/speaks":
            writer.write(CHUNKED + b"2\r\na\n\r\n")
        await reader.read()

    heard: list[bytes] = []
    async with raw_receiver(talk) as url:
        transport = HttpTransport(url)
        for path in ("/speaks", "/silent"):
            asked = Request(method="GET", path=path, timeout_seconds=0.2)
            with pytest.raises(Unreachable, match=r"nothing heard for 0\.2 s"):
                await _read_lines(transport, asked, heard)
        await transport.close()
    assert heard == [b"a"]


async def test_what_a_reader_of_a_stream_raises_is_its_own(peer: Peer) -> None:
    peer.answer(Says(raw=b"a\n", headers={"Content-Type": "text/event-stream"}, hangs_up=True))
    transport = HttpTransport(peer.url)

    async def read() -> None:
        async with transport.stream(request()) as lines:
            async for _ in lines:
                raise FileNotFoundError

    with pytest.raises(FileNotFoundError):
        await read()
    await transport.close()


# -- TLS -----------------------------------------------------------------------------------------


@on_both_loops
async def test_a_server_is_known_by_its_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_server, _ = self_signed(tmp_path, "localhost")
    heard: list[bytes] = []
    async with raw_receiver(noting(heard), ssl=at_server) as url:
        url = url.replace("127.0.0.1", "localhost")
        stranger = HttpTransport(url)
        with pytest.raises(Unreachable, match=r"(?i)certificate") as refused:
            await stranger.send(request())
        assert refused.value.is_final
        with pytest.raises(Unreachable, match=r"(?i)certificate"):
            async with stranger.stream(request()):
                pass
        await stranger.close()
        assert heard == []

        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "receiver.pem"))
        trusting = HttpTransport(url)
        for _ in range(2):
            assert (await trusting.send(request())).body == b"ok"
        await trusting.close()
        assert len(heard) == 2

        other = HttpTransport(url.replace("localhost", "127.0.0.1"))
        with pytest.raises(Unreachable) as refused:
            await other.send(request())
        assert refused.value.is_final
        await other.close()


async def test_a_server_that_speaks_no_tls_is_no_secure_one() -> None:
    async with raw_receiver(noting([])) as url:
        transport = HttpTransport(url.replace("http:", "https:"))
        with pytest.raises(Unreachable) as refused:
            await transport.send(request())
        await transport.close()
    assert refused.value.reason


# -- closing -------------------------------------------------------------------------------------


@on_both_loops
async def test_closing_ends_what_is_under_way_and_what_comes_next_opens_again() -> None:
    is_heard = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await read_request(reader)).split()[1]
        is_heard.set()
        if path != b"/silent":
            writer.write(FINE)
        await reader.read()

    async with raw_receiver(talk) as url:
        transport = HttpTransport(url)
        asking = asyncio.create_task(transport.send(request("POST", "/silent")))
        await is_heard.wait()
        await transport.close()
        with pytest.raises(Unreachable, match="our side"):
            await asking
        assert (await transport.send(request())).body == b"ok"
        await transport.close()
        await transport.close()


async def test_a_problem_is_an_answer(peer: Peer) -> None:
    peer.answer(problem(404, code="not_found", detail="no"))
    transport = HttpTransport(peer.url)
    answer = await transport.send(request())
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    await transport.close()


def test_a_call_brings_no_library_of_http_with_it(peer: Peer) -> None:
    peer.answer(Says(json={"id": "job_1"}))
    program = f"""
import sys, windlass
app = windlass.App("shop", url={peer.url!r})
assert app.task(print, name="p").enqueue("x").id == "job_1"
print(*({{module.partition(".")[0] for module in sys.modules}} - sys.stdlib_module_names))
"""
    told = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}{program}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    found = {name for name in told.stdout.split() if "cython" not in name}
    assert found <= {"__main__", "windlass", "httptools", "msgspec", "typing_extensions"}
