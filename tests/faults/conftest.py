"""A cluster of one's own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faults.real_cluster import Cluster, open_cluster
from windlass.testing.servers import PrivateServers


@pytest.fixture
async def cluster(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> AsyncIterator[Cluster]:
    """No node runs yet; the servers are the session's and must not be disturbed."""
    async with open_cluster(database_url, servers.redis_of(database_url), tmp_path) as opened:
        yield opened
