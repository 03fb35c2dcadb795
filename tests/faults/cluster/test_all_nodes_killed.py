"""Every node is killed; one that starts later finds everything: G1."""

from __future__ import annotations

import random

from tests.faults.check import faults_found
from tests.faults.job_objects import mixed, task
from tests.faults.real_cluster import Cluster
from tests.until import until

JOBS = 400


async def test_one_node_finishes_what_all_the_dead_ones_left(cluster: Cluster) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    first, second = [await cluster.start_mortal_node() for _ in range(2)]
    slow = [task("note", f"s{n}", 1.0) for n in range(40)]
    await cluster.submit([*slow, *mixed(JOBS, random.Random(seed))])

    async def both_are_busy() -> bool:
        held = [await cluster.running_on(node.node_id) for node in (first, second)]
        return min(held) > 0

    await until(both_are_busy, what="both nodes hold jobs")
    await first.kill()
    await second.kill()
    assert await cluster.count("FROM windlass.job WHERE state = 'running'") > 0

    last = await cluster.start_node()
    await cluster.until_ended()
    assert await cluster.states(cluster.accepted) == {"succeeded": JOBS + len(slow)}
    assert await cluster.count("FROM windlass.attempt WHERE outcome = 'lost'") > 0
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
    assert last.is_alive
