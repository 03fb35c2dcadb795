"""A table of things that are cached, and one node's way to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from windlass.engine.announce import Announcer
from windlass.engine.cache.cache import Cache, Codec
from windlass.engine.cache.registry import Caches
from windlass.fastlane.lane import FastLane

NAME = "thing"


class Thing(msgspec.Struct, frozen=True):
    id: int
    text: str


class Things:
    """In PostgreSQL; it counts who was asked for, and can hold the askers back."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._pool = pool
        self.asked: list[int] = []
        self.calls = 0
        self.has_read = asyncio.Event()
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.trouble: Exception | None = None

    async def write(self, key: int, text: str) -> None:
        await self._pool.execute(
            "INSERT INTO thing VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET t = $2", key, text
        )

    async def load_many(self, keys: Sequence[int]) -> dict[int, Thing]:
        self.calls += 1
        self.asked += keys
        rows = await self._pool.fetch("SELECT id, t FROM thing WHERE id = ANY($1)", list(keys))
        self.has_read.set()
        # Read already, and not yet told: here an invalidation would come too late.
        await self.is_open.wait()
        if self.trouble is not None:
            raise self.trouble
        return {row["id"]: Thing(row["id"], row["t"]) for row in rows}


@asynccontextmanager
async def a_table(database_url: str) -> AsyncIterator[Things]:
    async with asyncpg.create_pool(database_url, min_size=1, max_size=4) as pool:
        await pool.execute("CREATE TABLE thing (id int PRIMARY KEY, t text NOT NULL)")
        try:
            yield Things(pool)
        finally:
            await pool.execute("DROP TABLE thing")


class Node:
    """What a node has of caches."""

    def __init__(self, redis_url: str | None, things: Things, scope: bytes) -> None:
        self.lane = FastLane(redis_url)
        self.caches = Caches(self.lane, Announcer(self.lane), scope)
        self.things = things

    def codec(self) -> Codec[int, Thing]:
        return Codec(decode=msgspec.msgpack.Decoder(Thing).decode)

    def make(self, *, believed_seconds: float | None = 30.0) -> Cache[int, Thing]:
        return self.caches.make(
            NAME, self.things.load_many, self.codec(), believed_seconds=believed_seconds
        )

    async def came_up(self) -> None:
        up = asyncio.Event()
        self.lane.on_change(lambda is_up: up.set() if is_up else None)
        if not self.lane.is_up:
            await asyncio.wait_for(up.wait(), 20)


@asynccontextmanager
async def node(
    redis_url: str | None, things: Things, scope: bytes = b"this one"
) -> AsyncIterator[Node]:
    """With its lane up, unless there is none."""
    opened = Node(redis_url, things, scope)
    await opened.lane.open()
    if redis_url is not None:
        await opened.came_up()
    try:
        yield opened
    finally:
        await opened.caches.close()
        await opened.lane.close()
