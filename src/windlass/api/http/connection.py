"""One connection: from bytes to requests, each of them bounded before it is believed.

uvicorn's protocol on httptools, and in front of its parser what that leaves open. Strangers speak
here: nobody is known before a head is complete.

    bytes -> slices of a head at most -> llhttp (strict) -> head judged -> the door (api.http.door)

Owns: what may be a request at all, and how long each part of one may take.
Promises: a request is understood as every proxy in front of us understands it, or refused, and
after a refusal nothing of that connection is heard. No head takes more memory than HEAD_BYTES_MAX.
A connection that says too little for too long is closed (ADR 0027 has the figures).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NoReturn

import httptools
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)
from uvicorn.server import ServerState

from windlass.api.http.caller import random_hex
from windlass.api.http.connections import Connections, address_of
from windlass.api.http.problem import BadRequest, problem_reply
from windlass.api.http.proxies import TrustedProxies
from windlass.api.http.reply import Header
from windlass.errors import BodyTooLarge, WindlassError
from windlass.limits import (
    ANSWER_STUCK_SECONDS,
    BATCH_BODY_BYTES_MAX,
    BODY_BYTES_PER_SECOND,
    BODY_SECONDS,
    HEAD_BYTES_MAX,
    HEAD_FIELDS_MAX,
    HEAD_SECONDS,
    KEEP_ALIVE_SECONDS,
    LINGER_BYTES_MAX,
    LINGER_SECONDS,
    PIPELINE_MAX,
    URL_BYTES_MAX,
)

# Two of them, and whoever stands before us may have judged the other one.
_ONCE: Final = (
    b"host",
    b"content-length",
    b"transfer-encoding",
    b"content-type",
    b"authorization",
    b"cookie",
    b"origin",
    b"sec-fetch-site",
    b"x-csrf-token",
    b"idempotency-key",
)


class _Over(Exception):
    """Stops the parser: nothing more is heard."""


class UrlTooLong(WindlassError):
    """The address in the request line is longer than is taken."""

    code = "url_too_long"
    status = 414

    def __init__(self) -> None:
        super().__init__(f"the address is longer than {URL_BYTES_MAX} bytes")


class HeadTooLarge(WindlassError):
    """The headers are more, or longer, than are taken."""

    code = "head_too_large"
    status = 431

    def __init__(self) -> None:
        super().__init__(
            f"the head is larger than {HEAD_BYTES_MAX} bytes or has more than "
            f"{HEAD_FIELDS_MAX} header lines"
        )


class VersionRefused(WindlassError):
    """Only HTTP/1.0 and HTTP/1.1 are spoken here."""

    code = "version_not_supported"
    status = 505

    def __init__(self) -> None:
        super().__init__("this server speaks HTTP/1.1 and HTTP/1.0")


class TooSlow(WindlassError):
    """The request did not arrive whole within its time."""

    code = "request_timeout"
    status = 408


class TooManyConnections(WindlassError):
    """As many connections are open as are taken; try again later."""

    code = "too_many_connections"
    status = 503
    retry_after_seconds = 1

    def __init__(self) -> None:
        super().__init__("all connections are in use; try again, and keep those that you have")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long the parts of a request may take."""

    head_seconds: float = HEAD_SECONDS
    body_seconds: float = BODY_SECONDS  # and a second for each BODY_BYTES_PER_SECOND of it
    stuck_seconds: float = ANSWER_STUCK_SECONDS  # an answer that nobody reads
    rest_seconds: float = KEEP_ALIVE_SECONDS  # between two requests
    linger_seconds: float = LINGER_SECONDS  # after a refusal, for whoever is still sending


