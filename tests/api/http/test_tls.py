"""The API by https: its certificate, new ones, handshakes that are none, and who may connect."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import uvloop
from structlog.testing import capture_logs

from tests.api.http.certificates import Authority, Pair
from tests.api.http.raw import SURE_SECONDS, statuses
from tests.until import until
from windlass.api.http import serve as serving_module
from windlass.api.http import tls
from windlass.api.http.connections import Connections
from windlass.api.http.serve import ServedAs, Serving
from windlass.api.http.tls import Certificate, CertificateFiles, UnusableCertificate, expiry_note
from windlass.compose import foreground
from windlass.config import SettingsProblems, load_settings
from windlass.sdk.http.exchange import Exchange
from windlass.sdk.http.http_transport import HttpTransport
from windlass.sdk.http.problems import Unreachable

GET = b"GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def on_both_loops(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A node lives on uvloop, a program that holds one perhaps on asyncio's own: they differ below
    TLS, and most in what they read too early.
    """
    own = inspect.signature(test)

    @pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
    def run(new_loop: Callable[[], asyncio.AbstractEventLoop], **given: Any) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(test(**given))

    run.__name__ = test.__name__
    new_loop = inspect.Parameter("new_loop", inspect.Parameter.KEYWORD_ONLY)
    given = [each.replace(kind=new_loop.kind) for each in own.parameters.values()]
    run.__dict__["__signature__"] = own.replace(parameters=[*given, new_loop])
    both: Callable[..., None] = run
    return both


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def files(pair: Pair, password: Path | None = None) -> CertificateFiles:
    return CertificateFiles(cert=pair.cert, key=pair.key, password=password)


@asynccontextmanager
async def https(
    pair: Pair, connections: Connections | None = None
) -> AsyncIterator[tuple[str, Serving]]:
    taken = foreground.listen("127.0.0.1", 0)
    port = taken.getsockname()[1]
    served_as = ServedAs(certificate=Certificate(files(pair)))
    serving = Serving(taken, served_as=served_as, connections=connections)
    try:
        yield f"https://127.0.0.1:{port}", serving
    finally:
        await serving.stop()


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.path)


async def peer_certificate(url: str, authority: Authority) -> bytes:
    """What is shown to whoever connects now."""
    address = urlsplit(url)
    _, writer = await asyncio.open_connection(
        address.hostname, address.port, ssl=trusting(authority)
    )
    try:
        shown: ssl.SSLObject = writer.get_extra_info("ssl_object")
        return shown.getpeercert(binary_form=True) or b""
    finally:
        writer.close()


@on_both_loops
async def test_the_api_is_served_by_https(authority: Authority) -> None:
    async with (
        https(authority.sign()) as (url, _),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting(authority))) as client,
    ):
        for _ in range(3):
            async with client.get(f"{url}/health/live") as answer:
                assert answer.status == 200
                assert await answer.json() == {"status": "ok"}


@on_both_loops
async def test_whoever_speaks_at_once_is_heard(authority: Authority) -> None:
    """A browser's hello is there before the server has looked at the connection."""
    async with https(authority.sign()) as (url, serving):
        await until(lambda: serving.server.started)
        address = urlsplit(url)
        for _ in range(30):
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            talk = trusting(authority).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
            with contextlib.suppress(ssl.SSLWantReadError):
                talk.do_handshake()
            with socket.create_connection((address.hostname or "", address.port or 0)) as eager:
                eager.sendall(outgoing.read())
                eager.setblocking(False)
                while talk.version() is None or outgoing.pending:
                    incoming.write(
                        await asyncio.wait_for(
                            asyncio.get_running_loop().sock_recv(eager, 65536), SURE_SECONDS
                        )
                    )
                    try:
                        talk.do_handshake()
                    except ssl.SSLWantReadError:
                        continue
                    # The end of the handshake and the request arrive together.
                    talk.write(GET)
                    eager.sendall(outgoing.read())
                    break
                said = b""
                while b"200 OK" not in said:
                    incoming.write(
                        await asyncio.wait_for(
                            asyncio.get_running_loop().sock_recv(eager, 65536), SURE_SECONDS
                        )
                    )
                    with contextlib.suppress(ssl.SSLWantReadError):
                        said += talk.read(65536)


@on_both_loops
async def test_an_answer_that_refuses_is_read_also_by_who_is_still_sending(
    authority: Authority,
) -> None:
    async with https(authority.sign()) as (url, serving):
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(
            address.hostname, address.port, ssl=trusting(authority)
        )
        writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 99)
        assert statuses(await reader.readuntil(b"\r\n\r\n")) == [413]
        writer.close()
        await until(lambda: len(serving.connections) == 0, what="it is gone")


