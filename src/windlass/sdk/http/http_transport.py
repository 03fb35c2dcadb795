"""Requests over HTTP, on a connection pool for each event loop.

Promises: one App or client may be used from several event loops, one after the other or at once;
each loop has connections of its own, and they are closed when that loop ends.
Never: follows a redirect, keeps a cookie or reads proxy settings; the token goes to the address
given and no other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from windlass.sdk.http.problems import Unreachable, error_of
from windlass.sdk.http.transport import Request, Response
from windlass.sdk.limits import (
    ANSWER_BYTES_MAX,
    CONNECT_SECONDS,
    CONNECTIONS_MAX,
    LINE_BYTES_MAX,
)

if TYPE_CHECKING:
    import aiohttp

_CHUNK_BYTES: Final = 64 * 1024


class HttpTransport:
    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = _checked_url(url)
        self._headers = {"Accept": "application/json", "User-Agent": _user_agent()}
        if token:
            self._headers["Authorization"] = f"Bearer {_checked_token(token)}"
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, _Kept] = WeakKeyDictionary()

    async def send(self, request: Request) -> Response:
        import aiohttp

        total = request.timeout_seconds
        timeout = aiohttp.ClientTimeout(total=total, sock_connect=min(CONNECT_SECONDS, total))
        try:
            async with await self._ask(request, timeout) as answer:
                return await self._read(answer)
        except TimeoutError:
            raise Unreachable(self.url, f"no answer within {total:.3g} s") from None
        except ssl.SSLError as trouble:
            raise Unreachable(self.url, str(trouble), is_final=True) from None
        except (aiohttp.ClientError, OSError) as trouble:
            raise Unreachable(self.url, _reason(trouble)) from None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        import aiohttp

        silence = request.timeout_seconds
        timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=silence)
        try:
            async with await self._ask(request, timeout) as answer:
                if answer.status != 200:
                    refused = await self._read(answer)
                    raise error_of(refused.status, refused.headers, refused.body)
                yield self._lines(answer)
        except TimeoutError:
            raise Unreachable(self.url, f"nothing heard for {silence:g} s") from None
        except (aiohttp.ClientError, OSError) as trouble:
            raise Unreachable(self.url, _reason(trouble)) from None

    async def close(self) -> None:
        kept = self._open.pop(asyncio.get_running_loop(), None)
        if kept is not None:
            await kept.owner.aclose()

    async def _ask(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        session = await self._session()
        return await session.request(
            request.method,
            self.url + request.path,
            data=request.body,
            headers=request.headers,
            timeout=timeout,
            allow_redirects=False,
            middlewares=(self._sent_once,) if request.is_once else None,
        )

    async def _sent_once(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """aiohttp by itself sends a PUT again when a kept connection breaks, answered or not."""
        import aiohttp

        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as trouble:
            raise Unreachable(self.url, _reason(trouble)) from None

    async def _read(self, answer: aiohttp.ClientResponse) -> Response:
        found = bytearray()
        async for piece in answer.content.iter_any():
            found += piece
            if len(found) > ANSWER_BYTES_MAX:
                reason = f"its answer is larger than {ANSWER_BYTES_MAX} bytes; ask for less"
                raise Unreachable(self.url, reason, is_final=True)
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(status=answer.status, headers=headers, body=bytes(found))

    async def _lines(self, answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes]:
        rest = b""
        async for piece in answer.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r")
            if len(rest) > LINE_BYTES_MAX:
                raise Unreachable(self.url, "it sends a line without end", is_final=True)

    async def _session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        kept = self._open.get(loop)
        if kept is None:
            # Nothing inside lets go of the loop, so two first calls open one session.
            kept = self._open[loop] = await _Kept.opened(self._headers)
        return kept.session


class _Kept:
    """The connections of one event loop.

    A loop that ends closes its asynchronous generators. So one of them owns the session: whoever
    calls asyncio.run again and again leaves nothing open behind.
    """

    def __init__(
        self, session: aiohttp.ClientSession, owner: AsyncGenerator[aiohttp.ClientSession]
    ) -> None:
        self.session, self.owner = session, owner

    @classmethod
    async def opened(cls, headers: dict[str, str]) -> _Kept:
        owner = _owner(headers)
        return cls(await anext(owner), owner)


async def _owner(headers: dict[str, str]) -> AsyncGenerator[aiohttp.ClientSession]:
    import aiohttp

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS_MAX),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        with suppress(GeneratorExit):
            yield session


def _checked_url(url: str) -> str:
    wrong = ValueError(f"{url!r} is not an address such as http://127.0.0.1:5777")
    try:
        address = urlsplit(url)
        _ = address.port  # judged only when asked for
    except ValueError:
        raise wrong from None
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise wrong
    if address.query or address.fragment:
        raise wrong
    return url.rstrip("/")


def _checked_token(token: str) -> str:
    """What goes into a header: one line of ASCII, or it would change the request."""
    if not (token.isascii() and token.isprintable()):
        raise ValueError("a token holds printable ASCII characters only")
    return token


def _user_agent() -> str:
    from windlass import __version__  # lazily: the front door imports this room

    return f"windlass-python/{__version__}"


def _reason(trouble: Exception) -> str:
    said = (trouble.strerror if isinstance(trouble, OSError) else None) or str(trouble)
    return said or type(trouble).__name__
