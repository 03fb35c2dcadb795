"""A guarded session, for the requests that are not deliveries: those for OAuth tokens.

Deliveries have connections of their own (see pool). These are rare and speak to servers of all
kinds, so aiohttp does the talking; but where they lead is as much a user's word as a delivery's.
aiohttp asks the resolver only for names; a URL with a literal address goes straight to the socket.
So every socket is judged as well, on every hop of a redirect. A connection that is reused was
judged when it was made and stays where it is.
"""

from __future__ import annotations

import socket
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from windlass.limits import DNS_KEPT_SECONDS, RESPONSE_HEADER_BYTES_MAX, RESPONSE_HEADERS_MAX
from windlass.strategies.http.net.egress import Egress, EgressRefused
from windlass.strategies.http.net.resolver import Lookup, Resolver

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace

# The host of the URL being connected to. A socket is asked for by address alone.
_HOST: Final[ContextVar[str]] = ContextVar("host")


def open_session(
    egress: Egress,
    connections_max: int,
    lookup: Lookup = socket.getaddrinfo,
    *,
    dns_kept_seconds: float = DNS_KEPT_SECONDS,
) -> aiohttp.ClientSession:
    """A session that reaches what `egress` permits. It has no deadlines: its caller sets them."""
    resolver = Resolver(egress, lookup, kept_seconds=dns_kept_seconds)
    session = aiohttp.ClientSession(
        connector=_Connector(egress, resolver, connections_max),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        max_line_size=RESPONSE_HEADER_BYTES_MAX,
        max_field_size=RESPONSE_HEADER_BYTES_MAX,
        max_headers=RESPONSE_HEADERS_MAX,
    )
    # Left to itself aiohttp sends a request again when its connection breaks. Whoever asks decides
    # about a second try.
    session._retry_connection = False
    return session


class _Connector(aiohttp.TCPConnector):
    allowed_protocol_schema_set = frozenset({"http", "https"})

    def __init__(self, egress: Egress, resolver: Resolver, connections_max: int) -> None:
        super().__init__(
            resolver=resolver,
            use_dns_cache=False,  # the resolver has its own, and judges what it finds there
            limit=connections_max,
            socket_factory=partial(_open_socket, egress),
        )
        self._own_resolver = resolver

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        _HOST.set(req.url.raw_host or "")
        try:
            return await super().connect(req, traces, timeout)
        except aiohttp.ClientConnectorError as trouble:
            if isinstance(trouble.os_error, EgressRefused):
                raise trouble.os_error from None
            raise

    async def close(self, *, abort_ssl: bool = False) -> None:
        await super().close(abort_ssl=abort_ssl)
        await self._own_resolver.close()


def _open_socket(egress: Egress, info: tuple[Any, ...]) -> socket.socket:
    """A socket for one address that may be connected to. Raises EgressRefused."""
    family, kind, protocol, _, (address, *_) = info
    egress.check(_HOST.get(), address)
    return socket.socket(family=family, type=kind, proto=protocol)
