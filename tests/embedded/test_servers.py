"""Both servers together: what `windlass up` stands on."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import asyncpg
import pytest
from redis.asyncio import Redis

from tests.embedded.owners import are_gone
from tests.until import until
from windlass.embedded import processes
from windlass.embedded.errors import DataInUse, DataNotUsable, NotOnThisSystem, ServerFailed
from windlass.embedded.postgres import EmbeddedPostgres
from windlass.embedded.servers import EmbeddedServers

HASTY = {"fsync": "off"}


async def fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def ping(url: str) -> bool:
    async with Redis.from_url(url) as client:
        return bool(await client.ping())


def family(servers: EmbeddedServers) -> list[int]:
    """Every process of the two servers."""
    assert servers.postgres.pid is not None
    assert servers.valkey.pid is not None
    backends = [process.pid for process in processes.descendants_of(servers.postgres.pid)]
    assert backends, "PostgreSQL has processes of its own"
    return [servers.postgres.pid, servers.valkey.pid, *backends]


def sockets_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_socket()]


async def test_both_servers_start_and_answer(data: Path) -> None:
    async with EmbeddedServers(data) as servers:
        assert await fetch(servers.database_url, "SELECT current_database()") == "windlass"
        assert str(await fetch(servers.database_url, "SHOW server_version")).startswith("18.")
        assert await ping(servers.redis_url)


async def test_what_is_promised_to_be_on_disk_is_on_disk(data: Path) -> None:
    async with EmbeddedServers(data) as servers:
        assert await fetch(servers.database_url, "SHOW fsync") == "on"
        assert await fetch(servers.database_url, "SHOW synchronous_commit") == "on"


async def test_nothing_listens_on_the_network(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        assert await fetch(servers.database_url, "SHOW listen_addresses") == ""
        async with Redis.from_url(servers.redis_url) as client:
            assert (await client.config_get("port"))["port"] == "0"


async def test_only_the_owner_can_enter_the_folders_of_the_sockets(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        for home in (servers.postgres.home, servers.valkey.home):
            assert home.stat().st_mode & 0o077 == 0


async def test_stopping_leaves_no_process_and_no_socket(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        pids = family(servers)
    assert are_gone(pids)
    assert sockets_below(data) == []


async def test_stopping_twice_is_harmless(data: Path) -> None:
    servers = EmbeddedServers(data, postgres_settings=HASTY)
    await servers.start()
    await servers.stop()
    await servers.stop()


async def test_a_second_start_is_quick_and_finds_the_data(data: Path) -> None:
    async with EmbeddedServers(data) as servers:
        await fetch(servers.database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
    begin = time.monotonic()
    async with EmbeddedServers(data) as servers:
        took_seconds = time.monotonic() - begin
        assert await fetch(servers.database_url, "SELECT answer FROM kept") == 42
    assert took_seconds < 20


async def test_two_folders_are_served_at_once(tmp_path: Path) -> None:
    left = EmbeddedServers(tmp_path / "left", postgres_settings=HASTY)
    right = EmbeddedServers(tmp_path / "right", postgres_settings=HASTY)
    async with left, right:
        await fetch(left.database_url, "CREATE TABLE only_left ()")
        assert await fetch(right.database_url, "SELECT to_regclass('only_left')") is None
        assert await ping(left.redis_url)
        assert await ping(right.redis_url)


async def test_a_folder_that_is_in_use_is_refused_and_its_owner_is_named(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        with pytest.raises(DataInUse, match=r"in use by process \d+; stop it first") as refused:
            await EmbeddedServers(data).start()
        assert refused.value.code == "data_in_use"
        assert await ping(servers.redis_url), "the first owner is not disturbed"
        assert await fetch(servers.database_url, "SELECT 1") == 1


async def test_a_server_that_cannot_start_shows_its_log_and_takes_the_other_along(
    data: Path,
) -> None:
    servers = EmbeddedServers(data, postgres_settings={**HASTY, "shared_buffers": "nonsense"})
    with pytest.raises(ServerFailed, match='invalid value for parameter "shared_buffers"') as error:
        await servers.start()
    assert error.value.code == "embedded_server_failed"
    assert str(servers.postgres.log_path) in str(error.value)
    assert servers.valkey.pid is None
    async with EmbeddedServers(data, postgres_settings=HASTY) as again:  # the lock was given back
        assert await fetch(again.database_url, "SELECT 1") == 1


async def test_valkey_failing_takes_postgres_along(data: Path) -> None:
    servers = EmbeddedServers(data, postgres_settings=HASTY, valkey_settings={"maxmemory": "much"})
    with pytest.raises(ServerFailed, match="the embedded Valkey ended with code 1 before"):
        await servers.start()
    assert servers.postgres.pid is None


async def test_a_cancelled_start_leaves_no_process(data: Path) -> None:
    servers = EmbeddedServers(data, postgres_settings=HASTY)
    start = asyncio.create_task(servers.start())
    await until(lambda: servers.valkey.pid is not None)
    pid = servers.valkey.pid
    assert pid is not None
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert servers.postgres.pid is None
    assert are_gone([pid])
    left = [process for process in processes.everyone() if process.name in {"initdb", "postgres"}]
    assert not any(processes.works_in(process, servers.postgres.home) for process in left)


async def test_the_death_of_a_server_is_noticed(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        noticed = asyncio.create_task(servers.wait())
        await servers.valkey.kill()
        assert "the embedded Valkey ended with code -9" in str(await noticed)


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataNotUsable, match=r"file/data: cannot be made \(Not a directory\)"):
        await EmbeddedServers(tmp_path / "file" / "data").start()


async def test_a_disk_without_room_is_said_in_one_sentence(data: Path) -> None:
    programs = data.parent / "programs"
    programs.mkdir()
    # It says what PostgreSQL says of a full disk, and ends as that does.
    initdb = "#!/bin/sh\necho 'initdb: error: could not write: No space left on device'\nexit 1\n"
    (programs / "initdb").write_text(initdb)
    for program in (programs, programs / "initdb"):
        program.chmod(0o755)
    servers = EmbeddedServers(data)
    servers.postgres = EmbeddedPostgres(data, bin_dir=programs)
    with pytest.raises(DataNotUsable, match=r"\(No space left on device\); make room") as refused:
        await servers.start()
    assert "\n" not in str(refused.value)


async def test_a_cluster_of_another_postgresql_is_named(data: Path) -> None:
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        made = servers.postgres.home / "cluster" / "PG_VERSION"
    made.write_text("15\n")
    with pytest.raises(DataNotUsable, match="was made by PostgreSQL 15, and this Windlass brings"):
        await EmbeddedServers(data, postgres_settings=HASTY).start()


@pytest.mark.parametrize("name", ["x" * 130, "with a space, a comma and 100%", "grün#?&"])
async def test_any_path_will_do(open_folder: Path, name: str) -> None:
    data = open_folder / name
    async with EmbeddedServers(data, postgres_settings=HASTY) as servers:
        assert await fetch(servers.database_url, "SELECT 1") == 1
        assert await ping(servers.redis_url)


async def test_a_folder_that_everybody_can_enter_will_do_too(open_folder: Path) -> None:
    async with EmbeddedServers(open_folder / "data", postgres_settings=HASTY) as servers:
        cluster = str(servers.postgres.home / "cluster")
        assert await fetch(servers.postgres.admin_url(), "SHOW data_directory") == cluster


async def test_elsewhere_than_on_linux_it_says_what_to_do_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NotOnThisSystem, match=r"run on Linux only, and this is darwin; .* own "):
        await EmbeddedServers(tmp_path / "data").start()
