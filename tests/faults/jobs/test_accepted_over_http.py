"""G1 as a caller of the API sees it: after a 201 the node that said so may die."""

from __future__ import annotations

import asyncio
from collections import Counter

import aiohttp

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.nodes import MORTAL
from tests.faults.real_cluster import Cluster
from tests.ports import free_port
from tests.until import until
from windlass import ids

CALLERS = 6
ENOUGH = 120


async def test_what_was_answered_with_201_ends_although_the_node_that_answered_is_killed(
    cluster: Cluster,
) -> None:
    door = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        roles="api,worker",
        settings={"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port()), **MORTAL},
    )
    unknown: list[str] = []

    async def submit_until_it_dies(name: str, session: aiohttp.ClientSession) -> None:
        for n in range(10_000):
            job = task("note", f"{name}-{n}", 0.05)
            try:
                async with session.post(f"{door.url}/v1/jobs", json=job) as answer:
                    assert answer.status == 201, await answer.text()
                    cluster.accepted[f"{name}-{n}"] = ids.parse("job", (await answer.json())["id"])
            except aiohttp.ClientError:
                unknown.append(f"{name}-{n}")
                return

    async def is_busy_enough() -> bool:
        return len(cluster.accepted) > ENOUGH

    async with aiohttp.ClientSession() as session:
        callers = [asyncio.create_task(submit_until_it_dies(name, session)) for name in "abcdef"]
        await until(is_busy_enough, what=f"{ENOUGH} jobs were accepted")
        # So that something runs for certain when the node dies: nobody else could run it.
        await cluster.submit([task("note_held", "long", priority="high")])
        await cluster.until_started(["long"])
        await door.kill()
        await asyncio.gather(*callers)
    assert len(unknown) == CALLERS

    gate(cluster.witness.path).touch()
    await cluster.start_node()
    await cluster.until_ended()
    rows = await cluster.fetch("SELECT correlation_id FROM windlass.job_history")
    counts = Counter(row["correlation_id"] for row in rows)
    assert {counts[marker] for marker in cluster.accepted} == {1}
    assert {counts[marker] for marker in unknown} <= {0, 1}
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    assert await cluster.count("FROM windlass.attempt WHERE outcome = 'lost'") > 0
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
