"""Two installations on one Redis, by mistake: it is told, and all that is lost is time (G9)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from redis.asyncio import Redis

from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.fastlane.keys import INSTALLATION
from windlass.testing.servers import PrivateServers

RUNS = 20
# The net finds what the others have taken for theirs.
QUICK: dict[str, Any] = {
    "roles": "api,worker,leader",
    "WINDLASS_REFRESH_INTERVAL_SECONDS": "1",
}
STEPS = [{"id": "a", "kind": "noop"}, {"id": "b", "kind": "noop", "needs": ["a"]}]


async def test_it_is_told_and_every_execution_ends(
    cluster: Cluster, servers: PrivateServers, template_url: str, tmp_path: Path
) -> None:
    url = await servers.create_database(template_url)
    (tmp_path / "other").mkdir()
    async with (
        open_door(cluster, **QUICK) as ours,
        open_cluster(url, cluster.redis_url, tmp_path / "other") as other,
        _open_second(cluster, other) as theirs,
    ):
        for door in (ours, theirs):
            await door.call("POST", "/v1/workflows", 201, {"name": "flow", "steps": STEPS})
        for door in (ours, theirs):
            for started in await _start(door):
                ended = await door.call("GET", f"/v1/executions/{started}?wait=60s", 200)
                assert ended["state"] == "succeeded"

        async def is_told() -> bool:
            return await _degraded(theirs) == ["redis_shared"]

        async def is_content() -> bool:
            return await _degraded(ours) == []

        await until(is_told, what="the newcomer says that the Redis is another's")
        await until(is_content, what="whose it is says nothing")


@asynccontextmanager
async def _open_second(cluster: Cluster, other: Cluster) -> AsyncIterator[Door]:
    """A door of the other, opened when it is known whose the Redis is."""
    assert cluster.redis_url is not None
    async with Redis.from_url(cluster.redis_url) as redis:

        async def is_taken() -> bool:
            return bool(await redis.exists(INSTALLATION))

        await until(is_taken, what="the first says that the Redis is its own")
    async with open_door(other, **QUICK) as door:
        yield door


async def _start(door: Door) -> list[str]:
    path = "/v1/workflows/flow/executions"
    return [(await door.call("POST", path, 201, {}))["id"] for _ in range(RUNS)]


async def _degraded(door: Door) -> list[str]:
    found: list[str] = (await door.call("GET", "/health", 200))["degraded"]
    return found
