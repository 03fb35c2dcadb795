"""One HTTP/1.1 connection: a request goes out, an answer comes in, as much of it as we want.

Written by hand on asyncio and httptools (ADR 0015), because deliveries and the SDK need little of
HTTP and it has to be cheap: one request at a time, an answer that is read raw, and a connection
that is used again only when nothing of the last exchange can be left on it.

    ask ── head: status, fields ─┬─ body     all of it, up to the cap, and no more
                                 └─ piece    as it comes, for as long as it comes; a reader that is
                                             behind makes the sender wait (back-pressure)

Bounded: the head of an answer by its bytes and its number of fields, the body by the cap, what lies
between the parts of a body as the head is; whoever sends more is cut off. Time is the caller's:
every await here may be cancelled, and who was cancelled within an exchange closes the connection.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import Final, cast

import httptools

Fields = list[tuple[str, str]]
# A longer request goes out in pieces of this: the transport of TLS does not tell how much of a
# single long one it still holds.
_PIECE_BYTES: Final = 64 * 1024
_REASON_BYTES_MAX: Final = 256
# So much of a streamed body lies here unread before the sender is kept waiting.
_WINDOW_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBounds:
    """How much of an answer is taken."""

    body_bytes_max: int  # of one that is read whole; a streamed one has no end
    head_bytes_max: int
    fields_max: int


class ConnectionBroken(ConnectionError):
    """There is no answer, or only a part of one. `cause` is short, for grouping."""

    def __init__(self, cause: str, message: str) -> None:
        self.cause = cause
        super().__init__(message)


class Connection(asyncio.Protocol):
    def __init__(self, bounds: AnswerBounds) -> None:
        self._bounds = bounds
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.is_broken = False
        self._trouble: Exception | None = None
        self._is_head_request = False
        self._is_streamed = False
        self._is_choked = False  # the transport has more of ours than it wants
        self.is_held = False  # the other side has said more than was read
        self._start()

    def _start(self) -> None:
        self.status = 0
        self.fields: Fields = []
        self.is_whole = True  # False: there was more than we took, or there may have been
        self.is_over_cap = False  # there was more than we took
        self._reason = b""
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._field_bytes = 0
        self._barren_bytes = 0  # read since the head began, or the body last grew
        self._is_sent = True
        self._has_bytes = False
        self._has_head = False
        self._is_over = False
        self._is_kept = False

    # -- for a pool ------------------------------------------------------------------------------

    @property
    def is_reusable(self) -> bool:
        """The last answer was read to its end, and the other side keeps the connection."""
        transport = self._transport
        if transport is None or self.is_broken or transport.is_closing():
            return False
        # It may have answered before it took all that we said.
        is_heard = self._is_sent and transport.get_write_buffer_size() == 0
        return self._is_over and self._is_kept and is_heard and not self.is_held

    @property
    def is_untouched(self) -> bool:
        """No byte of an answer has come since the last request."""
        return not self._has_bytes

    @property
    def address(self) -> str | None:
        peer = self._transport.get_extra_info("peername") if self._transport else None
        return str(peer[0]) if peer else None

    def close(self) -> None:
        self._break(None)

    # -- one exchange ----------------------------------------------------------------------------

    async def ask(
        self, request: bytes, *, is_head: bool = False, is_streamed: bool = False
    ) -> None:
        """Send a request; returns when the head of its answer is there. `is_streamed`: its body is
        read by `piece`, else by `body`.
        """
        assert self._transport is not None
        self._start()
        self._is_head_request, self._is_streamed = is_head, is_streamed
        self._parser = httptools.HttpResponseParser(self)
        if len(request) > _PIECE_BYTES:
            await self._send_pieces(self._transport, memoryview(request))
        elif not self.is_broken:
            self._transport.write(request)
        while not self._has_head:
            await self._news()

    async def body(self) -> bytes:
        """The body, at most the cap."""
        while not self._is_over:
            await self._news()
        return b"".join(self._body)

    async def piece(self) -> bytes:
        """What has come of a streamed body since the last call; waits for it. Empty: it is over."""
        assert self._is_streamed
        while not self._body and not self._is_over:
            await self._news()
        piece = b"".join(self._body)
        self._body.clear()
        self._body_bytes = 0
        if self.is_held:
            self.is_held = False
            if self._transport is not None and not self.is_broken:
                self._transport.resume_reading()
        return piece

    @property
    def reason(self) -> str:
        return self._reason.decode("latin-1")

    async def _send_pieces(self, transport: asyncio.Transport, request: memoryview) -> None:
        """As fast as they are taken, until they are answered."""
        self._is_sent = False
        for start in range(0, len(request), _PIECE_BYTES):
            while self._is_choked or self.is_broken:
                if self._has_head:
                    return
                await self._news()
            transport.write(request[start : start + _PIECE_BYTES])
        self._is_sent = True

    async def _news(self) -> None:
        if self.is_broken:
            raise self._take_trouble()
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take_trouble(self) -> Exception:
        """Given away: its traceback holds the request, and so would a connection that held it."""
        trouble, self._trouble = self._trouble, None
        return trouble or ConnectionBroken("disconnected", "the connection was closed on our side")

    def _tell(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _break(self, trouble: Exception | None) -> None:
        """Nothing more goes either way; an answer that is over stays. None: we wanted it so."""
        if not self.is_broken:
            self.is_broken, self._trouble = True, trouble
            if self._transport is not None:
                self._transport.abort()
        self._tell()

    # -- what the loop tells ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._is_over:
            # Nobody asked: what follows would be taken for the next answer.
            trouble = "the other side spoke without being asked"
            self._break(ConnectionBroken("not http", trouble))
            return
        self._has_bytes = True
        self._barren_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(is_kept=False)  # what follows is another protocol
        except httptools.HttpParserCallbackError as trouble:
            self._break(_inner(trouble))
        except httptools.HttpParserError as trouble:
            said = f"the other side does not speak HTTP: {trouble}"
            self._break(ConnectionBroken("not http", said))
        if self._barren_bytes > self._bounds.head_bytes_max and not self._is_over:
            self._break(self._too_large())  # perhaps of one line without an end
        if self._is_streamed and self._body_bytes > _WINDOW_BYTES and not self.is_held:
            self._hold()

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
        if isinstance(trouble, ssl.SSLError):
            # Such an error as it stands says that a connection could not be secured.
            trouble = ConnectionBroken("tls", str(trouble))
        self._break(trouble if isinstance(trouble, OSError) else self._hung_up())
        self._parser = None  # it holds us as we hold it

    def _hold(self) -> None:
        """Hear no more until the reader has taken what there is."""
        if self._transport is not None and not self.is_broken:
            self.is_held = True
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._is_choked = True

    def resume_writing(self) -> None:
        self._is_choked = False
        self._tell()

    def _ends_with_the_connection(self) -> bool:
        """Whether an answer is under way that has no other end."""
        if not self._has_head or self._is_over or self.is_broken:
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

    def _hung_up(self) -> ConnectionBroken:
        if self._has_head:
            return ConnectionBroken("broken answer", "the other side hung up within its answer")
        return ConnectionBroken("disconnected", "the other side hung up without an answer")

    # -- what the parser tells -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_over:
            raise ConnectionBroken("not http", "the other side answered more than it was asked")

    def on_status(self, part: bytes) -> None:
        self._reason = (self._reason + part)[:_REASON_BYTES_MAX]

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # after a body; the head may have been read by now
        self._field_bytes += len(name) + len(value)
        bounds = self._bounds
        if len(self.fields) >= bounds.fields_max or self._field_bytes > bounds.head_bytes_max:
            raise self._too_large()
        self.fields.append((name.decode("latin-1"), value.decode("utf-8", "surrogateescape")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 100:
            raise ConnectionBroken("not http", f"the answer is {status}, which is no status")
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
        if self._is_streamed:
            self._body.append(part)
            self._body_bytes += len(part)
            self._tell()
            return
        room = self._bounds.body_bytes_max - self._body_bytes
        self._body.append(part[:room] if len(part) > room else part)
        self._body_bytes += min(len(part), room)
        if len(part) > room:
            self.is_whole, self.is_over_cap = False, True
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

    def _too_large(self) -> ConnectionBroken:
        bounds = self._bounds
        return ConnectionBroken(
            "headers too large",
            f"the head of the answer, or what surrounds its body, has more than "
            f"{bounds.head_bytes_max} bytes or {bounds.fields_max} fields",
        )


def _inner(trouble: httptools.HttpParserCallbackError) -> Exception:
    inner = trouble.__context__ or trouble.__cause__
    return (
        inner if isinstance(inner, ConnectionBroken) else ConnectionBroken("not http", str(trouble))
    )
