"""The fast lane is flushed, killed, or was never there: G9. Slower perhaps, never wrong."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.faults.check import faults_found
from tests.faults.job_objects import mixed, task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

JOBS = 800
FLUSH_SECONDS = 0.2


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


@asynccontextmanager
async def fresh_cluster(
    servers: PrivateServers, redis_url: str | None, folder: Path
) -> AsyncIterator[Cluster]:
    url = await servers.create_database(servers.database_url)
    async with open_cluster(url, redis_url, folder) as cluster:
        yield cluster


async def work_through(cluster: Cluster) -> None:
    """Two nodes take a stream of jobs; in the end everything is as it must be."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    await cluster.start_node()
    await cluster.start_node()
    jobs = mixed(JOBS, random.Random(seed))
    for start in range(0, JOBS, 100):
        await cluster.submit(jobs[start : start + 100])
        await until_few_are_left(cluster)
    await cluster.until_ended()
    await is_whole(cluster)


async def until_few_are_left(cluster: Cluster) -> None:
    async def are_few() -> bool:
        return await cluster.count("FROM windlass.job") < 50

    await until(are_few, what="the nodes keep up")


async def is_whole(cluster: Cluster) -> None:
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    assert await cluster.count("FROM windlass.attempt") == 0, "no attempt was lost or repeated"
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def test_flushing_all_the_time_changes_nothing(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    flushes = 0

    async def flush_for_ever() -> None:
        nonlocal flushes
        async with Redis.from_url(own_servers.redis_url) as client:
            while True:
                await client.flushall()
                flushes += 1
                await asyncio.sleep(FLUSH_SECONDS)

    async with fresh_cluster(own_servers, own_servers.redis_url, tmp_path) as cluster:
        flushing = asyncio.create_task(flush_for_ever())
        try:
            await work_through(cluster)
            assert not flushing.done()
        finally:
            flushing.cancel()
    assert flushes > 5


async def test_killing_it_in_the_middle_and_starting_it_again_changes_nothing(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    async with fresh_cluster(own_servers, own_servers.redis_url, tmp_path) as cluster:
        working = asyncio.create_task(work_through(cluster))
        await until_some_ended(cluster, JOBS // 5)
        await own_servers.kill_valkey()
        await until_some_ended(cluster, JOBS // 2)
        await own_servers.restart_valkey()
        await working
        # The nodes find it again by themselves, without a restart of theirs.
        for node in cluster.nodes.started:
            await until_it_has_the_lane_again(node)
        again = await cluster.submit([task("note", f"z{n}") for n in range(20)])
        await cluster.until_ended(again)
        await is_whole(cluster)


async def until_it_has_the_lane_again(node: NodeProcess) -> None:
    async def is_up_again() -> bool:
        # On a busy machine it may have lost it, and found it, more often than that.
        log = node.log
        return log.rfind("redis_back") > log.rfind("redis_away") >= 0

    await until(is_up_again, what=f"node {node.node_id} finds the fast lane again")


async def until_some_ended(cluster: Cluster, count: int) -> None:
    async def have_ended() -> bool:
        return await cluster.count("FROM windlass.job_history") >= count

    await until(have_ended, what=f"{count} jobs ended")


@asynccontextmanager
async def without_address(_: PrivateServers) -> AsyncIterator[str | None]:
    yield None


@asynccontextmanager
async def where_nobody_answers(_: PrivateServers) -> AsyncIterator[str | None]:
    yield "redis://127.0.0.1:1/0"


@asynccontextmanager
async def with_a_wrong_password(servers: PrivateServers) -> AsyncIterator[str | None]:
    right = servers.valkey.password.known()
    yield servers.redis_url.replace(f":{right}@", ":wrong@")


@asynccontextmanager
async def that_never_says_a_word(_: PrivateServers) -> AsyncIterator[str | None]:
    """It accepts connections and commands, like a host that was unplugged."""
    writers: list[asyncio.StreamWriter] = []

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"redis://127.0.0.1:{port}/0"
    server.close()
    for writer in writers:
        writer.close()
    assert writers, "somebody tried"


Lane = Callable[[PrivateServers], AbstractAsyncContextManager[str | None]]
LANES = [without_address, where_nobody_answers, with_a_wrong_password, that_never_says_a_word]


@pytest.mark.parametrize("lane", LANES, ids=lambda lane: lane.__name__)
async def test_doing_without_it_from_the_start_changes_nothing(
    own_servers: PrivateServers, tmp_path: Path, lane: Lane
) -> None:
    async with (
        lane(own_servers) as redis_url,
        fresh_cluster(own_servers, redis_url, tmp_path) as cluster,
    ):
        await work_through(cluster)
