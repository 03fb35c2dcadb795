"""A proxy in front of PostgreSQL that cuts connections at the worst moment, goes silent, or holds
requests back.

    client -- statement, COMMIT --> proxy -- forwarded --> PostgreSQL
    client <------- cut ----------- proxy <-- "done" -----      (swallowed)

It understands just enough of the protocol to know where a request ends: a Sync message, or a simple
query, which is how COMMIT is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qs, urlsplit, urlunsplit

_SYNC: Final = b"S\x00\x00\x00\x04"
_QUERY: Final = b"Q"
_CHUNK_BYTES: Final = 1 << 16
_PATIENCE_SECONDS: Final = 2.0
# A request is cut off before it arrives, while it is worked on, or when it is answered.
_MOMENTS: Final = ("before", "during", "after")


class Proxy:
    """`cut_chance` may be changed at any time; `cuts` counts what was cut, by how."""

    def __init__(self, database_url: str, chance: random.Random) -> None:
        self._database_url = database_url
        self._chance = chance
        self._turns = itertools.cycle(_MOMENTS)
        self._server: asyncio.Server | None = None
        self._links: set[_Link] = set()
        self.cut_chance = 0.0
        self.cuts = dict.fromkeys(_MOMENTS, 0)
        self.is_silent = False
        self.held = 0  # requests that wait for `release`
        self._wanted: tuple[bytes, ...] = ()
        self._may_pass = asyncio.Event()
        self._unheard: bytes | None = None

    @property
    def url(self) -> str:
        """The same database by way of the proxy."""
        assert self._server is not None, "the proxy has not started"
        port = self._server.sockets[0].getsockname()[1]
        parts = urlsplit(self._database_url)
        user = parts.netloc.rpartition("@")[0]
        return urlunsplit((parts.scheme, f"{user}@127.0.0.1:{port}", parts.path, "", ""))

    def silence(self) -> None:
        """From now on nothing passes and nobody is told: connections are half open."""
        self.is_silent = True

    def heal(self) -> None:
        """New connections work; those that fell silent are gone."""
        self.is_silent = False
        for link in list(self._links):
            link.cut()

    def hold(self, *wanted: bytes) -> None:
        """Keep requests that contain any of these; they arrive when they are released."""
        self._wanted = wanted
        self._may_pass.clear()

    def lose_answer_to(self, wanted: bytes) -> None:
        """The next request that contains this is done, and its caller is cut off instead."""
        self._unheard = wanted

    async def release(self) -> None:
        """Let pass what was held, and wait until the server has answered it."""
        late = [link for link in self._links if not link.answered.is_set()]
        self._wanted = ()
        self._may_pass.set()
        await asyncio.gather(*(link.answered.wait() for link in late))

    async def admit(self, request: bytes) -> bool:
        """True when it may pass, after a while perhaps; False: it got lost."""
        if self.is_silent:
            return False
        if any(text in request for text in self._wanted):
            self.held += 1
            await self._may_pass.wait()
        return True

    def decide(self, request: bytes) -> str | None:
        """What becomes of a request: None lets it pass."""
        if self._unheard is not None and self._unheard in request:
            self._unheard = None
            self.cuts["after"] += 1
            return "after"
        if self._chance.random() >= self.cut_chance:
            return None
        how = next(self._turns)
        self.cuts[how] += 1
        return how

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self.heal()
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = {name: values[0] for name, values in parse_qs(self._query).items()}
        socket = f"{asked['host']}/.s.PGSQL.{asked['port']}"
        try:
            upstream = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.transport.abort()
            return
        link = _Link(self, (reader, writer), upstream)
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)

    @property
    def _query(self) -> str:
        return urlsplit(self._database_url).query


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Link:
    """One client's connection and the server's."""

    def __init__(self, proxy: Proxy, client: Stream, server: Stream) -> None:
        self._proxy = proxy
        self._client, self._server = client, server
        self._is_swallowing = False
        self.answered = asyncio.Event()
        self.answered.set()

    async def run(self) -> None:
        both = [asyncio.create_task(way) for way in (self._ask(), self._answer())]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.cut()
            await asyncio.gather(*both, return_exceptions=True)
            self.answered.set()

    def cut(self) -> None:
        self._client[1].transport.abort()
        self._server[1].close()  # what was forwarded still arrives

    async def _ask(self) -> None:
        while data := await _read(self._client[0]):
            self.answered.clear()
            if not await self._proxy.admit(data):
                continue
            ends = data.endswith(_SYNC) or data.startswith(_QUERY)
            match self._proxy.decide(data) if ends else None:
                case "before":
                    return
                case "during":
                    # The server works on it and finds out about us only when it answers.
                    self._server[1].write(data)
                    return
                case "after":
                    self._is_swallowing = True
                case _:
                    pass
            self._server[1].write(data)
        # Whoever asked has gone, but what was forwarded is to be done all the same.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.answered.wait(), _PATIENCE_SECONDS)

    async def _answer(self) -> None:
        while data := await _read(self._server[0]):
            self.answered.set()
            if self._is_swallowing:
                return
            if not self._proxy.is_silent:
                self._client[1].write(data)


async def _read(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(OSError):
        return await reader.read(_CHUNK_BYTES)
    return b""
