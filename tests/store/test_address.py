"""Which of several hosts is connected to, and what is said when none will do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest

from windlass.clock import monotonic
from windlass.errors import Unavailable
from windlass.store.address import Address, NoHost
from windlass.store.database import Database, Demoted
from windlass.testing.servers import PrivateServers

NOBODY = "127.0.0.1:1"


@pytest.fixture
async def silent() -> AsyncIterator[str]:
    """A host that takes connections and says nothing."""
    writers: list[asyncio.StreamWriter] = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for writer in writers:
            writer.close()


def beside(url: str, *hosts: str, attributes: str = "") -> str:
    """The server's URL with other hosts before it."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    folder, port = query["host"][0], query["port"][0]
    ports = ",".join([*(host.partition(":")[2] for host in hosts), port])
    names = ",".join([*(host.partition(":")[0] for host in hosts), folder])
    return f"postgresql://{parts.netloc}{parts.path}?host={names}&port={ports}{attributes}"


async def value(connection: asyncpg.Connection[asyncpg.Record], sql: str) -> object:
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_a_host_that_is_not_there_is_passed_by(database_url: str) -> None:
    connection = await Address(beside(database_url, NOBODY)).connect()
    assert await value(connection, "SELECT 1") == 1


async def test_a_host_that_says_nothing_takes_only_its_share_and_is_asked_last_from_then_on(
    database_url: str, silent: str
) -> None:
    address = Address(beside(database_url, silent))
    started_at = monotonic()
    assert await value(await address.connect(seconds=12), "SELECT 1") == 1
    assert 5.9 < monotonic() - started_at < 12
    started_at = monotonic()
    assert await value(await address.connect(seconds=12), "SELECT 1") == 1
    assert monotonic() - started_at < 5.9


async def test_when_none_will_do_each_says_why(silent: str) -> None:
    address = Address(f"postgresql://somebody@{NOBODY},[::1]:1,{silent}/nothing")
    with pytest.raises(NoHost) as raised:
        await address.connect(seconds=0.5)
    assert str(raised.value).startswith("127.0.0.1:1: ")
    assert "; [::1]:1: " in str(raised.value)
    assert str(raised.value).endswith(f"{silent}: no answer in time")


async def test_a_server_that_takes_no_writes_will_not_do_unless_the_url_says_so(
    servers: PrivateServers,
) -> None:
    url = await servers.create_database()
    name = urlsplit(url).path[1:]
    connection = await asyncpg.connect(url)
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    await connection.close()
    with pytest.raises(NoHost, match="is not read-write"):
        await Address(url).connect()
    with pytest.raises(Unavailable, match="is not read-write"):
        await Database(url).open()
    any_will_do = await Address(url + "&target_session_attrs=any").connect()
    assert await value(any_will_do, "SELECT 1") == 1
    second_choice = await Address(beside(url, NOBODY), wants="prefer-standby").connect()
    assert await value(second_choice, "SELECT 1") == 1


async def test_a_server_that_takes_no_more_writes_is_left_by_readers_too(
    database: Database, servers: PrivateServers
) -> None:
    async with database.side() as connection:
        before = connection.get_server_pid()
    async with database.hot() as connection:
        await connection.execute("SET default_transaction_read_only = on")
    with pytest.raises(Demoted, match="takes no writes"):
        await database.run("queue_ensure_many", ["a"], None)
    async with database.side() as connection:
        assert connection.get_server_pid() != before
    await database.run("queue_ensure_many", ["a"], None)
