"""Two real nodes share one quota, while Redis is there, is killed, and comes back."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import open_cluster
from tests.ports import free_port
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.identity.keys import hash_of
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

RATE, BURST, DAY = 20.0, 20, 15
# What a share may be ahead for, while one of the nodes has found out about Redis and the other not.
NOTICE_SECONDS = 1.0


@pytest.fixture
async def own_servers() -> AsyncIterator[PrivateServers]:
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


async def add_key(database: Database, token: str, **quota: float) -> None:
    async with database.side(readonly=False) as connection:
        await connection.execute(
            "INSERT INTO windlass.api_key (id, name, role, hash, quota)"
            " VALUES (gen_random_uuid(), 'it', 'operator', $1, $2::json)",
            hash_of(token.encode()),
            json.dumps(quota),
        )


async def test_the_total_stays_within_the_limit_whatever_becomes_of_redis(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    hasty, busy = "wlk_" + "h" * 43, "wlk_" + "b" * 43
    async with open_cluster(own_servers.database_url, own_servers.redis_url, tmp_path) as cluster:
        await add_key(cluster.database, hasty, requests_per_second=RATE, requests_burst=BURST)
        await add_key(cluster.database, busy, jobs_per_day=DAY)
        nodes = [
            await cluster.nodes.start(
                cluster.database.url,
                cluster.redis_url,
                roles="api",
                settings={"WINDLASS_PORT": str(free_port())},
            )
            for _ in range(2)
        ]
        came: Counter[str] = Counter()
        phase = "with Redis"

        async def hammer(node: NodeProcess, session: aiohttp.ClientSession) -> None:
            while True:
                async with session.get(f"{node.url}/v1/queues") as answer:
                    assert answer.status in (200, 429), await answer.text()
                    came[phase if answer.status == 200 else "refused"] += 1
                await asyncio.sleep(0.005)

        begun = monotonic()
        headers = {"Authorization": f"Bearer {hasty}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            hammering = [asyncio.create_task(hammer(node, session)) for node in nodes * 2]
            try:
                await until(lambda: came["with Redis"] > 2 * BURST)
                phase = "without"
                await own_servers.kill_valkey()
                await until(lambda: came["without"] > BURST)
                assert await submitted_at_once(nodes, busy, 40) == {201: DAY, 429: 40 - DAY}
                phase = "back"
                await own_servers.restart_valkey()
                await until(lambda: came["back"] > 3 * BURST)
                assert not any(task.done() for task in hammering)
            finally:
                for task in hammering:
                    task.cancel()
                await asyncio.gather(*hammering, return_exceptions=True)
        most = BURST + RATE * (monotonic() - begun + NOTICE_SECONDS)
        assert sum(came.values()) - came["refused"] <= most, came


async def submitted_at_once(nodes: list[NodeProcess], token: str, times: int) -> Counter[int]:
    """The statuses of so many submissions, to all of the nodes in turns."""

    async def submit(n: int) -> int:
        url = f"{nodes[n % len(nodes)].url}/v1/jobs"
        async with session.post(url, json={"kind": "noop"}) as answer:
            return answer.status

    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
        return Counter(await asyncio.gather(*map(submit, range(times))))
