"""What `/metrics` says of the leader and the sweep, on a node that does neither."""

from __future__ import annotations

import asyncio
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from tests.faults.cluster.leaders import candidate
from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.cluster.nodes import read_leader

AGE: Final = "windlass_sweep_age_seconds"


async def test_a_node_that_never_leads_says_whether_another_does(cluster: Cluster) -> None:
    async with open_door(cluster) as door:
        assert (await numbers(door))["windlass_leader"] == 0
        leader = await candidate(cluster)
        first = await until_it_says(cluster, door, windlass_leader_seen=1)
        assert first > 0
        await leader.kill()
        await until_it_says(cluster, door, windlass_leader_seen=0)
        await candidate(cluster)
        assert await until_it_says(cluster, door, windlass_leader_seen=1) > first
        assert (await numbers(door))["windlass_leader"] == 0


async def test_the_leader_says_so_itself(cluster: Cluster) -> None:
    async with open_door(cluster, roles="api,leader") as door:
        await until_it_says(cluster, door, windlass_leader=1)


async def test_every_node_hears_of_a_sweep_by_another(cluster: Cluster) -> None:
    async with open_door(cluster) as door, open_door(cluster) as other:
        await asyncio.gather(until_it_knows_a_sweep(door), until_it_knows_a_sweep(other))
        before, known_at = (await numbers(door))[AGE], monotonic()
        await other.call("POST", "/v1/system/sweep", 200, {})

        async def is_younger() -> bool:
            """Than it would be by now without the sweep."""
            asked_at = monotonic()
            return (await numbers(door))[AGE] < before + (asked_at - known_at)

        await until(is_younger, what="the sweep is heard of", within_seconds=20)
        dry = (await numbers(door))[AGE]
        await other.call("POST", "/v1/system/sweep", 200, {"dry_run": True})
        assert (await numbers(door))[AGE] > dry, "nothing was swept"


async def until_it_knows_a_sweep(door: Door) -> None:
    """Or that there was none since it reached Redis, some time ago."""

    async def knows() -> bool:
        return (await numbers(door)).get(AGE, 0.0) > 0.1

    await until(knows, what="Redis is reached", within_seconds=20)


async def numbers(door: Door) -> dict[str, float]:
    async with door.session.get(f"{door.node.url}/metrics") as answer:
        text = await answer.text()
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.labels
    }


async def until_it_says(cluster: Cluster, door: Door, **wanted: float) -> int:
    """And the term that PostgreSQL knows, which is returned: who pauses may begin another."""
    term = 0

    async def says_so() -> bool:
        nonlocal term
        term = (await read_leader(cluster.database))["term"]
        said = {**wanted, "windlass_leader_term": term}
        return said.items() <= (await numbers(door)).items()

    await until(says_so, what=f"{wanted} is said", within_seconds=20)
    return term
