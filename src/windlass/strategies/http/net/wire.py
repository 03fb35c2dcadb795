"""One HTTP/1.1 connection: a request goes out, an answer comes in, as much of it as we want.

Written by hand on asyncio and httptools (ADR 0015), because a delivery needs little of HTTP and has
to be cheap: one request at a time, an answer that is read raw up to a cap, and a connection that is
used again only when nothing of the last exchange can be left on it.

Bounded: the head of an answer by its bytes and its number of fields, the body by the cap, what lies
between the parts of a body as the head is; whoever sends more is cut off. Time is the caller's:
every await here may be cancelled, and a wire on which that happened within an exchange is closed.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final, cast

import httptools

from windlass.limits import (
    RESPONSE_BYTES_MAX,
    RESPONSE_HEAD_BYTES_MAX,
    RESPONSE_HEADERS_MAX,
)

Fields = list[tuple[str, str]]
# A longer request goes out in pieces of this: the transport of TLS does not tell how much of a
# single long one it still holds.
_PIECE_BYTES: Final = 64 * 1024
_REASON_BYTES_MAX: Final = 256


class WireBroken(ConnectionError):
    """There is no answer, or only a part of one. `cause` is short, for grouping."""

    def __init__(self, cause: str, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class Wire(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_broken = False
        self._trouble: Exception | None = None
        self._is_head_request = False
        self._is_choked = False  # the transport has more of ours than it wants
        self._start()

    def _start(self) -> None:
        self.status = 0
        self.fields: Fields = []
        self.is_whole = True  # False: there was more than we took, or there may have been
        self._reason = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._field_bytes = 0
        self._barren_bytes = 0  # read since the head began, or the body last grew
        self._is_sent = True
        self._has_head = False
        self._is_over = False
        self._is_kept = False

    # -- for the pool ----------------------------------------------------------------------------

    @property
    def is_reusable(self) -> bool:
        """The last answer was read to its end, and the other side keeps the connection."""
        transport = self._transport
        if transport is None or self._is_broken or transport.is_closing():
            return False
        # It may have answered before it took all that we said.
        is_heard = self._is_sent and transport.get_write_buffer_size() == 0
        return self._is_over and self._is_kept and is_heard

    @property
    def address(self) -> str | None:
        peer = self._transport.get_extra_info("peername") if self._transport else None
        return str(peer[0]) if peer else None

    def close(self) -> None:
        self._break(None)

    # -- one exchange ----------------------------------------------------------------------------

    async def ask(self, request: bytes, *, is_head: bool) -> None:
        """Send a request; returns when the head of its answer is there."""
        assert self._transport is not None
        self._start()
        self._is_head_request = is_head
        self._parser = httptools.HttpResponseParser(self)
        if len(request) > _PIECE_BYTES:
            await self._send_pieces(self._transport, memoryview(request))
        elif not self._is_broken:
            self._transport.write(request)
        while not self._has_head:
            await self._news()

    async def body(self) -> bytes:
        """The body, at most the cap."""
        while not self._is_over:
            await self._news()
        return b"".join(self._body)

    @property
    def reason(self) -> str:
        return self._reason.decode("latin-1")

    async def _send_pieces(self, transport: asyncio.Transport, request: memoryview) -> None:
        """As fast as they are taken, until they are answered."""
        self._is_sent = False
        for start in range(0, len(request), _PIECE_BYTES):
            while self._is_choked or self._is_broken:
                if self._has_head:
                    return
                await self._news()
            transport.write(request[start : start + _PIECE_BYTES])
        self._is_sent = True

    async def _news(self) -> None:
        if self._is_broken:
            raise self._take_trouble()
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take_trouble(self) -> Exception:
        """Given away: by its traceback it holds the request, and so would a wire that held it."""
        trouble, self._trouble = self._trouble, None
        return trouble or WireBroken("disconnected", "the connection was closed on our side")

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _break(self, trouble: Exception | None) -> None:
        """Nothing more goes either way; an answer that is over stays. None: we wanted it so."""
        if not self._is_broken:
            self._is_broken, self._trouble = True, trouble
            if self._transport is not None:
                self._transport.abort()
        self._tell()

    # -- what the loop tells ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._is_over:
            # Nobody asked: what follows would be taken for the next answer.
            self._break(WireBroken("not http", "the receiver spoke without being asked"))
            return
        self._barren_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(is_kept=False)  # what follows is another protocol
        except httptools.HttpParserCallbackError as trouble:
            self._break(_inner(trouble))
        except httptools.HttpParserError as trouble:
            self._break(WireBroken("not http", f"the receiver does not speak HTTP: {trouble}"))
        if self._barren_bytes > RESPONSE_HEAD_BYTES_MAX and not self._is_over:
            self._break(_too_large())  # perhaps of one line without an end

    def eof_received(self) -> None:
        """They have said all they want to say; what they may still hear does not matter."""
        if self._ends_with_the_connection():
            self.is_whole = self._is_goodbye()
            self._end(is_kept=False)
        self._break(self._hung_up())

    def connection_lost(self, trouble: Exception | None) -> None:
        if trouble is None and self._ends_with_the_connection():
            self.is_whole = False  # without a goodbye; of which only some loops tell at all
            self._end(is_kept=False)
        self._break(trouble if isinstance(trouble, OSError) else self._hung_up())
        self._parser = None  # it holds us as we hold it

    def pause_writing(self) -> None:
        self._is_choked = True

    def resume_writing(self) -> None:
        self._is_choked = False
        self._tell()

    def _ends_with_the_connection(self) -> bool:
        """Whether an answer is under way that has no other end."""
        if not self._has_head or self._is_over or self._is_broken:
            return False
        codings = ""
        for name, value in self.fields:
            if name.lower() == "content-length":
                return False
            if name.lower() == "transfer-encoding":
                codings = value
        return codings.rpartition(",")[2].strip().lower() != "chunked"

    def _is_goodbye(self) -> bool:
        """False: TLS without its own end; anybody on the way may have cut the answer short."""
        tls = self._transport.get_extra_info("ssl_object") if self._transport else None
        try:
            return tls is None or tls.read(1) == b""
        except ssl.SSLError:
            return False

    def _hung_up(self) -> WireBroken:
        if self._has_head:
            return WireBroken("broken answer", "the receiver hung up within its answer")
        return WireBroken("disconnected", "the receiver hung up without an answer")

    # -- what the parser tells -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_over:
            raise WireBroken("not http", "the receiver answered more than it was asked")

    def on_status(self, part: bytes) -> None:
        self._reason = (self._reason + part)[:_REASON_BYTES_MAX]

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # after a body; the head may have been read by now
        self._field_bytes += len(name) + len(value)
        if len(self.fields) >= RESPONSE_HEADERS_MAX or self._field_bytes > RESPONSE_HEAD_BYTES_MAX:
            raise _too_large()
        self.fields.append((name.decode("latin-1"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 100:
            raise WireBroken("not http", f"the receiver answered {status}, which is no status")
        if status < 200 and status != 101:
            return  # an interim answer; on_message_complete forgets it
        self.status = status
        self._barren_bytes = 0
        self._has_head = True
        if self._is_head_request:
            # The parser would wait for the body that the length speaks of.
            self._end(is_kept=False)
        self._tell()

    def on_body(self, part: bytes) -> None:
        if self._is_over or not self._has_head:
            return
        self._barren_bytes = 0
        room = RESPONSE_BYTES_MAX - self._body_bytes
        self._body.append(part[:room] if len(part) > room else part)
        self._body_bytes += min(len(part), room)
        if len(part) > room:
            self.is_whole = False
            self._end(is_kept=False)
            self.close()

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if not self._has_head:
            # It was an interim answer: forget it.
            self.fields, self._reason = [], b""
            self._barren_bytes = self._field_bytes = 0
        elif not self._is_over:
            self._end(is_kept=self._parser.should_keep_alive())

    def _end(self, *, is_kept: bool) -> None:
        self._is_over, self._is_kept = True, is_kept
        self._tell()


def _too_large() -> WireBroken:
    return WireBroken(
        "headers too large",
        f"the head of the answer, or what surrounds its body, has more than "
        f"{RESPONSE_HEAD_BYTES_MAX} bytes or {RESPONSE_HEADERS_MAX} fields",
    )


def _inner(trouble: httptools.HttpParserCallbackError) -> Exception:
    inner = trouble.__context__ or trouble.__cause__
    return inner if isinstance(inner, WireBroken) else WireBroken("not http", str(trouble))
