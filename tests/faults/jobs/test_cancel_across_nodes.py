"""A cancel is asked of one node while another runs the job: with Redis, without, flushed. G7."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.faults.check import faults_found
from tests.faults.door import Door, open_door
from tests.faults.job_objects import task
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass import ids
from windlass.clock import monotonic
from windlass.limits import SIGNAL_WAIT_SECONDS
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

# Nobody waits for its end: a job that ends sooner was stopped.
SECONDS = 120.0
FLUSH_SECONDS = 0.1
SOON_SECONDS = 20.0
assert SOON_SECONDS < SECONDS


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    """For tests that do something to Redis."""
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


@asynccontextmanager
async def flushed_all_the_time(redis_url: str) -> AsyncIterator[None]:
    async def flush_for_ever() -> None:
        async with Redis.from_url(redis_url) as redis:
            while True:
                await redis.flushall()
                await asyncio.sleep(FLUSH_SECONDS)

    flushing = asyncio.create_task(flush_for_ever())
    try:
        yield
    finally:
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)


async def begin(cluster: Cluster, *markers: str) -> None:
    await cluster.submit([task("note", marker, SECONDS) for marker in markers])
    await cluster.until_started(markers)


async def cancel(door: Door, cluster: Cluster, marker: str) -> str:
    """The job's state as the answer has it: one that is stopped at once may be `cancelled`."""
    path = f"/v1/jobs/{ids.show('job', cluster.accepted[marker])}/cancel"
    async with door.session.post(door.node.url + path) as answer:
        state: str = (await answer.json())["state"]
        assert (answer.status, state) in {(202, "running"), (200, "cancelled")}
    return state


async def ends_cancelled(cluster: Cluster, *markers: str) -> None:
    await cluster.until_ended(markers, within_seconds=SOON_SECONDS)
    assert await cluster.states(markers) == {"cancelled": len(markers)}
    assert {line.marker for line in cluster.witness.lines("end")} == set()
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


def told(node: NodeProcess) -> list[str]:
    """Each `cancel` that the node has handled."""
    lines = node.log.splitlines()
    return [line for line in lines if "signal_came" in line and "cancel" in line]


async def until_told(node: NodeProcess, times: int = 1) -> None:
    """The duty that looks each second may have been quicker; the signal comes all the same."""

    async def is_told() -> bool:
        return len(told(node)) >= times

    await until(is_told, what="the node is told")


async def test_the_node_that_runs_it_is_told_and_no_other(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        runs = await cluster.start_node()
        await begin(cluster, "long")
        bystander = await cluster.start_node()
        await cancel(door, cluster, "long")
        await ends_cancelled(cluster, "long")
        await until_told(runs)
        await cancel(door, cluster, "long")  # saying it again does no harm
        assert (len(told(runs)), told(bystander), told(door.node)) == (1, [], [])


async def test_without_redis_it_is_told_through_postgresql(
    database_url: str, tmp_path: Path
) -> None:
    async with open_cluster(database_url, None, tmp_path) as cluster, open_door(cluster) as door:
        runs = await cluster.start_node()
        await begin(cluster, "long")
        await cancel(door, cluster, "long")
        await ends_cancelled(cluster, "long")
        await until_told(runs)
        assert await cluster.count("FROM windlass.signal WHERE name = 'cancel'") == 1


async def test_with_a_redis_that_is_flushed_all_the_time_each_is_stopped(
    own_servers: PrivateServers, tmp_path: Path
) -> None:
    url = await own_servers.create_database(own_servers.database_url)
    async with (
        open_cluster(url, own_servers.redis_url, tmp_path) as cluster,
        open_door(cluster) as door,
    ):
        runs = await cluster.start_node()
        async with flushed_all_the_time(own_servers.redis_url):
            for n in range(5):
                await begin(cluster, f"long-{n}")
                await cancel(door, cluster, f"long-{n}")
                await ends_cancelled(cluster, f"long-{n}")
                # Before the next is asked for: two that wait to be told go as one signal.
                await until_told(runs, times=n + 1)
        assert len(told(runs)) == 5, "each signal is handled once"


async def test_a_frozen_node_holds_up_no_answer_and_its_job_ends_cancelled(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        # It lapses soon, but not before both cancels.
        frozen = await cluster.start_node(WINDLASS_LEASE_SECONDS="8")
        await begin(cluster, "a", "b")
        await frozen.freeze()
        begun = monotonic()
        assert await cancel(door, cluster, "a") == "running"
        assert await cancel(door, cluster, "b") == "running"
        assert monotonic() - begun < SIGNAL_WAIT_SECONDS, "the node was not waited for"
        await ends_cancelled(cluster, "a", "b")  # its lease is over, and nobody runs them again
        frozen.thaw()

        async def is_born_again() -> bool:
            return (
                "node_lost_its_lease" in frozen.log
                and await cluster.count("FROM windlass.node WHERE state = 'active'") == 2
            )

        await until(is_born_again, what="the node has noticed")
        await ends_cancelled(cluster, "a", "b")


async def test_many_jobs_take_one_signal_a_node(cluster: Cluster) -> None:
    nodes = [await cluster.start_node(workers=4) for _ in range(2)]
    await begin(cluster, *(f"long-{n}" for n in range(8)))
    asked = await cluster.cancel(list(cluster.accepted.values()))
    assert set(asked.stopping.values()) == {node.node_id for node in nodes}
    await ends_cancelled(cluster, *cluster.accepted)
    for node in nodes:
        await until_told(node)
        assert len(told(node)) == 1


async def test_where_nothing_runs_nobody_is_told(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node()
        await cluster.submit([task("note", "later", 0, delay="1h")])
        assert await cancel(door, cluster, "later") == "cancelled"
        said = await cluster.signaller.signal([node.node_id], "ping", {}, 10.0)
        assert said.missing == []
        assert told(node) == []
