"""Requests over HTTP/1.1, on a connection pool for each event loop.

Promises: one App or client may be used from several event loops, one after the other or at once;
each loop has connections of its own, and they are closed when that loop ends. Nothing in a method,
a path or a header can become another line of the request. A request that met a kept connection
which the server had closed is sent again, once, where that cannot do a thing twice.
Never: follows a redirect, keeps a cookie or reads proxy settings; the token goes to the address
given and no other.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cached_property
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit
from weakref import WeakKeyDictionary

from windlass.http1.connection import Connection
from windlass.sdk.http.connections import Connections, Endpoint
from windlass.sdk.http.local_key import LocalKey
from windlass.sdk.http.problems import Unreachable, error_of
from windlass.sdk.http.transport import IDEMPOTENCY_KEY, Request, Response
from windlass.sdk.limits import ANSWER_BYTES_MAX, LINE_BYTES_MAX

# A file in PEM: whose certificates are trusted beside those that the system trusts.
CA_FILE: Final = "WINDLASS_CA_FILE"
_PORTS: Final = {"http": 80, "https": 443}
# Methods whose repetition changes nothing more (RFC 9110).
_IDEMPOTENT: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
# These have a body, if an empty one.
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
# Where a request ends is said by us alone.
_FRAMING: Final = frozenset({"content-length", "transfer-encoding"})

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_HOST: Final = re.compile(r"[0-9A-Za-z._~!$&'()*+,;=-]+|[0-9a-f:.]+(%[0-9A-Za-z._~-]+)?")
_PATH_SAFE: Final = "/:?@!$&'()*+,;=~%[]"
_PLAIN_PATH: Final = re.compile(r"/[/:?@!$&'()*+,;=~%\[\]0-9A-Za-z._-]*")


class HttpTransport:
    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        local_key: LocalKey | None = None,  # where to look for one; None: there is a token, or none
    ) -> None:
        address = _read_url(url)
        host = _host_of(address, url)
        self.url = _shown(address, url)
        self._host, self._port = host, address.port or _PORTS[address.scheme]
        self._is_secure = address.scheme == "https"
        self._prefix = _quoted(address.path.rstrip("/"))
        self._constants = {
            "Host": _authority(host, address),
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": _user_agent(),
        }
        authorization = _authorization(address, token)
        self._local_key = local_key if authorization is None else None
        self._authorize(authorization)
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()

    def with_token(self, token: str) -> HttpTransport:
        """Another way to the same server, for whoever has this token."""
        return HttpTransport(self.url, token)

    def use_token(self, token: str) -> None:
        """From now on instead of the one before."""
        self._local_key = None
        self._authorize(f"Bearer {_checked_token(token)}")

    def _authorize(self, authorization: str | None) -> None:
        constants = {n: v for n, v in self._constants.items() if n != "Authorization"}
        if authorization is not None:
            constants["Authorization"] = authorization
        self._constants = constants
        self._constant_names = frozenset(name.lower() for name in constants)
        self._constant_lines = _lines_of(constants)

    async def send(self, request: Request) -> Response:
        message = self._message(request)
        total = request.timeout_seconds
        try:
            async with asyncio.timeout(total):
                return await self._exchange(request, message)
        except TimeoutError:
            raise Unreachable(self.url, f"no answer within {total:.3g} s") from None
        except ssl.SSLError as trouble:
            raise Unreachable(self.url, _distrust(trouble), is_final=True) from None
        except OSError as trouble:
            raise Unreachable(self.url, _reason(trouble)) from None

    def key_hint(self) -> str | None:
        """For whoever is refused: where a key was looked for; None: it was given."""
        return self._local_key.hint() if self._local_key is not None else None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        pool = await self._pool()
        message, silence = self._message(request), request.timeout_seconds
        try:
            async with asyncio.timeout(silence):
                connection = await self._ask(pool, request, message, is_streamed=True)
        except OSError as trouble:
            raise self._silent(trouble, silence) from None
        try:
            pieces = self._pieces(connection, silence)
            if connection.status != 200:
                raise await self._refused(connection, pieces)
            yield self._lines(pieces)
        finally:
            pool.give(connection)

    async def close(self) -> None:
        kept = self._open.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept.owner.aclose()

    # -- one exchange ----------------------------------------------------------------------------

    async def _exchange(self, request: Request, message: bytes) -> Response:
        pool = await self._pool()
        connection = await self._ask(pool, request, message)
        try:
            body = await connection.body()
            if connection.is_over_cap:
                raise self._too_large()
            if connection.status == 401 and self._local_key is not None:
                self._local_key.forget()
            return Response(status=connection.status, headers=_headers_of(connection), body=body)
        finally:
            pool.give(connection)

    async def _ask(
        self, pool: Connections, request: Request, message: bytes, *, is_streamed: bool = False
    ) -> Connection:
        """A connection on which the head of the answer has come; give it back.

        Raises OSError; ssl.SSLError: there is no connection that could be trusted.
        """
        is_head = request.method == "HEAD"
        connection, is_kept = await pool.take()
        try:
            await connection.ask(message, is_head=is_head, is_streamed=is_streamed)
        except OSError:
            if not (is_kept and connection.is_untouched and _is_repeatable(request)):
                pool.give(connection)
                raise
        except BaseException:
            pool.give(connection)
            raise
        else:
            return connection
        # The server closed it while we wrote.
        connection = await pool.replace(connection)
        try:
            await connection.ask(message, is_head=is_head, is_streamed=is_streamed)
        except BaseException:
            pool.give(connection)
            raise
        return connection

    # -- what is asked ---------------------------------------------------------------------------

    def _message(self, request: Request) -> bytes:
        """The request in bytes. Raises ValueError for what would change its lines."""
        method, body, headers = request.method, request.body, request.headers
        if not _TOKEN.fullmatch(method):
            raise ValueError(f"{method!r} is no method of HTTP")
        if not request.path.startswith("/"):
            raise ValueError(f"{request.path!r} is no path; one begins with a slash")
        constants = self._constant_lines
        names = {name.lower() for name in headers}
        if not names.isdisjoint(self._constant_names):
            kept = {name: v for name, v in self._constants.items() if name.lower() not in names}
            constants = _lines_of(kept)
        if not names.isdisjoint(_FRAMING):
            raise ValueError("the length of a request is not for its headers to say")
        local = self._local_key if "authorization" not in names else None
        if local is not None and (key := local.find()) is not None:
            constants += f"Authorization: Bearer {_checked_token(key)}\r\n"
        length = ""
        if body is not None or method in _WITH_BODY:
            length = f"Content-Length: {len(body or b'')}\r\n"
        start = f"{method} {self._prefix}{_quoted(request.path)} HTTP/1.1\r\n"
        head = f"{start}{constants}{_lines_of(headers)}{length}\r\n".encode()
        return head + body if body else head

    # -- what is answered ------------------------------------------------------------------------

    async def _pieces(self, connection: Connection, silence: float) -> AsyncGenerator[bytes]:
        while True:
            try:
                async with asyncio.timeout(silence):
                    piece = await connection.piece()
            except OSError as trouble:
                raise self._silent(trouble, silence) from None
            if not piece:
                return
            yield piece

    async def _refused(self, connection: Connection, pieces: AsyncIterator[bytes]) -> Exception:
        found = bytearray()
        async for piece in pieces:
            found += piece
            if len(found) > ANSWER_BYTES_MAX:
                return self._too_large()
        return error_of(connection.status, _headers_of(connection), bytes(found))

    async def _lines(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
        begun: list[bytes] = []  # of the line that is under way
        begun_bytes = 0
        async for piece in pieces:
            first, *others = piece.split(b"\n")
            begun.append(first)
            begun_bytes += len(first)
            if begun_bytes > LINE_BYTES_MAX:
                raise Unreachable(self.url, "it sends a line without end", is_final=True)
            if not others:
                continue
            yield b"".join(begun).removesuffix(b"\r")
            *whole, last = others
            for line in whole:
                yield line.removesuffix(b"\r")
            begun, begun_bytes = [last], len(last)

    def _silent(self, trouble: OSError, seconds: float) -> Unreachable:
        if isinstance(trouble, TimeoutError):
            return Unreachable(self.url, f"nothing heard for {seconds:g} s")
        return Unreachable(self.url, _reason(trouble))

    def _too_large(self) -> Unreachable:
        reason = f"its answer is larger than {ANSWER_BYTES_MAX} bytes; ask for less"
        return Unreachable(self.url, reason, is_final=True)

    # -- connections -----------------------------------------------------------------------------

    async def _pool(self) -> Connections:
        loop = asyncio.get_running_loop()
        kept = self._open.get(loop)
        if kept is None:
            tls = self._tls if self._is_secure else None
            endpoint = Endpoint(host=self._host, port=self._port, tls=tls)
            # Nothing inside lets go of the loop, so two first calls make one pool.
            kept = self._open[loop] = await _Kept.opened(endpoint)
        return kept.pool

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()  # SSL_CERT_FILE and SSL_CERT_DIR are heeded there
        context.set_alpn_protocols(["http/1.1"])
        if path := os.environ.get(CA_FILE):
            try:
                context.load_verify_locations(path)
            except OSError as trouble:
                why = f"{CA_FILE}: {path} cannot be read: {trouble.strerror or trouble}"
                if isinstance(trouble, ssl.SSLError):
                    why = f"{CA_FILE}: {path} holds no certificate in PEM"
                raise Unreachable(self.url, why, is_final=True) from None
        return context


class _Kept:
    """The connections of one event loop.

    A loop that ends closes its asynchronous generators. So one of them owns the pool: whoever
    calls asyncio.run again and again leaves nothing open behind.
    """

    def __init__(self, pool: Connections, owner: AsyncGenerator[Connections]) -> None:
        self.pool, self.owner = pool, owner

    @classmethod
    async def opened(cls, endpoint: Endpoint) -> _Kept:
        owner = _owner(endpoint)
        return cls(await anext(owner), owner)


async def _owner(endpoint: Endpoint) -> AsyncGenerator[Connections]:
    pool = Connections(endpoint)
    with suppress(GeneratorExit):
        yield pool
    await pool.close()


def _is_repeatable(request: Request) -> bool:
    """Sent twice, it does what it asks for once."""
    if request.is_once:
        return False
    return request.method in _IDEMPOTENT or IDEMPOTENCY_KEY in request.headers


def _headers_of(connection: Connection) -> dict[str, str]:
    return {name.lower(): value for name, value in connection.fields}


def _lines_of(headers: dict[str, str]) -> str:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise ValueError(f"the header {name!r} holds what no header may")
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()])


def _quoted(path: str) -> str:
    """As it may stand in a request; what is quoted already stays so."""
    if not path or _PLAIN_PATH.fullmatch(path):
        return path
    return quote(path.partition("#")[0], safe=_PATH_SAFE)


# -- the address -----------------------------------------------------------------------------------


def _no_address(url: str) -> ValueError:
    return ValueError(f"{url!r} is not an address such as http://127.0.0.1:5777")


def _read_url(url: str) -> SplitResult:
    try:
        address = urlsplit(url)
        _ = address.port  # judged only when asked for
    except ValueError:
        raise _no_address(url) from None
    if address.scheme not in _PORTS or not address.hostname:
        raise _no_address(url)
    if address.query or address.fragment:
        raise _no_address(url)
    return address


def _host_of(address: SplitResult, url: str) -> str:
    host = (address.hostname or "").replace("%25", "%")
    try:
        host = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise _no_address(url) from None
    if not _HOST.fullmatch(host):
        raise _no_address(url)
    return host


def _authority(host: str, address: SplitResult) -> str:
    """What the server is called: no zone of this machine, no usual port, no dot of the root."""
    name = host.partition("%")[0].rstrip(".")
    name = f"[{name}]" if ":" in name else name
    is_usual = address.port in (None, _PORTS[address.scheme])
    return name if is_usual else f"{name}:{address.port}"


def _shown(address: SplitResult, url: str) -> str:
    """The address as errors name it: without a password."""
    if "@" in address.netloc:
        url = address._replace(netloc=address.netloc.rpartition("@")[2]).geturl()
    return url.rstrip("/")


def _authorization(address: SplitResult, token: str | None) -> str | None:
    """None: nobody says who we are."""
    if address.username is None:
        return f"Bearer {_checked_token(token)}" if token else None
    if token:
        raise ValueError("give a token, or a user and password in the address, not both")
    user, password = unquote(address.username), unquote(address.password or "")
    return "Basic " + base64.b64encode(f"{user}:{password}".encode("latin-1")).decode()


def _checked_token(token: str) -> str:
    """What goes into a header: one line of ASCII, or it would change the request."""
    if not (token.isascii() and token.isprintable()):
        raise ValueError("a token holds printable ASCII characters only")
    return token


def _user_agent() -> str:
    from windlass import __version__  # lazily: the front door imports this room

    return f"windlass-python/{__version__}"


def _distrust(trouble: ssl.SSLError) -> str:
    if isinstance(trouble, ssl.SSLCertVerificationError):
        why = trouble.verify_message
        return f"its certificate is not trusted: {why}; {CA_FILE} names a file with its authority"
    return str(trouble)


def _reason(trouble: Exception) -> str:
    if isinstance(trouble, ssl.SSLError):
        return _distrust(trouble)
    said = (trouble.strerror if isinstance(trouble, OSError) else None) or str(trouble)
    return said or type(trouble).__name__
