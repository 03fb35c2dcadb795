"""Connections are cut at COMMIT, and the answer is swallowed: G1, G2."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.check import faults_found
from tests.faults.job_objects import Job, drafts, noop, task
from tests.faults.proxy import Proxy
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.engine.jobs.enqueue import Enqueuer
from windlass.engine.jobs.request import Idempotency
from windlass.errors import Unavailable
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers

SUBMISSIONS = 400
AT_ONCE = 8
PARTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    job: Job
    # None: its caller does not repeat it, whatever the answer.
    idempotency: Idempotency | None

    @property
    def marker(self) -> str:
        return str(self.job["correlation_id"])


def submissions(chance: random.Random) -> list[Submission]:
    """With and without unique keys, with and without a promise to repeat the same."""
    made = []
    for n in range(SUBMISSIONS):
        marker = f"c{n}"
        fields = {"key": f"key-{n}"} if chance.random() < 0.3 else {}
        job = noop(marker, **fields) if chance.random() < 0.5 else task("note", marker, **fields)
        promise = Idempotency(owner="test", key=marker, body_hash=marker.encode())
        made.append(Submission(job=job, idempotency=promise if chance.random() < 0.3 else None))
    return made


async def test_a_submission_that_was_answered_exists_once_and_an_error_at_most_once(
    cluster: Cluster,
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    await cluster.start_node()
    async with Proxy(cluster.database.url, chance) as proxy:
        database = Database(proxy.url)
        await database.open()
        enqueuer = Enqueuer(database, follow=cluster.follower.follow)
        proxy.cut_chance = 0.08
        refused: list[str] = []
        waiting = submissions(chance)

        async def submit_some() -> None:
            while waiting:
                one = waiting.pop()
                try:
                    answer = await enqueuer.submit(drafts([one.job])[0], one.idempotency)
                except Unavailable:
                    if one.idempotency is not None:
                        waiting.append(one)
                    else:
                        refused.append(one.marker)
                else:
                    [cluster.accepted[one.marker]] = answer.job_ids

        await asyncio.gather(*(submit_some() for _ in range(AT_ONCE)))
        proxy.cut_chance = 0.0
        await database.close()
        print(f"cuts {proxy.cuts}, refused {len(refused)}")
        assert min(proxy.cuts.values()) > 5
    assert len(cluster.accepted) + len(refused) == SUBMISSIONS
    await cluster.until_ended()
    counts = await how_often_markers_exist(cluster)
    assert {counts[marker] for marker in cluster.accepted} == {1}
    assert {counts[marker] for marker in refused} <= {0, 1}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def how_often_markers_exist(cluster: Cluster) -> Counter[str]:
    rows = await cluster.fetch("""
        SELECT correlation_id FROM windlass.job
        UNION ALL SELECT correlation_id FROM windlass.job_history""")
    return Counter(row["correlation_id"] for row in rows)


@pytest.mark.timeout(300)  # longer than all that it waits for
async def test_a_node_whose_connections_are_cut_ends_every_job_once(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    async with (
        Proxy(database_url, random.Random(seed)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
    ):
        await cluster.nodes.start(proxy.url, cluster.redis_url)
        proxy.cut_chance = 0.05
        for part in range(PARTS):
            await cluster.submit(jobs_of_every_end(f"p{part}"))
            await until_few_are_queued(cluster)
        proxy.cut_chance = 0.0
        print(f"cuts {proxy.cuts}")
        # A claim whose answer was lost is found by the reconciliation, which takes its time.
        await cluster.until_ended(within_seconds=90)
        assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
        assert await faults_found(cluster.database, cluster.accepted.values()) == []


def jobs_of_every_end(part: str) -> list[Job]:
    """Some succeed, some have to be tried again, some have children."""
    retry = {"max_attempts": 20, "initial": 0.05, "factor": 1}
    jobs = [task("note", f"{part}-n{n}", retry=retry) for n in range(20)]
    jobs += [task("fail_first", f"{part}-f{n}", retry=retry) for n in range(10)]
    return jobs + [
        task("note", f"{part}-c{n}", depends_on=[f"#{n}"], retry=retry) for n in range(10)
    ]


async def until_few_are_queued(cluster: Cluster) -> None:
    async def are_few() -> bool:
        return await cluster.count("FROM windlass.job WHERE state = 'queued'") < 10

    await until(are_few, what="the node goes on")
