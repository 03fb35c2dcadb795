"""Two nodes that keep what they read: after an acknowledged invalidation neither gives the old."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.as_node_role import by_hand
from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster, open_cluster
from windlass import ids
from windlass.testing.servers import PrivateServers

ROUNDS = 15
READERS = 4


@dataclass(slots=True)
class Kept:
    """A version that is read through the cache and, as none may, changes."""

    cluster: Cluster
    doors: list[Door]
    acknowledged: int = 0  # what every node must know by now
    too_old: list[str] = field(default_factory=list)
    reads: int = 0

    async def write(self, number: int) -> None:
        # As only a test may: the trigger that keeps versions as they are is asleep.
        async with by_hand(self.cluster.database, readonly=False) as connection:
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute(
                "UPDATE windlass.workflow_version SET definition = $1",
                json.dumps({"name": "kept", "steps": [], "vars": {"number": number}}),
            )

    async def read(self, door: Door) -> int:
        found = await door.call("GET", "/v1/workflows/kept/versions/1", 200)
        self.reads += 1
        number: int = found["definition"]["vars"]["number"]
        return number

    async def read_on(self, door: Door) -> None:
        while True:
            known = self.acknowledged
            if (found := await self.read(door)) < known:
                self.too_old.append(f"{found} after {known}")

    async def invalidate(self, **wish: Any) -> dict[str, Any]:
        body = {"cache": "definition", **wish}
        path = "/v1/system/cache/invalidate"
        said: dict[str, Any] = await self.doors[0].call("POST", path, 200, body)
        return said


@asynccontextmanager
async def kept_by_two(cluster: Cluster) -> AsyncIterator[Kept]:
    await cluster.fetch("INSERT INTO windlass.workflow (name, version) VALUES ('kept', 1)")
    await cluster.fetch(
        "INSERT INTO windlass.workflow_version (workflow, version, hash, definition) "
        "VALUES ('kept', 1, '\\x00', '{}')"
    )
    async with open_door(cluster) as one, open_door(cluster) as other:
        kept = Kept(cluster, [one, other])
        await kept.write(0)
        yield kept


@pytest.mark.parametrize("way", ["redis", "no redis"])
async def test_nothing_old_is_read_after_an_acknowledged_invalidation(
    servers: PrivateServers, database_url: str, tmp_path: Path, way: str
) -> None:
    redis_url = servers.redis_of(database_url) if way == "redis" else None
    async with (
        open_cluster(database_url, redis_url, tmp_path) as cluster,
        kept_by_two(cluster) as kept,
    ):
        nodes = sorted(ids.show("node", door.node_id) for door in kept.doors)
        readers = [
            asyncio.create_task(kept.read_on(door)) for door in kept.doors for _ in range(READERS)
        ]
        try:
            for number in range(1, ROUNDS + 1):
                await kept.write(number)
                wish = {"keys": ["kept:1"]} if number % 3 else {"all": True}
                said = await kept.invalidate(**wish)
                assert (said["acknowledged"], said["missing"]) == (nodes, [])
                kept.acknowledged = number
                for door in kept.doors:
                    assert await kept.read(door) == number
        finally:
            for reader in readers:
                reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*readers)
        assert kept.too_old == []
        caches = [await door.call("GET", "/v1/system/cache", 200) for door in kept.doors]
        hits = [one["hits"] for shown in caches for one in shown if one["cache"] == "definition"]
        assert sum(hits) > kept.reads / 2, "it was a cache at all"


async def test_an_invalidation_is_answered_when_the_other_node_has_done_it(
    cluster: Cluster,
) -> None:
    async with kept_by_two(cluster) as kept:
        for door in kept.doors:
            assert await kept.read(door) == 0
        await kept.write(1)
        said = await kept.invalidate(keys=["kept:1", "other:7"])
        assert said["dropped"] == 2
        assert [await kept.read(door) for door in kept.doors] == [1, 1]
        async with kept.doors[1].session.get(f"{kept.doors[1].node.url}/metrics") as answer:
            told = await answer.text()
        named = 'windlass_cache_requests_total{cache="definition",result='
        assert sum(line.startswith(named) for line in told.splitlines()) >= 1