def place_of(client: str, proxies: TrustedProxies) -> tuple[str, bool]:
    """Whose connection it is, and whether that is a proxy's."""
    return (client, True) if client in proxies else (address_of(client), False)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, bounded."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
        timeouts: Timeouts,
        proxies: TrustedProxies,
        marks: Sequence[Header],  # of every answer of this server
        on_made: Callable[[], None] = lambda: None,  # it is encrypted, and counted here from now on
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._all = connections
        self._timeouts = timeouts
        self._proxies = proxies
        self._marks = marks
        self._on_made = on_made
        self.address, self.is_of_proxy = "", False
        self.url = b""
        # Since when a head is waited for; None: its request is complete, or its body is under way.
        self._head_since: float | None = None
        self._is_in_pieces = False  # True: a part of a head has come, no more than there may be
        self._body_since: float | None = None  # None: no body is under way
        self._body_bytes = 0
        self._rests_since: float | None = None  # None: it has said something since
        self._unheard = 0  # bytes since the parser last had something to say
        self._is_last = False  # True: no request follows the one that was read
        self._refusal: WindlassError | None = None  # what a callback found
        self._ends_at: float | None = None  # None: not refused; else it is cut off then
        self._discarded = 0
        self._stuck_since: float | None = None  # None: the caller reads what it is sent

    # The life of the connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._on_made()
        if self.client:
            self.address, self.is_of_proxy = place_of(self.client[0], self._proxies)
        else:
            self.address = "local"
        self._head_since = self.loop.time()
        if not self._all.enter(self):
            self._answer(TooManyConnections())
            self._end_now()

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.leave(self)
        super().connection_lost(exc)

    def drop(self) -> None:
        self._ends_at = self.loop.time()
        self.transport.abort()

    def pause_writing(self) -> None:
        self._stuck_since = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stuck_since = None
        super().resume_writing()

    def look(self, now: float) -> None:
        if self._stuck_since is None and self.transport.is_closing():
            self._stuck_since = now  # what was sent last has yet to go out
        if self._stuck_since is not None and now - self._stuck_since > self._timeouts.stuck_seconds:
            self.drop()
        elif self._ends_at is not None:
            if now >= self._ends_at:
                self._cut()
        elif self._head_since is not None:
            if now - self._head_since > self._timeouts.head_seconds:
                self._head_overdue()
        elif self._body_since is not None:
            if self.flow.read_paused:
                self._body_since = now  # we do not listen, so it cannot speak
            elif now - self._body_since > self._body_seconds():
                self._refuse(TooSlow("the body was not complete in time"))
        elif self._rests_since is not None and not self._is_answering():
            self._end_rest(now - self._rests_since)

    def _end_rest(self, seconds: float) -> None:
        if seconds > self._timeouts.rest_seconds:
            self.transport.close()

    def _body_seconds(self) -> float:
        return self._timeouts.body_seconds + self._body_bytes / BODY_BYTES_PER_SECOND

    def _head_overdue(self) -> None:
        if self._unheard or self._is_in_pieces:
            self._refuse(TooSlow("the head was not complete in time"))
        elif self._is_answering():
            self._head_since = None  # it waits for its answer
        else:
            self.drop()  # it never said anything

    # What arrives.

    def data_received(self, data: bytes) -> None:
        if self._ends_at is not None or (self._is_last and self._body_since is None):
            self._discard(len(data))
        elif len(data) <= HEAD_BYTES_MAX:
            self._feed(data)
        else:
            view = memoryview(data)
            for start in range(0, len(data), HEAD_BYTES_MAX):
                if self._ends_at is None:
                    self._feed(view[start : start + HEAD_BYTES_MAX])

    def _feed(self, data: bytes | memoryview) -> None:
        self._rests_since = None
        if self._head_since is None and self._body_since is None:
            self._head_since = self.loop.time()
        self._unheard += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # a request without a body; it was the last one (see on_headers_complete)
        except httptools.HttpParserError as trouble:
            if self._refusal is None and self._is_last and self._body_since is None:
                return  # what follows the last request is no request
            self._refuse(self._refusal or BadRequest(f"this is no HTTP request: {trouble}"))
            return
        self._is_in_pieces = self._head_since is not None
        if self._unheard > HEAD_BYTES_MAX:
            # So much of one line, or of empty ones, or of nothing but framing.
            in_url = self._head_since is not None and not self.headers
            self._refuse(UrlTooLong() if in_url and self.url else HeadTooLarge())

    def _discard(self, count: int) -> None:
        """For whoever reads its answer only when it has sent everything. One that never has is not
        cut off for that: it would be back at once. It waits, unread, until its time is over.
        """
        self._discarded += count
        if self._discarded > LINGER_BYTES_MAX and not self.transport.is_closing():
            self.flow.pause_reading()

    # What the parser says. An exception here stops it, and data_received refuses.

    def on_message_begin(self) -> None:
        if self._is_last:
            raise _Over
        if self._head_since is None:
            self._head_since = self.loop.time()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head_since is None:
            # Nobody in front of us has seen these in the head, where they would be believed.
            self._stop(BadRequest("trailers are not taken; send header lines in the head"))
        if len(self.headers) >= HEAD_FIELDS_MAX:
            self._stop(HeadTooLarge())
        # As uvicorn does it; a call for each line would be felt.
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if (trouble := self._judge()) is not None:
            self._stop(trouble)
        super().on_headers_complete()  # raises for an address that is none, and makes nothing of it
        self._head_since, self._unheard = None, 0
        self._body_since, self._body_bytes = self.loop.time(), 0
        self._all.works(self)
        if self.parser.should_upgrade() or len(self.pipeline) >= PIPELINE_MAX:
            self.cycle.keep_alive = False
        self._is_last = not self.cycle.keep_alive

    def on_body(self, body: bytes) -> None:
        self._unheard = 0
        self._body_bytes += len(body)
        if self._body_bytes > BATCH_BODY_BYTES_MAX:
            self._stop(BodyTooLarge(BATCH_BODY_BYTES_MAX))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._body_since, self._unheard = None, 0
        super().on_message_complete()
        self._settle()

    def on_response_complete(self) -> None:
        self._go_on()
        if self._body_since is not None and self.expect_100_continue and not self._is_answering():
            # Answered before it was told to go on: the body may follow, or instead of it the next
            # request, of whoever else a proxy sends this way. Nobody can tell which.
            self._ends_at = self.loop.time() + self._timeouts.linger_seconds
            self._part()
        self._settle()

    def _go_on(self) -> None:
        """With the next request, if it is there. As uvicorn does it, but for a timer that it sets
        and takes back for each request: who rests is looked at with all the others.
        """
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def _settle(self) -> None:
        """Who was answered may be parted with, also when the rest of its body has not come."""
        if not self._is_answering():
            self._rests_since = self.loop.time()
            self._all.rests(self)

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # None: there was no request yet
        return cycle is not None and not cycle.response_complete

    def _judge(self) -> WindlassError | None:
        """What is wrong with a head that is complete. None: nothing."""
        version = self.parser.get_http_version()
        if version == "1.0":
            self.expect_100_continue = False  # it does not know that answer (RFC 9110, 10.1.1)
        if version not in ("1.1", "1.0"):
            return BadRequest("HTTP/0.9 is not spoken") if version == "0.9" else VersionRefused()
        if len(self.url) > URL_BYTES_MAX:
            return UrlTooLong()
        found = dict(self.headers)
        if len(found) < len(self.headers):
            names = [name for name, _ in self.headers]
            for name in _ONCE:
                if names.count(name) > 1:
                    return BadRequest(f"{name.decode()} stands twice in the head")
        if self._is_in_pieces and self._head_bytes() > HEAD_BYTES_MAX:
            return HeadTooLarge()
        if b"host" not in found and version == "1.1":
            return BadRequest("a request of HTTP/1.1 names its Host")
        coding = found.get(b"transfer-encoding")
        if coding is not None and (coding.strip().lower() != b"chunked" or version == "1.0"):
            return BadRequest("the only Transfer-Encoding is chunked, in HTTP/1.1")
        length = int(found.get(b"content-length", b"0"))
        if length > BATCH_BODY_BYTES_MAX:
            return BodyTooLarge(BATCH_BODY_BYTES_MAX)
        if self.parser.should_upgrade() and (coding is not None or length):
            # The parser takes what follows for the other protocol, and a proxy for the body.
            return BadRequest("nothing is upgraded to here; send the body without Upgrade")
        if self.parser.get_method() == b"CONNECT":
            return BadRequest("this is no proxy")
        return None

    def _head_bytes(self) -> int:
        return len(self.url) + sum(map(len, chain.from_iterable(self.headers)))

    # Refusing.

    def _stop(self, trouble: WindlassError) -> NoReturn:
        # Never raised itself: its trace would keep what was received until the collector comes.
        self._refusal = trouble
        raise _Over

    def _refuse(self, trouble: WindlassError) -> None:
        """Say why, as far as somebody listens, and hear nothing more."""
        self._ends_at = self.loop.time() + self._timeouts.linger_seconds
        if self._body_since is None and self._is_answering():
            # Earlier requests are good ones: they are answered, and then it is over.
            self.cycle.keep_alive = False
            self._ends_at = float("inf")
            self._all.on_refused(trouble.code)
            return
        if self._body_since is not None and not self._give_up_body():
            self._all.on_refused(trouble.code)
            self.transport.abort()
            return
        self._answer(trouble)
        self._part()

    def _part(self) -> None:
        """Nothing more is said; what it still sends is not heard."""
        if self.transport.can_write_eof() and not self.transport.is_closing():
            # With what it still sends unread, closing would take our answer away from it.
            self.transport.write_eof()
        elif not self._is_tls():
            self._end_now()
        # Half of a connection with TLS cannot be closed: it lingers as it is.

    def _cut(self) -> None:
        """Its time is over. With TLS it hears so, and is cut off at the next look if need be."""
        if self._is_tls() and not self.transport.is_closing():
            self.transport.close()
        else:
            self.transport.abort()

    def _is_tls(self) -> bool:
        return self.scheme == "https"

    def _give_up_body(self) -> bool:
        """Its request will never be whole. Whether it can still be told."""
        cycle = self.cycle
        if cycle.response_started or self.pipeline:
            return False
        cycle.disconnected = True
        cycle.message_event.set()
        return True

    def _answer(self, trouble: WindlassError) -> None:
        self._all.on_refused(trouble.code)
        request_id = random_hex()
        reply = problem_reply(trouble, request_id)
        lines = [
            *self.server_state.default_headers,
            *reply.headers,
            *self._marks,
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        head = b"".join(b"%s: %s\r\n" % line for line in lines)
        self.transport.write(b"%s%s\r\n%s" % (STATUS_LINE[reply.status], head, reply.body))

    def _end_now(self) -> None:
        self._ends_at = self.loop.time()
        self._all.leave(self)
        self.transport.close()
