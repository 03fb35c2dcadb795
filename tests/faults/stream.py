"""Jobs that keep coming while something breaks, and what must hold of them afterwards."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from tests.faults.check import faults_found
from tests.faults.job_objects import Job, drafts, noop, task, wait
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.errors import Unavailable

RETRY = {"max_attempts": 20, "initial": 0.05, "factor": 1}


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
