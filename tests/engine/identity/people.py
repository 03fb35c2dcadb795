"""Users, sessions and keys as tests need them, and nodes that are asked who shows a token."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from tests.until import until
from windlass import clock, ids
from windlass.engine.announce import Announcer
from windlass.engine.identity.keys import MadeKey, add_key
from windlass.engine.identity.sessions import BegunSession, begin_session
from windlass.engine.identity.tokens import Tokens
from windlass.errors import Unauthorized
from windlass.fastlane.lane import FastLane
from windlass.model.identity.account import KeyDraft, Scope
from windlass.model.identity.principal import Principal, program
from windlass.model.identity.rights import Role
from windlass.store.database import Connection, Database, Record

PASSWORD: Final = "three small green boats"
PROGRAM: Final = program("test")
_SCOPE: Final = b"a scope!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What a node has to recognise its callers."""

    tokens: Tokens
    lane: FastLane

    async def knows(self, token: str) -> Principal | None:
        """Who shows it. None: it is refused."""
        try:
            return await self.tokens.principal(token.encode())
        except Unauthorized:
            return None


@asynccontextmanager
async def a_node(database: Database, redis_url: str | None) -> AsyncIterator[Node]:
    """With Redis, or without."""
    lane = FastLane(redis_url)
    await lane.open()
    if redis_url is not None:
        await until(lambda: lane.is_up, what="the fast lane is up")
    tokens = Tokens(database, lane, Announcer(lane), _SCOPE)
    try:
        yield Node(tokens=tokens, lane=lane)
    finally:
        await tokens.close()
        await lane.close()


async def sql(database: Database, text: str, *args: Any) -> list[Record]:
    """As somebody else would change it, of whom we are not told."""
    async with database.side() as connection:
        return await connection.fetch(text, *args)


async def a_user(
    database: Database,
    name: str = "ann",
    role: Role = "operator",
    *,
    hashed: str | None = None,
    is_one_time: bool = False,
) -> UUID:
    user_id = ids.uuid7()
    await database.run("user_add", user_id, name, role, hashed, is_one_time, 3600.0)
    return user_id


async def a_session(database: Database, user_id: UUID) -> BegunSession:
    async def work(connection: Connection[Record]) -> BegunSession | None:
        return await begin_session(connection, user_id, address="192.0.2.1", device="a test")

    begun = await database.together(work)
    assert begun is not None
    return begun


async def a_key(
    database: Database,
    role: Role | None = "operator",
    *,
    user_id: UUID | None = None,
    maker: Principal = PROGRAM,
    expires_in_seconds: float | None = None,
    name: str = "a key",
    **scope: Any,
) -> MadeKey:
    draft = KeyDraft(
        name=name,
        scope=Scope(role=role, rights=scope.pop("rights", None), **scope),
        expires_at=None,
        expires_in_seconds=expires_in_seconds,
    )
    return await add_key(database, maker, draft, user_id)


@dataclass(slots=True)
class Clock:
    """The monotonic clock of whoever recognises tokens, so much ahead."""

    ahead: float = 0.0

    def __call__(self) -> float:
        return clock.monotonic() + self.ahead
