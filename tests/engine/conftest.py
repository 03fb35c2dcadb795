"""One migrated database for all these tests, emptied before each."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.wipe import wipe
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="session")
async def engine_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database_url(engine_url: str) -> str:
    await wipe(engine_url)
    return engine_url


@pytest.fixture(scope="session")
async def engine_database(engine_url: str) -> AsyncIterator[Database]:
    """Opened once: a connection plans each statement when it first meets it."""
    opened = Database(engine_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def database(engine_database: Database, database_url: str) -> Database:
    return engine_database
