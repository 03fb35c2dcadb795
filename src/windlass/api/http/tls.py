"""TLS of the API: its certificate, read again when its files change, and the handshake.

    TlsListener -> Handshake (a stranger, counted and timed like any other) -> Connection

Owns: the certificate of this process and whoever has not yet finished his handshake.
Promises: files that cannot be used are told at the start, which one and why, and later only
logged: who served with a good certificate goes on with it. Who does not finish a handshake within
TLS_HANDSHAKE_SECONDS, or speaks no TLS, is closed, counted and not logged. No protocol below TLS
1.2 is spoken, and no cipher without forward secrecy.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import structlog
from cryptography import x509

from windlass.api.http.connections import Connections
from windlass.clock import wall
from windlass.errors import WindlassError
from windlass.limits import TLS_EXPIRY_DAYS, TLS_HANDSHAKE_SECONDS

log = structlog.get_logger()

# Of TLS 1.2; those of 1.3 are all good. HTTP/1.1 has no use for others.
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"
_FILE_BYTES_MAX: Final = 1024 * 1024
# Of those that wait to be accepted, at once; and the rest when the system has no descriptors left.
_ACCEPTS_MAX, _REST_SECONDS = 100, 1.0
_Seen = tuple[tuple[int, int, int] | None, ...]


class UnusableCertificate(WindlassError):
    """The files that tls_cert and tls_key name cannot be served with."""

    code = "invalid_settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFiles:
    """What the settings name."""

    cert: Path
    key: Path
    password: Path | None  # None: the key is not encrypted

    def seen(self) -> _Seen:
        """As they are now: changed ones look different."""
        return tuple(_state(path) for path in (self.cert, self.key, self.password) if path)

    def context(self, now: datetime) -> tuple[ssl.SSLContext, datetime]:
        """To serve with, and when it expires. Raises UnusableCertificate."""
        expires_at = self._expires_at(now)
        _read("tls_key", self.key)
        password = self.password and _read("tls_key_password_file", self.password).strip()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_CIPHERS)
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            # Without a password file nobody is asked at the terminal.
            context.load_cert_chain(self.cert, self.key, password or (lambda: b""))
        except ssl.SSLError as trouble:
            raise UnusableCertificate(self._why(trouble)) from None
        except ValueError:
            raise UnusableCertificate(
                f"tls_key_password_file: the password in {self.password} is too long"
            ) from None
        return context, expires_at

    def _expires_at(self, now: datetime) -> datetime:
        text = _read("tls_cert", self.cert)
        try:
            # The first is ours; those that follow lead to its authority.
            own = x509.load_pem_x509_certificates(text)[0]
        except (ValueError, IndexError):
            raise UnusableCertificate(
                f"tls_cert: {self.cert} holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
            ) from None
        until = own.not_valid_after_utc
        if until <= now:
            raise UnusableCertificate(
                f"tls_cert: the certificate in {self.cert} expired at {until:%Y-%m-%d %H:%M} UTC; "
                "put a new one there"
            )
        since = own.not_valid_before_utc
        if since > now:
            raise UnusableCertificate(
                f"tls_cert: the certificate in {self.cert} is not valid before "
                f"{since:%Y-%m-%d %H:%M} UTC; is the clock of this machine right?"
            )
        return until

    def _why(self, trouble: ssl.SSLError) -> str:
        if trouble.reason == "KEY_VALUES_MISMATCH":
            return f"tls_key: the key in {self.key} is not that of the certificate in {self.cert}"
        if self.password is not None:
            return (
                f"tls_key: {self.key} holds no private key in PEM, or the password in "
                f"{self.password} does not open it"
            )
        return (
            f"tls_key: {self.key} holds no private key in PEM, or an encrypted one; "
            "tls_key_password_file names the file with its password"
        )


class Certificate:
    """The certificate that is served with."""

    def __init__(self, files: CertificateFiles) -> None:
        """Raises UnusableCertificate."""
        self.files = files
        self._seen = files.seen()
        self.context, self.expires_at = files.context(wall())

    def look(self) -> None:
        """Take new files, if there are any, for the handshakes to come."""
        seen = self.files.seen()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self.context, self.expires_at = self.files.context(wall())
        except UnusableCertificate as trouble:
            # They may be half written; the next change is looked at again.
            log.warning("certificate_not_taken", reason=str(trouble))
            return
        log.info("certificate_taken", path=str(self.files.cert), expires_at=str(self.expires_at))

    def expires_in(self) -> timedelta:
        return self.expires_at - wall()

    def remind(self) -> None:
        if self.expires_in() < timedelta(days=TLS_EXPIRY_DAYS):
            path, at = str(self.files.cert), str(self.expires_at)
            log.warning("certificate_expires", path=path, expires_at=at)


def expiry_note(files: CertificateFiles) -> str | None:
    """What a check says of them; None: nothing is wrong."""
    try:
        _, expires_at = files.context(wall())
    except UnusableCertificate as trouble:
        return str(trouble)
    if expires_at - wall() >= timedelta(days=TLS_EXPIRY_DAYS):
        return None
    return f"tls_cert: the certificate in {files.cert} expires at {expires_at:%Y-%m-%d %H:%M} UTC"


class TlsListener:
    """Accepts connections and encrypts them; stands for asyncio's own server.

    That one would tell nobody of a connection before its handshake is done: nobody could count it,
    or let it go for another.
    """

    def __init__(
        self,
        listener: socket.socket,
        certificate: Certificate,
        connections: Connections,
        place_of: Callable[[str], tuple[str, bool]],
        protocol: Callable[[Callable[[], None]], asyncio.Protocol],
    ) -> None:
        """`protocol` takes over after a handshake; what it is given ends its being counted here."""
        self._listener, self._certificate, self._all = listener, certificate, connections
        self._place_of, self._protocol = place_of, protocol
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None  # None: it accepts
        listener.setblocking(False)
        self._loop.add_reader(listener, self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listener)
        if self._rest is not None:
            self._rest.cancel()

    async def wait_closed(self) -> None:
        """It is, since `close`."""

    def _accept(self) -> None:
        for _ in range(_ACCEPTS_MAX):
            try:
                accepted, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as trouble:  # no descriptor is left: they wait, as asyncio lets them
                log.warning("accept_waits", reason=trouble.strerror, rest_seconds=_REST_SECONDS)
                self._loop.remove_reader(self._listener)
                self._rest = self._loop.call_later(_REST_SECONDS, self._go_on)
                return
            address, is_of_proxy = self._place_of(peer[0])
            handshake = Handshake(accepted, address, is_of_proxy=is_of_proxy)
            if self._all.enter(handshake):
                handshake.begin(self._shake(handshake), self._all.leave)
            else:
                # An answer would have to be encrypted, which is what there is no room for.
                self._all.on_refused("too_many_connections")
                accepted.close()

    def _go_on(self) -> None:
        self._rest = None
        self._loop.add_reader(self._listener, self._accept)

    async def _shake(self, handshake: Handshake) -> None:
        def takes_over() -> None:
            handshake.is_over = True
            self._all.leave(handshake)

        try:
            async with asyncio.timeout(TLS_HANDSHAKE_SECONDS):
                await self._loop.connect_accepted_socket(
                    lambda: self._protocol(takes_over),
                    handshake.socket,
                    ssl=self._certificate.context,
                )
        except (OSError, TimeoutError) as trouble:
            is_late = isinstance(trouble, TimeoutError)
            self._all.on_refused("tls_too_slow" if is_late else "tls_refused")


class Handshake:
    """A connection that has been accepted and is not encrypted yet."""

    def __init__(self, accepted: socket.socket, address: str, *, is_of_proxy: bool) -> None:
        accepted.setblocking(False)
        self.socket, self.address, self.is_of_proxy = accepted, address, is_of_proxy
        self.is_over = False  # True: the connection is somebody else's
        self._task: asyncio.Task[None] | None = None

    def begin(self, work: Coroutine[Any, Any, None], on_left: Callable[[Handshake], None]) -> None:
        def end(_task: asyncio.Task[None]) -> None:
            # Also when it was dropped before its work had begun.
            if not self.is_over:
                on_left(self)
                self.socket.close()

        self._task = asyncio.create_task(work, name="tls handshake")
        self._task.add_done_callback(end)

    def drop(self) -> None:
        with contextlib.suppress(OSError):  # it has gone already
            self.socket.shutdown(socket.SHUT_RDWR)
        if self._task is not None:
            self._task.cancel()

    def look(self, now: float) -> None:
        """Its time is bounded where it is waited for."""


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _read(setting: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_BYTES_MAX + 1)
    except OSError as trouble:
        raise UnusableCertificate(f"{setting}: {path} cannot be read: {trouble.strerror}") from None
    if len(text) > _FILE_BYTES_MAX:
        raise UnusableCertificate(f"{setting}: {path} is larger than {_FILE_BYTES_MAX} bytes")
    return text
