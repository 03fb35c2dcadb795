"""Client certificates, against a real TLS server that lets nobody in without one."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.strategies.drawer import Drawer
from tests.strategies.http.pooled import no_pool
from windlass.limits import CLIENT_PEM_BYTES_MAX
from windlass.strategies.http.auth import client_cert
from windlass.strategies.http.auth.auth import AuthFailed, Credentials, Prepared

MTLS = {"type": "mtls", "secret": "cert"}
_MAY_SIGN = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, kw_only=True)
class Issued:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def key_pem(self, passphrase: bytes | None = None) -> str:
        lock: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if passphrase is not None:
            lock = serialization.BestAvailableEncryption(passphrase)
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock
        ).decode()

    @property
    def pem(self) -> str:
        return self.certificate_pem + self.key_pem()


def issue(name: str, by: Issued | None = None, *, is_authority: bool = False) -> Issued:
    """A certificate for 127.0.0.1, signed by `by` or by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    issuer_key = by.key if by else key
    authority_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority_key, critical=False)
    )
    if is_authority:  # and says so: newer Pythons insist
        builder = builder.add_extension(_MAY_SIGN, critical=True)
    return Issued(certificate=builder.sign(issuer_key, hashes.SHA256()), key=key)


@pytest.fixture(scope="module")
def authority() -> Issued:
    return issue("authority", is_authority=True)


@pytest.fixture
async def guarded_url(
    authority: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[str]:
    """A server that answers with the name on the certificate it was shown."""
    served, trusted = tmp_path / "server.pem", tmp_path / "authority.pem"
    served.write_text(issue("server", authority).pem)
    trusted.write_text(authority.certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))  # as an operator adds an authority
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(trusted))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(served)

    async def who(request: web.Request) -> web.Response:
        assert request.transport is not None
        [[(_, name)]] = request.transport.get_extra_info("peercert")["subject"]
        return web.Response(text=name)

    app = web.Application()
    app.router.add_post("/", who)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    yield f"https://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


async def prepare(credentials: Credentials) -> Prepared:
    return await credentials.prepare(
        MTLS, target="shop.example", webhook_id="job_1", timestamp=1, body=b""
    )


async def said(url: str, prepared: Prepared) -> str:
    """What the server answers over a new connection."""
    assert prepared.ssl is not None
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, headers=prepared.headers, ssl=prepared.ssl) as response,
    ):
        return await response.text()


async def test_the_receiver_sees_the_certificate_of_the_newest_value(
    guarded_url: str, authority: Issued
) -> None:
    old, new = issue("old", authority), issue("new", authority)
    drawer = Drawer(cert=old.pem)
    credentials = Credentials(drawer, no_pool)
    assert await said(guarded_url, await prepare(credentials)) == "old"
    drawer.values["cert"] = [new.pem, old.pem]
    prepared = await prepare(credentials)
    assert await said(guarded_url, prepared) == "new"
    assert prepared.secret_headers == frozenset()


async def test_a_chain_and_a_key_in_any_order_are_taken(
    guarded_url: str, authority: Issued
) -> None:
    between = issue("between", authority, is_authority=True)
    leaf = issue("leaf", between)
    pem = leaf.key_pem() + leaf.certificate_pem + between.certificate_pem
    credentials = Credentials(Drawer(cert=pem), no_pool)
    assert await said(guarded_url, await prepare(credentials)) == "leaf"


async def test_a_certificate_of_a_stranger_is_refused_by_the_receiver(guarded_url: str) -> None:
    credentials = Credentials(Drawer(cert=issue("stranger").pem), no_pool)
    with pytest.raises(aiohttp.ClientError):
        await said(guarded_url, await prepare(credentials))


async def test_a_receiver_that_nobody_vouches_for_is_not_trusted_with_a_certificate(
    guarded_url: str, authority: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere.pem").write_text(issue("elsewhere", is_authority=True).certificate_pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "elsewhere.pem"))
    credentials = Credentials(Drawer(cert=issue("client", authority).pem), no_pool)
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await said(guarded_url, await prepare(credentials))


async def test_a_context_is_made_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = Credentials(Drawer(cert=issue("client").pem), no_pool)
    made = await asyncio.gather(*(prepare(credentials) for _ in range(20)))
    assert len({id(one.ssl) for one in made}) == 1, "connections are pooled by context"


async def test_a_cancelled_first_one_leaves_the_others_to_it() -> None:
    credentials = Credentials(Drawer(cert=issue("client").pem), no_pool)
    first, *others = [asyncio.create_task(prepare(credentials)) for _ in range(3)]
    await asyncio.sleep(0)  # each has started; the first is in its thread
    first.cancel()
    second, third = await asyncio.gather(*others)
    assert first.cancelled()
    assert second.ssl is third.ssl is not None


async def test_the_least_used_context_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_cert, "CLIENT_CERTIFICATES_MAX", 2)
    certificates = client_cert.ClientCertificates()
    a, b, c = (issue(name).pem for name in "abc")
    kept = [await certificates.context("cert", pem) for pem in (a, b, a, c)]
    assert await certificates.context("cert", a) is kept[0]
    assert await certificates.context("cert", c) is kept[3]
    assert await certificates.context("cert", b) is not kept[1]


def bad_pems() -> dict[str, str]:
    one, other = issue("one"), issue("other")
    return {
        "nothing": "",
        "no PEM": "canary",
        "no key": one.certificate_pem,
        "no certificate": one.key_pem(),
        "another's key": one.certificate_pem + other.key_pem(),
        "a locked key": one.certificate_pem + one.key_pem(b"canary"),
        "a torn one": one.pem[:300] + "canary" + one.pem[320:],
        "too long": one.pem + "#" * CLIENT_PEM_BYTES_MAX,
    }


@pytest.mark.parametrize("sort", bad_pems())
async def test_what_is_no_certificate_with_its_key_is_refused_unseen(sort: str) -> None:
    pem = bad_pems()[sort]
    with pytest.raises(AuthFailed, match=r"secret 'cert' (is no client|has \d+ bytes)") as refused:
        await prepare(Credentials(Drawer(cert=pem), no_pool))
    assert "canary" not in str(refused.value)
    assert not any(line and line in str(refused.value) for line in pem.splitlines())


async def test_no_file_holds_the_key_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    credentials = Credentials(Drawer(cert=issue("client").pem), no_pool)
    await prepare(credentials)
    for pem in bad_pems().values():
        with pytest.raises(AuthFailed):
            await prepare(Credentials(Drawer(cert=pem), no_pool))
    assert files_below(tmp_path) == []
    assert not [path for path in open_files() if "client-certificate" in path.name]


def files_below(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


def open_files() -> list[Path]:
    found = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            found.append(link.readlink())
        except FileNotFoundError:
            continue  # the listing's own
    return found


async def test_where_there_is_no_such_memory_a_file_serves_and_goes(
    guarded_url: str, authority: Issued, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("os.memfd_create")  # as on macOS
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = files_below(tmp_path)
    credentials = Credentials(Drawer(cert=issue("client", authority).pem), no_pool)
    assert await said(guarded_url, await prepare(credentials)) == "client"
    assert files_below(tmp_path) == before


async def test_the_loop_goes_on_while_a_certificate_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded_in = []
    load = ssl.SSLContext.load_default_certs

    def noted(context: ssl.SSLContext) -> None:
        loaded_in.append(threading.current_thread())
        load(context)

    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", noted)
    await prepare(Credentials(Drawer(cert=issue("client").pem), no_pool))
    assert loaded_in != []
    assert threading.main_thread() not in loaded_in
