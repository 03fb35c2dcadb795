"""PostgreSQL is restarted, stopped at once and killed while jobs flow: G1, G2."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.faults.real_cluster import open_cluster
from tests.faults.stream import Stream, all_is_well, until_more_ended
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


async def restart_fast(servers: PrivateServers) -> None:
    await servers.restart_postgres()


async def restart_at_once(servers: PrivateServers) -> None:
    await servers.restart_postgres(at_once=True)


async def kill(servers: PrivateServers) -> None:
    await servers.kill_postgres()
    await servers.restart_postgres()


@pytest.mark.timeout(300)  # longer than all that it waits for
@pytest.mark.parametrize("fault", [restart_fast, restart_at_once, kill], ids=lambda f: f.__name__)
async def test_nothing_is_lost_or_ended_twice_and_the_nodes_go_on(
    own_servers: PrivateServers,
    tmp_path: Path,
    fault: Callable[[PrivateServers], Awaitable[None]],
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, own_servers.redis_url, tmp_path) as cluster:
        nodes = [await cluster.start_node(), await cluster.start_node()]
        stream = Stream(cluster, random.Random(seed))
        streams = [asyncio.create_task(stream.run(name)) for name in "abcd"]
        try:
            for _ in range(2):
                await until_more_ended(cluster, 100)
                await fault(own_servers)
            await until_more_ended(cluster, 100)
        finally:
            stream.stop()
            await asyncio.gather(*streams)
        # A claim whose answer was lost is found by the reconciliation, which takes its time.
        await cluster.until_ended(within_seconds=90)
        await all_is_well(cluster, stream.refused)
        assert all(node.is_alive for node in nodes)
