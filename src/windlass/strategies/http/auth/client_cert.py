"""Client certificates (mTLS): an SSL context for each PEM, made once.

One context a certificate is more than thrift: connections are pooled by context, so a new one for
each delivery would mean a handshake for each delivery.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile

from windlass.limits import CLIENT_CERTIFICATES_MAX, CLIENT_PEM_BYTES_MAX
from windlass.lru import Lru
from windlass.strategies.http.auth.secrets import AuthFailed


class ClientCertificates:
    def __init__(self) -> None:
        # By digest of the PEM: the keys themselves stay inside OpenSSL.
        self._contexts: Lru[bytes, ssl.SSLContext] = Lru(entries_max=CLIENT_CERTIFICATES_MAX)
        self._making = asyncio.Lock()

    async def context(self, name: str, pem: str) -> ssl.SSLContext:
        """The context of this PEM. Raises AuthFailed, naming the secret, when it is none."""
        key = hashlib.sha256(pem.encode()).digest()
        if found := self._contexts.get(key):
            return found
        async with self._making:
            # Whoever came second finds what the first has made.
            if found := self._contexts.get(key):
                return found
            # In a thread: reading the authorities of the system takes tens of milliseconds.
            made = await asyncio.to_thread(make_context, name, pem)
            self._contexts.put(key, made)
            return made


def make_context(name: str, pem: str) -> ssl.SSLContext:
    """Verifies the far side as any delivery does, and shows this certificate."""
    data = pem.encode()
    if len(data) > CLIENT_PEM_BYTES_MAX:
        raise AuthFailed(
            f"secret {name!r} has {len(data)} bytes; a client certificate has at most "
            f"{CLIENT_PEM_BYTES_MAX}"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # First, so that a bad one costs little.
    _load_chain(context, name, data)
    context.load_default_certs()
    context.set_alpn_protocols(("http/1.1",))
    return context


def _load_chain(context: ssl.SSLContext, name: str, data: bytes) -> None:
    try:
        with _as_file(data) as path:
            # A key with a passphrase fails by the empty one; without it OpenSSL asks a terminal.
            context.load_cert_chain(path, password="")
    except (ssl.SSLError, ValueError) as trouble:
        reason = getattr(trouble, "reason", None) or "it is not PEM"
        raise AuthFailed(
            f"secret {name!r} is no client certificate ({reason}); it must hold, in PEM, the "
            "certificate, those that vouch for it, and its private key without a passphrase"
        ) from None


@contextmanager
def _as_file(data: bytes) -> Iterator[Path]:
    """OpenSSL reads only files.

    On Linux this one is memory of this process alone: it never has a name in any folder, so nothing
    is left behind, whatever happens. Elsewhere it is a file for our user alone, gone in a moment.
    """
    if not hasattr(os, "memfd_create"):
        with NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield Path(file.name)
        return
    memory = os.memfd_create("client-certificate")
    try:
        path = Path(f"/proc/self/fd/{memory}")
        path.write_bytes(data)
        yield path
    finally:
        os.close(memory)
