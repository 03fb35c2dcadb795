"""Through PgBouncer in transaction mode everything works as it does without."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.aging import age
from tests.engine.hands import end, noop, register, states, submit, take, value
from tests.faults.real_cluster import Cluster, open_cluster
from tests.faults.stream import Stream, all_is_well, until_more_ended
from tests.servers.bouncer import open_bouncer
from tests.until import until
from windlass.engine.effects import Effects
from windlass.engine.jobs.partitions import TABLES
from windlass.engine.jobs.retain import retain
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.runtime.worker.own_transaction import OwnTransaction, commit_and_finish
from windlass.store.database import Database
from windlass.store.migrate import migrate, migrations
from windlass.testing.servers import PrivateServers


@pytest.fixture
async def bouncer_url(servers: PrivateServers) -> AsyncIterator[str]:
    """Nothing has been migrated yet."""
    async with open_bouncer(await servers.create_database()) as url:
        yield url


async def test_many_nodes_migrate_at_once_and_each_file_is_applied_once(bouncer_url: str) -> None:
    applied = await asyncio.gather(*(migrate(bouncer_url) for _ in range(4)))
    numbers = [migration.number for some in applied for migration in some]
    assert sorted(numbers) == [migration.number for migration in migrations()]


async def test_each_turn_has_its_settings_and_leaves_none_behind(bouncer_url: str) -> None:
    await migrate(bouncer_url)
    database = Database(bouncer_url)
    await database.open()
    try:
        for _ in range(20):
            async with database.hot() as hot, database.side() as side:
                assert await hot.fetchval("SHOW enable_seqscan") == "off"
                assert await hot.fetchval("SHOW statement_timeout") == "30s"
                assert await side.fetchval("SHOW enable_seqscan") == "on"
                assert await side.fetchval("SHOW jit") == "off"
    finally:
        await database.close()


async def test_days_come_and_go(bouncer_url: str) -> None:
    await migrate(bouncer_url)
    database = Database(bouncer_url)
    await database.open()
    try:
        missing = await value(database, "SELECT to_char(now() + interval '5 days', 'YYYYMMDD')")
        async with database.side() as connection:
            await connection.execute(f"DROP TABLE windlass.event_{missing}")
        kept, gone = await submit(database, noop(max_attempts=2), noop())
        node = await register(database)
        by_id = {attempt.job_id: attempt for attempt in await take(database, node)}
        await end(database, node, by_id[kept], Failed("again", "later"))
        await end(database, node, by_id[gone])
        day = await age(database, [kept, gone], 20)
        done = await retain(database, 14)
        assert (done.made, done.is_whole) == (1, True)
        assert sorted(done.dropped) == sorted(f"{table}_{day}" for table in TABLES)
        assert await states(database, [kept]) == ["queued"]
        assert len(await database.read("attempt_list", [kept, gone])) == 1
    finally:
        await database.close()


async def test_a_job_ends_in_the_transaction_that_its_task_wrote_in(bouncer_url: str) -> None:
    await migrate(bouncer_url)
    database = Database(bouncer_url)
    await database.open()
    try:
        await submit(database, noop(), noop())
        kept, lost = await take(database, await register(database))
        own = OwnTransaction(database, asyncio.get_running_loop())
        await own.execute("CREATE TABLE public.effect (n int4)")
        await own.execute("INSERT INTO public.effect VALUES ($1)", 1)
        assert await own.fetchval("SHOW statement_timeout") == "5min"
        assert isinstance(
            await commit_and_finish(own, database, settle(kept, Succeeded(), 0.5)), Effects
        )
        other = OwnTransaction(database, asyncio.get_running_loop())
        await other.execute("INSERT INTO public.effect VALUES ($1)", 2)
        await other.roll_back()
        assert await value(database, "SELECT array_agg(n) FROM public.effect") == [1]
        assert await states(database, [kept.job_id, lost.job_id]) == ["succeeded", "running"]
    finally:
        await database.close()


async def test_jobs_flow_with_more_connections_than_sessions(
    bouncer_url: str, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    await migrate(bouncer_url)
    async with open_cluster(bouncer_url, None, tmp_path) as cluster:
        doomed, stays = await cluster.start_mortal_node(), await cluster.start_node()
        stream = Stream(cluster, random.Random(seed))
        streams = [asyncio.create_task(stream.run(name)) for name in "abcd"]
        try:
            await until_more_ended(cluster, 300)
            await doomed.kill()
            await until_more_ended(cluster, 100)
        finally:
            stream.stop()
            await asyncio.gather(*streams)
        await cluster.until_ended(within_seconds=60)
        await all_is_well(cluster, stream.refused)
        assert stream.refused == []
        assert stays.log.count("lease_lost") == 0


async def test_somebody_leads_and_is_followed_without_a_lock_of_a_session(
    bouncer_url: str, tmp_path: Path
) -> None:
    await migrate(bouncer_url)
    async with open_cluster(bouncer_url, None, tmp_path) as cluster:
        for _ in range(2):
            await cluster.nodes.start(bouncer_url, None, roles="worker,leader")
        first = await _leader_after(cluster, 0)
        [leading] = [node for node in cluster.nodes.started if node.node_id == first["node_id"]]
        await leading.kill()
        second = await _leader_after(cluster, first["term"])
        assert second["node_id"] != first["node_id"]


async def _leader_after(cluster: Cluster, term: int) -> dict[str, Any]:
    found: list[dict[str, Any]] = []

    async def is_there() -> bool:
        nonlocal found
        rows = await cluster.fetch("SELECT * FROM windlass.leader WHERE term > $1", term)
        found = [dict(row) for row in rows]
        return bool(found)

    await until(is_there, what=f"somebody leads after term {term}", within_seconds=20)
    return found[0]
