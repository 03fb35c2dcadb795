"""What every test may ask for: real servers, and a fresh database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="session")
async def servers() -> AsyncIterator[PrivateServers]:
    """One PostgreSQL and one Valkey for the whole run."""
    async with PrivateServers() as started:
        yield started


@pytest.fixture(scope="session")
async def template_url(servers: PrivateServers) -> str:
    """A migrated database that nobody connects to: copying it is quicker than migrating again."""
    url = await servers.create_database()
    await migrate(url)
    return url


@pytest.fixture
async def database_url(servers: PrivateServers, template_url: str) -> str:
    """A migrated database that no other test sees."""
    return await servers.create_database(template_url)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = Database(database_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()
