"""The servers that our own tests and benchmarks use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.embedded.owners import are_gone
from windlass.embedded.binaries import postgres_bin_dir
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def servers() -> AsyncIterator[PrivateServers]:
    async with PrivateServers() as servers:
        yield servers


async def fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def test_every_database_is_fresh(servers: PrivateServers) -> None:
    first = await servers.create_database()
    await fetch(first, "CREATE TABLE dirt ()")
    second = await servers.create_database()
    assert first != second
    assert await fetch(second, "SELECT to_regclass('dirt')") is None


async def test_a_database_can_be_copied_and_dropped(servers: PrivateServers) -> None:
    template = await servers.create_database()
    await fetch(template, "CREATE TABLE kept AS SELECT 42 AS answer")
    copy = await servers.create_database(template)
    assert await fetch(copy, "SELECT answer FROM kept") == 42
    connection = await asyncpg.connect(copy)
    await servers.drop_database(copy)
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        await asyncpg.connect(copy)
    await connection.close()


async def test_valkey_comes_back_empty_at_the_same_url(servers: PrivateServers) -> None:
    url = servers.redis_url
    async with Redis.from_url(url) as client:
        await client.set("key", "value")
        await servers.kill_valkey()
        with pytest.raises(RedisConnectionError):
            await client.ping()
        await servers.restart_valkey()
        assert servers.redis_url == url
        assert await client.dbsize() == 0


@pytest.mark.parametrize("at_once", [False, True])
async def test_postgres_comes_back_with_its_data(servers: PrivateServers, at_once: bool) -> None:
    url = await servers.create_database()
    await fetch(url, "CREATE TABLE kept AS SELECT 42 AS answer")
    await servers.restart_postgres(at_once=at_once)
    assert await fetch(url, "SELECT answer FROM kept") == 42
    await servers.kill_postgres()
    with pytest.raises(OSError, match=r"refused|No such file"):
        await fetch(url, "SELECT 1")
    await servers.restart_postgres()
    assert await fetch(url, "SELECT answer FROM kept") == 42


@pytest.mark.parametrize(("durable", "fsync"), [(False, "off"), (True, "on")])
async def test_durable_means_fsync(durable: bool, fsync: str) -> None:
    async with PrivateServers(durable=durable) as servers:
        assert await fetch(servers.database_url, "SHOW fsync") == fsync
        folder = servers.postgres.data
        assert servers.postgres.pid is not None
        assert servers.valkey.pid is not None
        pids = [servers.postgres.pid, servers.valkey.pid]
    assert are_gone(pids)
    assert not folder.exists()


async def test_a_failed_start_leaves_nothing_behind() -> None:
    servers = PrivateServers(valkey_settings={"maxmemory": "much"})
    with pytest.raises(ExceptionGroup):
        await servers.start()
    assert servers.postgres.pid is None
    assert not servers.postgres.data.exists()


def other_postgres() -> Path:
    """The system's newest, or the older one of the wheel where the system has none."""
    system = sorted(Path("/usr/lib/postgresql").glob("1[4-7]/bin"))
    return system[-1] if system else postgres_bin_dir().parents[1] / "pginstall" / "bin"


async def test_an_older_postgres_can_be_used() -> None:
    bin_dir = other_postgres()
    async with PrivateServers(bin_dir=bin_dir) as servers:
        url = await servers.create_database()
        found = int(str(await fetch(url, "SHOW server_version_num"))) // 10_000
    assert found != 18
