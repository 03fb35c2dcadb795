"""The connection pool: made only where the egress guard permits, measured, and kept a while.

A connection is judged at the moment its socket is made, by the address it goes to and never by what
the URL says; one that is kept was judged then and stays where it is. How many are in use is the
business of the slots; how many lie idle is bounded here, whoever they belong to.

    take ─┬─ an idle one ──────────────────────────────────────────────── address, is_reused
          └─ resolve: dns_ms ─ judge ─ TCP: connect_ms ─ TLS: tls_ms ──── address
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, Final

import aiohappyeyeballs

from windlass.config.parsers import is_address
from windlass.http1.connection import AnswerBounds, Connection, ConnectionBroken
from windlass.limits import (
    IDLE_CONNECTIONS_MAX,
    IDLE_SECONDS_MAX,
    RESPONSE_BYTES_MAX,
    RESPONSE_HEAD_BYTES_MAX,
    RESPONSE_HEADERS_MAX,
)
from windlass.strategies.http.net.address import Address
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.resolver import AddressInfo, Lookup, Resolver, address_info

# The second of several addresses is tried when the first is silent for so long.
_NEXT_ADDRESS_SECONDS: Final = 0.25
_BOUNDS: Final = AnswerBounds(
    body_bytes_max=RESPONSE_BYTES_MAX,
    head_bytes_max=RESPONSE_HEAD_BYTES_MAX,
    fields_max=RESPONSE_HEADERS_MAX,
)

# Whom a connection may serve: host, port, and how it is secured (None: not at all).
_Key = tuple[str, int, ssl.SSLContext | None]


@dataclass(slots=True, kw_only=True)
class Timings:
    """How the connection of a request came about; with redirects, that of the last one."""

    # None: it was not needed, or it did not end.
    dns_ms: float | None = None
    connect_ms: float | None = None
    tls_ms: float | None = None
    # The last one tried, when none was reached. None: none was tried.
    address: str | None = None
    is_reused: bool = False


class Pool:
    def __init__(
        self,
        egress: Egress,
        lookup: Lookup = socket.getaddrinfo,
        *,
        idle_max: int = IDLE_CONNECTIONS_MAX,
    ) -> None:
        self._egress = egress
        self._resolver = Resolver(egress, lookup)
        self._loop = asyncio.get_running_loop()
        # The one idle longest first; of each, whom it may serve and since when it is idle.
        self._idle: OrderedDict[Connection, tuple[_Key, float]] = OrderedDict()
        self._by_key: dict[_Key, list[Connection]] = {}
        self._in_use: dict[Connection, _Key] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._idle_max = idle_max

    async def take(
        self,
        address: Address,
        *,
        context: ssl.SSLContext | None,
        connect_seconds: float,
        timings: Timings,
    ) -> Connection:
        """A connection for one exchange; give it back. `context` None: the usual one, for https.

        Raises TimeoutError, EgressRefused, and what the system says.
        """
        secured = (context or self._usual_context) if address.is_secure else None
        key = (address.host, address.port, secured)
        connection = self._pop(key)
        if connection is not None:
            timings.is_reused, timings.address = True, connection.address
        else:
            async with asyncio.timeout(connect_seconds):
                connection = await self._connect(address, secured, timings)
        if self._is_closed:
            connection.close()
            raise ConnectionBroken("disconnected", "the connection was closed on our side")
        self._in_use[connection] = key
        return connection

    def give(self, connection: Connection) -> None:
        """Back from an exchange, however it ended; once, for then it may be somebody else's."""
        key = self._in_use.pop(connection)
        if self._is_closed or not connection.is_reusable:
            connection.close()
            return
        if len(self._idle) >= self._idle_max:
            self._drop(next(iter(self._idle)))
        self._idle[connection] = (key, self._loop.time())
        self._by_key.setdefault(key, []).append(connection)
        if self._sweep is None:
            self._sweep = self._loop.call_later(IDLE_SECONDS_MAX, self._drop_old)

    def resize(self, idle_max: int) -> None:
        """Keep no more idle ones than so many; nobody loses one that is in use."""
        self._idle_max = idle_max
        while len(self._idle) > idle_max:
            self._drop(next(iter(self._idle)))

    async def close(self) -> None:
        """Whoever is in an exchange loses it; nobody gets a connection any more."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in [*self._idle, *self._in_use]:
            connection.close()
        self._idle.clear()
        self._by_key.clear()
        await self._resolver.close()
        await asyncio.sleep(0)  # until then the sockets are open

    # -- idle ones -------------------------------------------------------------------------------

    def _pop(self, key: _Key) -> Connection | None:
        """The one used last: the others may go."""
        while connections := self._by_key.get(key):
            connection = connections.pop()
            if not connections:
                del self._by_key[key]
            _, since = self._idle.pop(connection)
            if self._loop.time() - since < IDLE_SECONDS_MAX and connection.is_reusable:
                return connection
            connection.close()
        return None

    def _drop(self, connection: Connection) -> None:
        key, _ = self._idle.pop(connection)
        connections = self._by_key[key]
        connections.remove(connection)
        if not connections:
            del self._by_key[key]
        connection.close()

    def _drop_old(self) -> None:
        self._sweep = None
        limit = self._loop.time() - IDLE_SECONDS_MAX
        for connection, (_, since) in list(self._idle.items()):
            if since > limit and connection.is_reusable:
                continue
            self._drop(connection)
        if self._idle:
            self._sweep = self._loop.call_later(IDLE_SECONDS_MAX, self._drop_old)

    # -- new ones --------------------------------------------------------------------------------

    @cached_property
    def _usual_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    async def _connect(
        self, address: Address, secured: ssl.SSLContext | None, timings: Timings
    ) -> Connection:
        infos = await self._resolve(address, timings)
        began_at = perf_counter()

        def judged(info: Any) -> socket.socket:
            family, kind, protocol, _, (found, *_) = info
            timings.address = found
            self._egress.check(address.host, found)
            return socket.socket(family=family, type=kind, proto=protocol)

        try:
            connected = await aiohappyeyeballs.start_connection(
                infos,
                happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS,
                interleave=1,
                loop=self._loop,
                socket_factory=judged,
            )
        except RuntimeError as trouble:  # what uvloop calls some errors of a socket
            raise OSError(str(trouble)) from None
        try:
            timings.address = str(connected.getpeername()[0])
            timings.connect_ms = _ms_since(began_at)
            began_at = perf_counter()
            _, connection = await self._loop.create_connection(
                lambda: Connection(_BOUNDS),
                sock=connected,
                ssl=secured,
                # No certificate is made out for a name with the dot of the root.
                server_hostname=address.host.removesuffix(".") if secured is not None else None,
            )
        except BaseException:
            connected.close()
            raise
        if secured is not None:
            timings.tls_ms = _ms_since(began_at)
        return connection

    async def _resolve(self, address: Address, timings: Timings) -> list[AddressInfo]:
        if is_address(address.host):
            return [address_info(address.host, address.port)]
        began_at = perf_counter()
        infos = await self._resolver.resolve(address.host, address.port)
        timings.dns_ms = _ms_since(began_at)
        return infos


def _ms_since(began_at: float) -> float:
    return round((perf_counter() - began_at) * 1_000, 3)
