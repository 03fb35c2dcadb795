"""The connection pool of one event loop, to one server: keep-alive, a bound, happy eyeballs.

    take ─┬─ an idle one ───────────────────────────────────────────── kept
          └─ lookup (DNS) ─ TCP, of several addresses the fastest ─ TLS ── new

Owns: every socket that the SDK opens.
Promises: no more connections than the bound, and whoever finds none free waits; one that
the server has closed, or that was idle for long, is not used again; one on which anything may be
left of the last exchange is closed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from typing import Final

from windlass.http1.connection import AnswerBounds, Connection, ConnectionBroken
from windlass.sdk.limits import (
    ADDRESSES_MAX,
    ANSWER_BYTES_MAX,
    ANSWER_FIELDS_MAX,
    ANSWER_HEAD_BYTES_MAX,
    CONNECT_SECONDS,
    CONNECTIONS_MAX,
    IDLE_SECONDS,
    LOOKUP_SECONDS,
    NEXT_ADDRESS_SECONDS,
)

_BOUNDS: Final = AnswerBounds(
    body_bytes_max=ANSWER_BYTES_MAX,
    head_bytes_max=ANSWER_HEAD_BYTES_MAX,
    fields_max=ANSWER_FIELDS_MAX,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the connections lead."""

    host: str  # a name, or an address without brackets
    port: int
    tls: ssl.SSLContext | None  # None: http


class Connections:
    def __init__(self, endpoint: Endpoint, *, size_max: int = CONNECTIONS_MAX) -> None:
        self._endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._room = asyncio.Semaphore(size_max)
        # The one idle longest first; of each, since when.
        self._idle: deque[tuple[Connection, float]] = deque()
        self._in_use: set[Connection] = set()
        self._lookup: asyncio.Task[list[str]] | None = None
        self._lookup_until = 0.0
        self._is_closed = False

    async def take(self) -> tuple[Connection, bool]:
        """A connection for one exchange, and whether it is a kept one; give it back.

        Raises what the system says, ssl.SSLError, and ConnectionBroken.
        """
        await self._room.acquire()
        connection = self._pop()
        if connection is not None:
            self._in_use.add(connection)
            return connection, True
        try:
            return await self._new(), False
        except BaseException:
            self._room.release()
            raise

    async def replace(self, dead: Connection) -> Connection:
        """A new one for a kept one that was dead; `dead` is given back, whatever happens. It was
        the one used last, so the others have been closed by the server as well.
        """
        self._in_use.discard(dead)
        dead.close()
        self._close_idle()
        try:
            return await self._new()
        except BaseException:
            self._room.release()
            raise

    def give(self, connection: Connection) -> None:
        """Back from an exchange, however it ended."""
        self._in_use.discard(connection)
        if self._is_closed or not connection.is_reusable:
            connection.close()
        else:
            self._idle.append((connection, self._loop.time()))
        self._room.release()

    async def close(self) -> None:
        """Whoever is in an exchange loses it; nobody gets a connection any more."""
        self._is_closed = True
        self._close_idle()
        for connection in self._in_use:
            connection.close()
        await asyncio.sleep(0)  # until then the sockets are open

    # -- idle ones -------------------------------------------------------------------------------

    def _pop(self) -> Connection | None:
        """The one used last: the others may go."""
        oldest = self._loop.time() - IDLE_SECONDS
        while self._idle and self._idle[0][1] < oldest:
            self._idle.popleft()[0].close()
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_reusable:
                return connection
            connection.close()
        return None

    def _close_idle(self) -> None:
        for connection, _ in self._idle:
            connection.close()
        self._idle.clear()

    # -- new ones --------------------------------------------------------------------------------

    async def _new(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                hosts = await self._addresses()
                only = len(hosts) == 1
                connection = await (self._connect(hosts[0]) if only else self._race(hosts))
        except TimeoutError:
            message = f"no connection within {CONNECT_SECONDS:g} s"
            raise ConnectionBroken("connect timeout", message) from None
        if self._is_closed:
            connection.close()
            raise ConnectionBroken("disconnected", "the connection was closed on our side")
        self._in_use.add(connection)
        return connection

    async def _connect(self, host: str) -> Connection:
        endpoint = self._endpoint
        # No certificate is made out for a name with the dot of the root.
        name = endpoint.host.rstrip(".") if endpoint.tls is not None else None
        _, connection = await self._loop.create_connection(
            partial(Connection, _BOUNDS),
            host,
            endpoint.port,
            ssl=endpoint.tls,
            server_hostname=name,
        )
        return connection

    async def _race(self, hosts: list[str]) -> Connection:
        """Happy eyeballs (RFC 8305): while one address is silent the next one is tried too."""
        waiting = list(reversed(hosts))
        tries: set[asyncio.Task[Connection]] = set()
        troubles: list[BaseException] = []
        winner: Connection | None = None
        try:
            while winner is None and (waiting or tries):
                if waiting:
                    tries.add(asyncio.create_task(self._connect(waiting.pop())))
                done, tries = await asyncio.wait(
                    tries,
                    timeout=NEXT_ADDRESS_SECONDS if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in done:
                    trouble = task.exception()
                    if trouble is not None:
                        troubles.append(trouble)
                    elif winner is None:
                        winner = task.result()
                    else:
                        task.result().close()
        finally:
            for task in tries:
                task.cancel()
            for late in await asyncio.gather(*tries, return_exceptions=True):
                if isinstance(late, Connection):
                    late.close()
        if winner is None:
            raise troubles[0]
        return winner

    # -- names -----------------------------------------------------------------------------------

    async def _addresses(self) -> list[str]:
        """Of a name: looked up once for all who connect at the same time, and used for a while."""
        host = self._endpoint.host
        if is_literal(host):
            return [host]
        lookup = self._lookup
        is_old = lookup is not None and lookup.done() and self._loop.time() > self._lookup_until
        if lookup is None or is_old or (lookup.done() and _failed(lookup)):
            lookup = self._lookup = asyncio.create_task(self._look_up(host))
            lookup.add_done_callback(_failed)  # told to whoever waits, if anybody still does
            self._lookup_until = self._loop.time() + LOOKUP_SECONDS
        return await asyncio.shield(lookup)

    async def _look_up(self, host: str) -> list[str]:
        found = await self._loop.getaddrinfo(host, self._endpoint.port, type=socket.SOCK_STREAM)
        by_family: dict[int, list[str]] = {}
        for family, _, _, _, (address, *_) in found[:ADDRESSES_MAX]:
            by_family.setdefault(family, []).append(str(address))
        in_turns = chain.from_iterable(zip_longest(*by_family.values()))
        return [address for address in in_turns if address is not None]


def is_literal(host: str) -> bool:
    """An address of IPv4 or IPv6, not a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host.partition("%")[0])
        except (OSError, ValueError):
            continue
        return True
    return False


def _failed(lookup: asyncio.Task[list[str]]) -> bool:
    return lookup.cancelled() or lookup.exception() is not None
