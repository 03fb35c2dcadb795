"""PostgreSQL is restarted, stopped at once and killed while jobs flow: G1, G2."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster, open_cluster
from tests.faults.jobs import Job, drafts, noop, task, wait
from tests.faults.until import until
from windlass.errors import Unavailable
from windlass.store.migrate import migrate
from windlass.testing.servers import PrivateServers

RETRY = {"max_attempts": 20, "initial": 0.05, "factor": 1}


@pytest.fixture(scope="module")
async def own_servers() -> AsyncIterator[PrivateServers]:
    async with PrivateServers() as started:
        await migrate(started.database_url)
        yield started


async def restart_fast(servers: PrivateServers) -> None:
    await servers.restart_postgres()


async def restart_at_once(servers: PrivateServers) -> None:
    await servers.restart_postgres(at_once=True)


async def kill(servers: PrivateServers) -> None:
    await servers.kill_postgres()
    await servers.restart_postgres()


class Stream:
    """Submits jobs one after the other until it is told to stop."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._is_over = False
        self.refused: list[str] = []  # answered with an error

    def stop(self) -> None:
        self._is_over = True

    async def run(self, name: str) -> None:
        n = 0
        while not self._is_over:
            n += 1
            job = self._job(f"{name}-{n}")
            marker = job["correlation_id"]
            try:
                answer = await self._cluster.enqueuer.submit(drafts([job])[0])
            except Unavailable:
                self.refused.append(marker)
                await asyncio.sleep(0.05)  # a caller that is told to come back does not insist
            else:
                [self._cluster.accepted[marker]] = answer.job_ids

    def _job(self, marker: str) -> Job:
        match self._chance.choice(("noop", "wait", "note", "fail_first")):
            case "noop":
                return noop(marker, retry=RETRY)
            case "wait":
                return wait(marker, 0.02, retry=RETRY)
            case name:
                return task(name, marker, retry=RETRY)


@pytest.mark.parametrize("fault", [restart_fast, restart_at_once, kill], ids=lambda f: f.__name__)
async def test_nothing_is_lost_or_ended_twice_and_the_nodes_go_on(
    own_servers: PrivateServers,
    tmp_path: Path,
    fault: Callable[[PrivateServers], Awaitable[None]],
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    url = await own_servers.create_database(own_servers.database_url)
    async with open_cluster(url, own_servers.redis_url, tmp_path) as cluster:
        nodes = [await cluster.start_node(), await cluster.start_node()]
        stream = Stream(cluster, random.Random(seed))
        streams = [asyncio.create_task(stream.run(name)) for name in "abcd"]
        try:
            for _ in range(2):
                await until_more_ended(cluster, 100)
                await fault(own_servers)
            await until_more_ended(cluster, 100)
        finally:
            stream.stop()
            await asyncio.gather(*streams)
        # A claim whose answer was lost is found by the reconciliation, which takes its time.
        await cluster.until_ended(within_seconds=90)
        await all_is_well(cluster, stream.refused)
        assert all(node.is_alive for node in nodes)


async def until_more_ended(cluster: Cluster, count: int) -> None:
    """Wait for this many ends on top of those there are."""
    wanted: int | None = None

    async def have_ended() -> bool:
        nonlocal wanted
        try:
            ended = await cluster.count("FROM windlass.job_history")
        except Unavailable:
            return False
        wanted = wanted or ended + count
        return ended >= wanted

    await until(have_ended, what=f"{count} more jobs ended")


async def all_is_well(cluster: Cluster, refused: list[str]) -> None:
    rows = await cluster.fetch("""
        SELECT correlation_id FROM windlass.job
        UNION ALL SELECT correlation_id FROM windlass.job_history""")
    counts = Counter(row["correlation_id"] for row in rows)
    assert {counts[marker] for marker in cluster.accepted} == {1}
    assert {counts[marker] for marker in refused} <= {0, 1}
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
