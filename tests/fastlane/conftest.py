"""A Valkey of these tests' own: empty for each, with scripts or without, alone or as a Cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis, RedisCluster

from tests.ports import free_port
from tests.until import until
from windlass.embedded.valkey import EmbeddedValkey
from windlass.fastlane.lane import FastLane

SCRIPTLESS, PASSWORD = "scriptless", "pw"


@pytest.fixture(autouse=True)
def patience(patient_lane: None) -> None:
    """All of them are about what is asked."""


@pytest.fixture(scope="session")
async def valkey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedValkey]:
    server = await started(tmp_path_factory.mktemp("valkey"))
    yield server
    await server.stop(at_once=True)


@pytest.fixture(scope="session")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[EmbeddedValkey]:
    """A Cluster of one: it refuses keys of two slots in one call as any other does."""
    settings = {"cluster-enabled": "yes", "cluster-port": str(free_port())}
    server = await started(tmp_path_factory.mktemp("cluster"), settings)
    await say(server, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)

    async def is_ok() -> bool:
        return b"cluster_state:ok" in await say(server, "CLUSTER", "INFO")

    await until(is_ok, what="the cluster is formed", within_seconds=10)
    yield server
    await server.stop(at_once=True)


async def started(folder: Path, settings: dict[str, str] | None = None) -> EmbeddedValkey:
    """Reachable over TCP, also for a user who may not run scripts."""
    await asyncio.to_thread(folder.chmod, 0o755)
    server = EmbeddedValkey(folder, settings=settings, listen=f"127.0.0.1:{free_port()}")
    await server.start()
    acl = ("on", f">{PASSWORD}", "~*", "&*", "+@all", "-@scripting")
    await say(server, "ACL", "SETUSER", SCRIPTLESS, "reset", *acl)
    return server


async def say(server: EmbeddedValkey, *words: str | int) -> Any:
    client: Any = Redis.from_url(server.url())
    async with client:
        return await client.execute_command(*words)


def scriptless(server: EmbeddedValkey) -> str:
    return f"redis://{SCRIPTLESS}:{PASSWORD}@{server.listen}"


@pytest.fixture
async def redis(valkey: EmbeddedValkey) -> AsyncIterator[Any]:
    async with Redis.from_url(valkey.url()) as client:
        await client.flushall()
        yield client


@pytest.fixture
async def lane(valkey: EmbeddedValkey, redis: Any) -> AsyncIterator[FastLane]:
    opened = FastLane(valkey.url())
    came_up = asyncio.Event()
    opened.on_change(lambda _: came_up.set())
    await opened.open()
    await asyncio.wait_for(came_up.wait(), 10)
    yield opened
    await opened.close()


@pytest.fixture(params=["single", "single without scripts", "cluster", "cluster without scripts"])
async def client(
    request: pytest.FixtureRequest, valkey: EmbeddedValkey, cluster: EmbeddedValkey
) -> AsyncIterator[Any]:
    """Something to sweep with and to look with, for each of the ways there are."""
    kind, server = (RedisCluster, cluster) if "cluster" in request.param else (Redis, valkey)
    url = scriptless(server) if "without" in request.param else server.url()
    async with kind.from_url(url) as opened:
        await opened.flushall()
        yield opened
