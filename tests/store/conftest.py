"""One migrated database for most of these tests, emptied before each; `database_url` is fresh."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.wipe import wipe
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="session")
async def store_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    await wipe(store_url)
    opened = Database(store_url, application="windlass test")
    await opened.open()
    yield opened
    await opened.close()
