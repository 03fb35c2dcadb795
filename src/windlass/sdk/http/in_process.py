"""The API of a node in this very process, without a socket between.

Owns: the request as the API sees it. The caller is known by being inside: its name stands in the
scope, where only code of this process can put it (see api.http.door); no header can say the same.
Promises: may be used from any thread and from any event loop; the API runs on the node's own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, Final
from urllib.parse import unquote

from windlass.sdk.http.cross_loop import AsgiApp, CrossLoop, Message, on_loop
from windlass.sdk.http.problems import Unreachable, error_of
from windlass.sdk.http.transport import Request, Response

# The name of the caller in the scope; api.http.door reads it.
INSIDE: Final = "windlass.inside"
# What errors call it, where others name an address.
WHERE: Final = "the node in this process"
# Pieces of a stream that wait for a slow reader; then the API is kept waiting.
PIECES_MAX: Final = 16


class InProcessTransport:
    def __init__(self, app: AsgiApp, loop: asyncio.AbstractEventLoop, owner: str) -> None:
        self._app, self._loop, self._owner = app, loop, owner

    async def send(self, request: Request) -> Response:
        total = request.timeout_seconds
        try:
            async with asyncio.timeout(total):
                return await on_loop(self._loop, self._answer(request))
        except TimeoutError:
            raise Unreachable(WHERE, f"no answer within {total:.3g} s") from None
        except ConnectionError as trouble:
            raise Unreachable(WHERE, str(trouble), is_final=True) from None

    @contextlib.asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
        flow = _Flow(request.body or b"", request.timeout_seconds)
        serving = asyncio.create_task(self._serve(request, flow))
        try:
            yield await flow.answered()
        finally:
            flow.gone.set()
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving

    async def close(self) -> None:
        """Nothing is held open: the node ends by itself."""

    async def _answer(self, request: Request) -> Response:
        exchange = _Exchange(request.body or b"")
        await self._app(self._scope(request), exchange.receive, exchange.send)
        return exchange.response()

    async def _serve(self, request: Request, flow: _Flow) -> None:
        try:
            await CrossLoop(self._app, self._loop)(self._scope(request), flow.receive, flow.send)
            await flow.pieces.put(None)
        except Exception as trouble:
            await flow.pieces.put(trouble)

    def _scope(self, request: Request) -> dict[str, Any]:
        path, _, query = request.path.partition("?")
        headers = [(n.lower().encode(), v.encode()) for n, v in request.headers.items()]
        if request.body is not None:
            headers.append((b"content-length", str(len(request.body)).encode()))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": None,
            "server": None,
            "state": {},
            INSIDE: self._owner,
        }


class _Exchange:
    """One request and its whole answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body  # None: it was read
        self._status = 0
        self._headers: dict[str, str] = {}
        self._pieces: list[bytes] = []

    async def receive(self) -> Message:
        if self._body is None:
            # Who asks again asks whether the caller has gone; it stays until it is cancelled.
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {n.decode().lower(): v.decode() for n, v in message["headers"]}
        else:
            self._pieces.append(message.get("body", b""))

    def response(self) -> Response:
        return Response(status=self._status, headers=self._headers, body=b"".join(self._pieces))


class _Flow:
    """One request and its answer as it comes, on the caller's loop."""

    def __init__(self, body: bytes, silence_seconds: float) -> None:
        self._body: bytes | None = body  # None: it was read
        self._silence_seconds = silence_seconds
        self._head = _Exchange(b"")
        self.gone = asyncio.Event()
        # None: the end. An exception: what ended it.
        self.pieces: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(PIECES_MAX)

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._head.send(message)
        await self.pieces.put(message.get("body", b""))

    async def answered(self) -> AsyncIterator[bytes]:
        """The lines, once the API has said that there are some. Raises what it refused with."""
        if await self._next() is None:  # the head comes first, and has no bytes
            raise Unreachable(WHERE, "it ended without an answer")
        if self._head.response().status == 200:
            return self._lines()
        body = b""
        while (piece := await self._next()) is not None:
            body += piece
        refused = self._head.response()
        raise error_of(refused.status, refused.headers, body)

    async def _lines(self) -> AsyncIterator[bytes]:
        rest = b""
        while (piece := await self._next()) is not None:
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                yield line.removesuffix(b"\r")

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(self._silence_seconds):
                piece = await self.pieces.get()
        except TimeoutError:
            raise Unreachable(WHERE, f"nothing heard for {self._silence_seconds:g} s") from None
        if isinstance(piece, ConnectionError):
            raise Unreachable(WHERE, str(piece), is_final=True) from None
        if isinstance(piece, Exception):
            raise piece
        return piece
