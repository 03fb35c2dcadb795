"""What a task writes in its job's own transaction is there exactly once, whoever dies: G4."""

from __future__ import annotations

import random
from collections import Counter

from tests.as_node_role import by_hand
from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.nodes import MORTAL, NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until

APP = "tests.faults.jobs.writing_app:app"
AGAIN = {"max_attempts": 20, "initial": "50ms", "factor": 1, "jitter": False}


async def start_node(cluster: Cluster, **settings: str) -> NodeProcess:
    return await cluster.nodes.start(
        cluster.database.url, cluster.redis_url, app=APP, settings=settings
    )


async def make_room(cluster: Cluster) -> None:
    """No key on it: a second effect would be there for all to see."""
    async with by_hand(cluster.database) as connection:
        await connection.execute(
            "CREATE TABLE public.effect (marker text, attempt int4);"
            "GRANT SELECT, INSERT ON public.effect TO PUBLIC"
        )


async def effects(cluster: Cluster) -> Counter[str]:
    rows = await cluster.fetch("SELECT marker FROM public.effect")
    return Counter(row["marker"] for row in rows)


async def test_a_node_killed_between_a_tasks_sql_and_its_finish_leaves_one_effect(
    cluster: Cluster,
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    await make_room(cluster)
    doomed = await start_node(cluster, **MORTAL)
    staying = {"in-a-thread": "write_and_stay", "on-the-loop": "write_and_stay_async"}
    quick = [f"m{n}" for n in range(150)]
    await cluster.submit([task(name, marker, retry=AGAIN) for marker, name in staying.items()])
    await cluster.until_started(staying)  # both have written, and neither has ended
    assert not await effects(cluster)
    await cluster.submit(
        [
            task("write_quickly", marker, round(chance.uniform(0, 0.1), 3), retry=AGAIN)
            for marker in quick
        ]
    )
    await until_effects(cluster, chance.randint(1, 60))
    await doomed.kill()  # others are anywhere between their first line and their commit
    await start_node(cluster)
    await cluster.until_ended()
    assert await effects(cluster) == dict.fromkeys([*staying, *quick], 1)
    rows = await cluster.fetch(
        "SELECT marker FROM public.effect WHERE attempt = 2 AND marker = ANY ($1)", list(staying)
    )
    assert {row["marker"] for row in rows} == staying.keys()
    assert await cluster.states(cluster.accepted) == {"succeeded": len(cluster.accepted)}
    await leaves_nothing_when_it_fails(cluster)
    assert await faults_found(cluster.database, list(cluster.accepted.values())) == []


async def leaves_nothing_when_it_fails(cluster: Cluster) -> None:
    await cluster.submit([task("write_and_fail", "regrets", retry=AGAIN)])
    await cluster.until_ended(["regrets"])
    row = (await cluster.rows(["regrets"]))["regrets"]
    assert (row["state"], row["cause"], row["attempt"]) == ("dead", "dropped", 1)
    assert "thought better of it" in row["error"]
    assert "regrets" not in await effects(cluster)


async def until_effects(cluster: Cluster, count: int) -> None:
    async def are_there() -> bool:
        return len(await effects(cluster)) >= count

    await until(are_there, what=f"{count} effects are there")


async def test_a_frozen_node_that_wakes_up_holds_and_commits_nothing(cluster: Cluster) -> None:
    await make_room(cluster)
    frozen = await start_node(cluster, **MORTAL)
    await cluster.submit([task("write_and_stay", "slow")])
    await cluster.until_started(["slow"])
    await start_node(cluster)
    await frozen.freeze()
    await cluster.until_ended()
    frozen.thaw()

    async def none_is_open() -> bool:
        return not await cluster.count(
            "FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'windlass tasks' AND xact_start IS NOT NULL"
        )

    await until(none_is_open, what="the frozen node rolls back what it had begun to write")
    assert await effects(cluster) == {"slow": 1}
