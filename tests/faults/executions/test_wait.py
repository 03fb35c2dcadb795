"""Who waits for an execution is told of its end, wherever that was, with Redis and without."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.testing.servers import PrivateServers

# Waiting, then a step that follows another: its end is known to no API but by being told.
STEPS = [
    {"id": "a", "kind": "wait", "input": {"duration": "200ms"}},
    {"id": "b", "kind": "noop", "needs": ["a"]},
]
RUNS = 5


@asynccontextmanager
async def two_nodes(
    database_url: str, redis_url: str | None, folder: Path
) -> AsyncIterator[tuple[Cluster, Door]]:
    """One that serves the API and one that works."""
    async with open_cluster(database_url, redis_url, folder) as cluster:
        await cluster.start_node()
        async with open_door(cluster) as door:
            definition: dict[str, Any] = {"name": "flow", "steps": STEPS}
            await door.call("POST", "/v1/workflows", 201, definition)
            await door.call(
                "POST", "/v1/workflows", 201, {**definition, "name": "rich", "output": 1}
            )
            yield cluster, door


async def lags(door: Door, workflow: str) -> list[float]:
    """Seconds between an execution's last job and the answer to who waited for it."""
    found = []
    for _ in range(RUNS):
        started = await door.call("POST", f"/v1/workflows/{workflow}/executions", 201, {})
        ended = await door.call("GET", f"/v1/executions/{started['id']}?wait=60s", 200)
        answered = datetime.now(UTC)
        assert ended["state"] == "succeeded"
        found.append((answered - datetime.fromisoformat(ended["finished_at"])).total_seconds())
    print(workflow, [f"{lag:.3f}" for lag in found])
    return found


async def test_with_redis_the_answer_comes_in_a_fraction_of_a_second(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with two_nodes(database_url, servers.redis_of(database_url), tmp_path) as (_, door):
        # The quickest of several: a busy machine delays some, and a poll none so little.
        assert min(await lags(door, "flow")) < 0.5
        assert min(await lags(door, "rich")) < 0.5


async def test_without_redis_it_comes_by_itself(database_url: str, tmp_path: Path) -> None:
    async with two_nodes(database_url, None, tmp_path) as (_, door):
        assert min(await lags(door, "flow")) < 2.5
        assert min(await lags(door, "rich")) < 2.5


async def test_a_follower_of_events_hears_of_an_end_without_redis(
    database_url: str, tmp_path: Path
) -> None:
    async with two_nodes(database_url, None, tmp_path) as (_, door):
        started = await door.call("POST", "/v1/workflows/rich/executions", 201, {})
        path = f"/v1/events?noun=execution&type=finished&execution_id={started['id']}"
        found: list[dict[str, Any]] = []

        async def is_told() -> bool:
            found[:] = (await door.call("GET", path, 200))["data"]
            return bool(found)

        await until(is_told, what="its end is told")
        assert found[0]["data"]["state"] == "succeeded"