@pytest.mark.parametrize(
    ("least", "most", "is_spoken"),
    [
        (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3, True),
        (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2, True),
        (ssl.TLSVersion.TLSv1_1, ssl.TLSVersion.TLSv1_1, False),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@on_both_loops
async def test_nothing_older_than_tls_1_2_is_spoken(
    authority: Authority, least: ssl.TLSVersion, most: ssl.TLSVersion, *, is_spoken: bool
) -> None:
    context = trusting(authority)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = least, most
    async with https(authority.sign()) as (url, _):
        address = urlsplit(url)
        try:
            _, writer = await asyncio.open_connection(address.hostname, address.port, ssl=context)
            cipher = writer.get_extra_info("cipher")
            writer.close()
        except OSError:
            cipher = None
    assert (cipher is not None) is is_spoken
    if cipher is not None:
        assert any(word in cipher[0] for word in ("GCM", "POLY1305"))
        assert cipher[0].startswith(("ECDHE-", "TLS_"))


@on_both_loops
async def test_a_new_certificate_is_shown_to_who_connects_from_then_on(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "TLS_LOOK_SECONDS", 0.0)
    async with (
        https(authority.sign()) as (url, _),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting(authority))) as kept,
    ):
        async with kept.get(f"{url}/health/live") as answer:
            assert answer.status == 200
        before = await peer_certificate(url, authority)
        with capture_logs() as lines:
            authority.sign()

            async def is_new() -> bool:
                return await peer_certificate(url, authority) != before

            await until(is_new, what="the new one is shown")
        assert [each["event"] for each in lines] == ["certificate_taken"]
        async with kept.get(f"{url}/health/live") as answer:  # nobody was cut off
            assert answer.status == 200


async def test_files_that_cannot_be_used_change_nothing(authority: Authority) -> None:
    pair = authority.sign()
    certificate = Certificate(files(pair))
    served = certificate.context
    whole = pair.cert.read_bytes()
    for text in (b"", whole[:100], authority.sign("other").cert.read_bytes()):
        pair.cert.write_bytes(text)
        with capture_logs() as lines:
            certificate.look()
            certificate.look()
        assert [each["event"] for each in lines] == ["certificate_not_taken"], lines
        assert certificate.context is served
    pair.cert.unlink()
    with capture_logs() as lines:
        certificate.look()
    assert "No such file" in lines[0]["reason"]
    pair.cert.write_bytes(whole)
    certificate.look()
    assert certificate.context is not served


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda pair, _: pair.cert.unlink(), r"tls_cert: \S+api\.pem cannot be read: No such file"),
        (lambda pair, _: pair.key.unlink(), r"tls_key: \S+api\.key cannot be read: No such file"),
        (lambda pair, _: (pair.key.unlink(), pair.key.mkdir()), r"tls_key: .* Is a directory"),
        (lambda pair, _: pair.cert.write_text("x"), r"tls_cert: .* holds no certificate in PEM"),
        (lambda pair, _: pair.cert.write_bytes(b"\0" * 2_000_000), "larger than 1048576 bytes"),
        (lambda pair, _: pair.key.write_text("x"), r"tls_key: .* holds no private key in PEM"),
        (
            lambda pair, ca: pair.key.write_bytes(ca.sign("other").key.read_bytes()),
            r"tls_key: the key in \S+ is not that of the certificate in",
        ),
        (lambda _, ca: ca.sign(days=-0.5), r"tls_cert: the certificate in \S+ expired at 20\d\d-"),
        (lambda _, ca: ca.sign(since_days=5), r"is not valid before .* is the clock .* right\?"),
        (lambda _, ca: ca.sign(password="open"), "tls_key_password_file names the file"),
    ],
)
def test_what_cannot_be_served_with_is_told_at_the_start(
    authority: Authority, spoil: Any, words: str
) -> None:
    pair = authority.sign()
    spoil(pair, authority)
    with pytest.raises(UnusableCertificate, match=words):
        Certificate(files(pair))
    assert expiry_note(files(pair)) is not None


def test_a_key_may_be_encrypted(authority: Authority, tmp_path: Path) -> None:
    pair = authority.sign(password="open sesame")
    password = tmp_path / "password"
    password.write_text("open sesame\n")
    assert Certificate(files(pair, password)).expires_in().days > 80
    for wrong, words in (("shut", "does not open it"), ("x" * 5_000, "too long")):
        password.write_text(wrong)
        with pytest.raises(UnusableCertificate, match=words):
            Certificate(files(pair, password))


def test_one_that_expires_soon_is_told(authority: Authority) -> None:
    soon, late = authority.sign("soon", days=13), authority.sign("late", days=20)
    assert "expires at 20" in (expiry_note(files(soon)) or "")
    assert expiry_note(files(late)) is None
    with capture_logs() as lines:
        Certificate(files(soon)).remind()
        Certificate(files(late)).remind()
    assert [each["event"] for each in lines] == ["certificate_expires"]


