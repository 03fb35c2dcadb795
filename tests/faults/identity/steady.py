"""Three nodes, and callers who use their tokens on all of them without a rest."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import aiohttp

from tests.engine.identity.people import a_key, a_session, a_user
from tests.faults.nodes import NodeProcess
from tests.until import until
from windlass import ids
from windlass.clock import monotonic
from windlass.store.database import Database

EVERY_SECONDS: Final = 0.1
_CALL_SECONDS: Final = 30.0
_CHUNK_BYTES: Final = 1 << 16
_ASKED: Final = "/v1/session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One request."""

    node: int
    began_at: float
    ended_at: float
    status: int  # 0: no answer


@dataclass(slots=True, kw_only=True)
class Holder:
    """Who shows a token on every node, again and again."""

    what: str  # "key", "session"
    token: str
    way_out: str  # DELETE of it revokes it
    uses: list[Use] = field(default_factory=list)

    def statuses(self, since: float) -> set[int]:
        return {use.status for use in self.uses if use.began_at >= since}

    def believed_until(self, revoked_at: float, node: int | None = None) -> float:
        """For how long after it was revoked a request with it was begun and let in."""
        late = [
            use.began_at - revoked_at
            for use in self.uses
            if use.status < 400 and use.status > 0 and (node is None or use.node == node)
        ]
        return max([0.0, *late])


@dataclass(slots=True, kw_only=True)
class Trio:
    """The nodes, by way of their APIs."""

    database: Database
    nodes: list[NodeProcess]
    admin: str
    client: aiohttp.ClientSession

    async def holders(self, each: int = 2) -> list[Holder]:
        """So many keys and so many sessions, of a user of their own."""
        user_id = await a_user(self.database, f"user-{uuid4().hex}", "operator")
        found = []
        for _ in range(each):
            key = await a_key(self.database, "viewer")
            way_out = f"/v1/keys/{ids.show('key', key.key.id)}"
            found.append(Holder(what="key", token=key.token, way_out=way_out))
            session = await a_session(self.database, user_id)
            way_out = f"/v1/sessions/{ids.show('session', session.id)}"
            found.append(Holder(what="session", token=session.token, way_out=way_out))
        return found

    async def ask(
        self, node: int, token: str, path: str = _ASKED, method: str = "GET", **given: Any
    ) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        timeout = aiohttp.ClientTimeout(total=_CALL_SECONDS)
        url = f"{self.nodes[node].url}{path}"
        try:
            async with self.client.request(
                method, url, headers=headers, timeout=timeout, **given
            ) as answer:
                await answer.read()
                return answer.status
        except (aiohttp.ClientError, TimeoutError):
            return 0

    async def revoke(self, holders: Iterable[Holder], node: int = 0) -> float:
        """Through one node. Returns when that was answered."""
        said = await asyncio.gather(
            *(self.ask(node, self.admin, one.way_out, "DELETE") for one in holders)
        )
        assert set(said) == {204}
        return monotonic()

    @asynccontextmanager
    async def in_use(self, holders: list[Holder]) -> AsyncIterator[None]:
        """Every token on every node, all the time; it was good on each before this begins."""
        using = [
            asyncio.create_task(self._use(one, node))
            for one in holders
            for node in range(len(self.nodes))
        ]

        def are_all_in() -> bool:
            return all(
                {use.node for use in one.uses if use.status == 200} == set(range(len(self.nodes)))
                for one in holders
            )

        try:
            await until(are_all_in, what="every token is good on every node")
            yield
        finally:
            for task in using:
                task.cancel()
            await asyncio.gather(*using, return_exceptions=True)

    async def _use(self, holder: Holder, node: int) -> None:
        while True:
            began_at = monotonic()
            status = await self.ask(node, holder.token)
            holder.uses.append(
                Use(node=node, began_at=began_at, ended_at=monotonic(), status=status)
            )
            await asyncio.sleep(EVERY_SECONDS)

    async def until_refused(
        self, holders: list[Holder], since: float, times: int = 5, within_seconds: float = 60
    ) -> None:
        """Wait until each node has refused each of them so many times in a row, the last ones."""

        def is_refused(one: Holder, node: int) -> bool:
            last = [use.status for use in one.uses if use.node == node and use.began_at > since]
            return last[-times:] == [401] * times

        def are_refused() -> bool:
            return all(is_refused(one, n) for one in holders for n in range(len(self.nodes)))

        await until(are_refused, what="they are refused everywhere", within_seconds=within_seconds)


def told(what: str, holders: list[Holder], revoked_at: float, limit: float) -> list[float]:
    """How long each was believed, which is printed, and is less than the limit."""
    found = sorted(one.believed_until(revoked_at) for one in holders)
    print(
        f"{what}: believed for {statistics.median(found):.2f} s (median), "
        f"{found[-1]:.2f} s (longest) of {len(found)} tokens, limit {limit:g} s"
    )
    assert found[-1] < limit
    return found


@asynccontextmanager
async def path_to(redis_url: str) -> AsyncIterator[tuple[str, Callable[[], Awaitable[None]]]]:
    """A way to a Valkey at a socket, and how it is cut for good: nobody answers there."""
    behind = urlsplit(redis_url)
    writers: set[asyncio.StreamWriter] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_behind, to_behind = await asyncio.open_unix_connection(behind.path)
        except OSError:
            writer.close()
            return
        writers.update((writer, to_behind))
        await asyncio.gather(
            _carry(reader, to_behind), _carry(from_behind, writer), return_exceptions=True
        )

    server = await asyncio.start_server(accept, "127.0.0.1", 0)

    async def cut() -> None:
        server.close()
        for writer in writers:
            writer.transport.abort()

    port = server.sockets[0].getsockname()[1]
    database = parse_qs(behind.query).get("db", ["0"])[0]
    try:
        yield f"redis://:{behind.password}@127.0.0.1:{port}/{database}", cut
    finally:
        await cut()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        writer.write(data)
    writer.close()
