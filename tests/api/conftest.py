"""The API as it is served, over one database for all these tests, emptied before each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from typing import Protocol

import pytest
from redis.asyncio import Redis

from tests.api.acting_node import ActingNode
from tests.api.served import Served, serve
from tests.wipe import wipe
from windlass.api.cluster import health
from windlass.config import Settings
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


class Serve(Protocol):
    def __call__(self, settings: Settings, /, *, is_keyless: bool = False) -> Awaitable[Served]: ...


@pytest.fixture(scope="session")
async def api_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database_url(servers: PrivateServers, api_url: str) -> str:
    await wipe(api_url)
    async with Redis.from_url(servers.redis_of(api_url)) as redis:
        await redis.flushdb()
    return api_url


@pytest.fixture(scope="session")
async def api_database(api_url: str) -> AsyncIterator[Database]:
    """Opened once: a connection plans each statement when it first meets it."""
    opened = Database(api_url, application="windlass test api")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def serve_with(
    servers: PrivateServers, database_url: str, api_database: Database
) -> AsyncIterator[Serve]:
    """Serves the API with the given settings for as long as the test runs. Further ones have
    connections of their own, as nodes do.
    """
    async with AsyncExitStack() as stack:
        unused = [api_database]

        async def start(settings: Settings, *, is_keyless: bool = False) -> Served:
            redis_url = servers.redis_of(database_url)
            opened = unused.pop() if unused else None
            return await stack.enter_async_context(
                serve(database_url, redis_url, settings, is_keyless=is_keyless, opened=opened)
            )

        yield start


@pytest.fixture(scope="session")
async def door(servers: PrivateServers, template_url: str) -> AsyncIterator[Served]:
    """One API for all tests that only knock and change nothing."""
    url = await servers.create_database(template_url)
    async with serve(url, servers.redis_of(url), Settings()) as served:
        yield served


@pytest.fixture
def patient_probes(patient_lane: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what /health shows, in which a pause of the machine is not to be an outage."""
    monkeypatch.setattr(health, "PROBE_SECONDS", 10.0)


@pytest.fixture
async def api(serve_with: Serve) -> Served:
    """The API with default settings; its client holds the admin key."""
    return await serve_with(Settings())


@pytest.fixture
async def node(api: Served) -> ActingNode:
    """A node that the test acts for."""
    return await ActingNode(database=api.database).join()
