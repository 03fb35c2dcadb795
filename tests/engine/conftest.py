"""One migrated database for all these tests, emptied before each."""

from __future__ import annotations

import pytest

from tests.wipe import wipe
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="session")
async def engine_url(servers: PrivateServers, template_url: str) -> str:
    return await servers.create_database(template_url)


@pytest.fixture
async def database_url(engine_url: str) -> str:
    await wipe(engine_url)
    return engine_url
