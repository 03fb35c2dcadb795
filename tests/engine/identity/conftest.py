"""Two nodes that share a Redis, one that has none, and a clock that can be put forward."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis

from tests.engine.identity.people import Clock, Node, a_node
from windlass.engine.identity import tokens
from windlass.engine.identity.passwords import Passwords
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@pytest.fixture
async def redis(servers: PrivateServers, engine_url: str) -> AsyncIterator[Any]:
    async with Redis.from_url(servers.redis_of(engine_url)) as client:
        await client.flushdb()
        yield client


@pytest.fixture
async def here(
    servers: PrivateServers, engine_url: str, redis: Any, database: Database, patient_lane: None
) -> AsyncIterator[Node]:
    async with a_node(database, servers.redis_of(engine_url)) as node:
        yield node


@pytest.fixture
async def there(
    servers: PrivateServers, engine_url: str, redis: Any, database: Database, patient_lane: None
) -> AsyncIterator[Node]:
    async with a_node(database, servers.redis_of(engine_url)) as node:
        yield node


@pytest.fixture
async def alone(database: Database) -> AsyncIterator[Node]:
    """A node without Redis: nobody tells it anything."""
    async with a_node(database, None) as node:
        yield node


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Clock:
    put_forward = Clock()
    monkeypatch.setattr(tokens, "monotonic", put_forward)
    return put_forward


@pytest.fixture
async def passwords() -> AsyncIterator[Passwords]:
    made = Passwords()
    yield made
    made.close()
