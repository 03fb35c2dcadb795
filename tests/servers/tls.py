"""A certificate authority, and TLS before a PostgreSQL or a Valkey that does not speak it.

The servers that come with Windlass are built without TLS, so it ends here, as it does at a load
balancer: what a client sends and hears on the way is the protocol that a server with TLS speaks.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# What a client of PostgreSQL sends first to ask for TLS, and the answer of a server that has it.
ASKS_TLS: Final = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")
_CHUNK_BYTES: Final = 1 << 16


class Authority:
    """Vouches for names; `path` is its own certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = self._made(name, self._key, is_authority=True)
        self.path = folder / f"{name}.crt"
        self.path.write_bytes(_pem(self._certificate))

    def issue(self, host: str, *, days: int = 1) -> tuple[Path, Path]:
        """The files of a certificate for a name, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._made(host, key, days=days)
        paths = (
            self._folder / f"{self._name}-{host}-{days}.crt",
            self._folder / f"{self._name}-{host}-{days}.key",
        )
        paths[0].write_bytes(_pem(certificate))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        paths[1].chmod(0o600)
        return paths

    def server(self, host: str, *, days: int = 1, asks_back: bool = False) -> ssl.SSLContext:
        """`asks_back`: whoever comes must have a certificate of this authority, too."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(host, days=days))
        if asks_back:
            context.load_verify_locations(self.path)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def _made(
        self,
        host: str,
        key: ec.EllipticCurvePrivateKey,
        *,
        days: int = 1,
        is_authority: bool = False,
    ) -> x509.Certificate:
        def called(name: str) -> x509.Name:
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])

        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(called(host))
            .issuer_name(called(self._name))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
            )
            .add_extension(_usage(is_authority), critical=True)
            .sign(self._key, hashes.SHA256())
        )


def _usage(is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def plain_before(socket: str) -> AbstractAsyncContextManager[int]:
    """The port at which what listens at a socket of this machine is had as it is."""
    return tls_before(socket, None)


@asynccontextmanager
async def tls_before(
    socket: str, context: ssl.SSLContext | None, *, is_postgresql: bool = False
) -> AsyncIterator[int]:
    """The same by TLS."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            if is_postgresql:
                assert context is not None
                assert await reader.readexactly(8) == ASKS_TLS
                writer.write(b"S")
                await writer.drain()
                await writer.start_tls(context)
            behind = await asyncio.open_unix_connection(socket)
            with contextlib.closing(behind[1]):
                await asyncio.wait(
                    [
                        asyncio.create_task(_pass_on(reader, behind[1])),
                        asyncio.create_task(_pass_on(behind[0], writer)),
                    ],
                    return_when=asyncio.FIRST_COMPLETED,
                )
        writer.close()
        tasks.discard(task)

    options = {} if is_postgresql else {"ssl": context}
    server = await asyncio.start_server(accept, "127.0.0.1", 0, **options)  # type: ignore[arg-type]
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
