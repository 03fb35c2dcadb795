"""Lists and statistics from a replica; everything else, and everything while it is away, not."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.ports import free_ports
from tests.servers.replica import Pair, open_pair
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.jobs.read import JobFilter, list_jobs, read_jobs
from windlass.engine.jobs.stats import read_counters
from windlass.store.database import Database
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

WHERE = "SELECT pg_is_in_recovery() AS is_replica"


@pytest.fixture(scope="module")
async def pair() -> AsyncIterator[Pair]:
    async with open_pair() as opened:
        await migrate(opened.primary.url())
        await opened.until_caught_up()
        yield opened


@pytest.fixture
async def database(pair: Pair) -> AsyncIterator[Database]:
    opened = Database(pair.primary.url(), read_url=pair.replica.url())
    await opened.open()
    yield opened
    await opened.close()


async def asks_a_replica(database: Database) -> bool:
    return bool((await database.browse(WHERE))[0]["is_replica"])


async def until_it_is_asked(database: Database) -> None:
    """It may not answer in time on a busy machine; then it is left alone for a while."""

    async def is_asked() -> bool:
        return await asks_a_replica(database)

    await until(is_asked, what="the replica is asked")


async def test_lists_and_statistics_come_from_the_replica_and_nothing_else(
    database: Database, pair: Pair
) -> None:
    await until_it_is_asked(database)

    async def is_asked_for_counters() -> bool:
        assert await list_jobs(database, JobFilter(), 10) == []
        assert await read_counters(database) == {}
        assert await read_jobs(database, []) == []
        connection = await asyncpg.connect(pair.replica.url())
        asked = "SELECT query FROM pg_stat_activity WHERE application_name ~ 'l'"
        rows = await connection.fetch(asked)
        await connection.close()
        return any("counter_read" in row["query"] for row in rows)

    await until(is_asked_for_counters, what="statistics come from the replica")
    async with database.side() as side:
        assert not await side.fetchval(WHERE)


async def test_a_replica_that_goes_away_is_missed_by_nobody(database: Database, pair: Pair) -> None:
    await until_it_is_asked(database)
    await pair.replica.kill()
    started_at = monotonic()
    assert not await asks_a_replica(database)
    assert await list_jobs(database, JobFilter(), 10) == []
    assert monotonic() - started_at < 10
    await pair.replica.start()
    await until_it_is_asked(database)


async def test_a_replica_that_hears_nothing_is_not_believed(
    database: Database, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("windlass.store.replica.REPLICA_LAG_SECONDS_MAX", 0.5)
    monkeypatch.setattr("windlass.store.replica.REPLICA_LOOK_SECONDS", 0.0)
    await pair.freeze_replication()
    try:

        async def is_left() -> bool:
            return not await asks_a_replica(database)

        await until(is_left, what="the primary is asked instead")
    finally:
        await pair.thaw_replication()


async def test_a_replica_that_was_never_there_keeps_nobody_from_starting(
    servers: PrivateServers, template_url: str
) -> None:
    url = await servers.create_database(template_url)
    nobody = f"postgresql://windlass@127.0.0.1:{free_ports(1)[0]}/windlass"
    database = Database(url, read_url=nobody)
    await database.open()
    try:
        assert await list_jobs(database, JobFilter(), 10) == []
    finally:
        await database.close()