@pytest.mark.parametrize(
    "flags",
    [{"tls_cert": "a.pem"}, {"tls_key": "a.key"}, {"tls_key_password_file": "a.txt"}],
)
def test_one_setting_without_the_other_is_a_problem(flags: dict[str, object]) -> None:
    with pytest.raises(SettingsProblems, match="left out, unless"):
        load_settings(flags, {}, foreground.DATA)


@on_both_loops
async def test_plain_http_is_closed_counted_and_not_logged(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    refused: list[str] = []
    connections = Connections(8, refused.append)
    with capture_logs() as lines:
        async with https(authority.sign(), connections) as (url, _):
            address = urlsplit(url)
            for said in (GET, b"\x16\x03\x01\xff\xff" + b"x" * 70_000, b"SSH-2.0-x\r\n"):
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
                writer.write(said)
                async with asyncio.timeout(30):
                    try:
                        while await reader.read(65536):
                            pass
                    except ConnectionError:
                        pass  # closed, and not gently
                writer.close()
            assert refused == ["tls_refused"] * 3
            await until(lambda: len(connections) == 0)
            assert await peer_certificate(url, authority)
    assert [each["event"] for each in lines] == []
    assert caplog.records == []


@on_both_loops
async def test_who_does_not_finish_a_handshake_is_closed_and_counts_until_then(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "TLS_HANDSHAKE_SECONDS", 1.0)
    refused: list[str] = []
    connections = Connections(8, refused.append)
    async with https(authority.sign(), connections) as (url, _):
        address = urlsplit(url)
        with socket.create_connection((address.hostname, address.port)) as slow:
            slow.setblocking(False)
            slow.send(b"\x16\x03\x01")
            await until(lambda: len(connections) == 1, what="it is counted")
            await until(lambda: refused == ["tls_too_slow"], what="it is closed")
            await until(lambda: len(connections) == 0)
        assert await peer_certificate(url, authority)


@on_both_loops
async def test_handshakes_give_way_as_other_strangers_do(authority: Authority) -> None:
    refused: list[str] = []
    connections = Connections(4, refused.append)
    async with https(authority.sign(), connections) as (url, _):
        address = urlsplit(url)
        strangers = [
            await asyncio.open_connection(address.hostname, address.port) for _ in range(12)
        ]
        await until(lambda: refused.count("displaced") == 10, what="those before went")
        assert len(connections) == 2
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=trusting(authority))
            ) as client,
            client.get(f"{url}/health/live") as answer,
        ):
            assert answer.status == 200
        for _, writer in strangers:
            writer.close()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@on_both_loops
async def test_who_hangs_up_in_a_handshake_leaves_nothing(authority: Authority) -> None:
    connections = Connections(64)

    async def hang_up() -> int:
        """How many descriptors there are afterwards; the first time a loop opens its own."""
        async with https(authority.sign(), connections) as (url, _):
            address = urlsplit(url)
            for said in (b"", b"\x16", b"\x16\x03\x01\x00\x05abcde") * 5:
                _, writer = await asyncio.open_connection(address.hostname, address.port)
                writer.write(said)
                writer.close()
            assert await peer_certificate(url, authority)
            await until(lambda: len(connections) == 0)
        return descriptors()

    before = await hang_up()

    async def is_closed() -> bool:
        return await hang_up() <= before

    await until(is_closed, what="nothing is left open")


@on_both_loops
async def test_a_server_that_stops_leaves_no_handshake_behind(authority: Authority) -> None:
    connections = Connections(64)
    async with https(authority.sign(), connections) as (url, _):
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        await until(lambda: len(connections) == 1)
    async with asyncio.timeout(30):
        try:
            assert await reader.read() == b""
        except ConnectionError:
            pass
    writer.close()
    await until(
        lambda: not [each for each in asyncio.all_tasks() if each.get_name() == "tls handshake"]
    )


@on_both_loops
async def test_the_sdk_trusts_the_authority_that_it_is_told(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with https(authority.sign()) as (url, serving):
        await until(lambda: serving.server.started)
        monkeypatch.setenv("WINDLASS_CA_FILE", str(authority.path))
        assert await live(url) == {"status": "ok"}
        for path, words in (
            ("", "certificate is not trusted: .* WINDLASS_CA_FILE names a file"),
            (str(tmp_path / "gone"), "WINDLASS_CA_FILE: .*gone cannot be read: No such file"),
            (str(authority.folder / "api.key"), "WINDLASS_CA_FILE: .* holds no certificate"),
        ):
            monkeypatch.setenv("WINDLASS_CA_FILE", path)
            with pytest.raises(Unreachable, match=words):
                await live(url)
        monkeypatch.delenv("WINDLASS_CA_FILE")
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
        assert await live(url) == {"status": "ok"}


async def live(url: str) -> Any:
    transport = HttpTransport(url, "wlk_x")
    try:
        return await Exchange(transport).get("/health/live")
    finally:
        await transport.close()
