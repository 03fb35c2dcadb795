"""A node is frozen while the end of an attempt is on its way, and that arrives late: G2."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster import open_cluster
from tests.faults.jobs import task
from tests.faults.proxy import Proxy
from tests.faults.reborn import reborn_as
from tests.faults.until import until
from windlass.testing.servers import PrivateServers

JOBS = 4


async def test_an_end_that_arrives_after_the_lease_changes_nothing(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
    ):
        late = await cluster.nodes.start(proxy.url, cluster.redis_url)
        await cluster.submit([task("note_held", f"n{n}") for n in range(JOBS)])
        await cluster.until_started(cluster.accepted)
        proxy.hold(*(job_id.bytes for job_id in cluster.accepted.values()))
        gate(cluster.witness.path).touch()

        async def an_end_is_held() -> bool:
            return proxy.held > 0

        await until(an_end_is_held, what="an end is on its way")
        await late.freeze()
        gate(cluster.witness.path).unlink()  # the second time they run until the late word is there
        other = await cluster.start_node()
        await cluster.until_started(cluster.accepted, times=2)
        await proxy.release()
        assert await cluster.running_on(other.node_id) == JOBS, "the late word changed nothing"
        gate(cluster.witness.path).touch()
        late.thaw()
        await reborn_as(cluster, late)

        await cluster.until_ended()
        for row in (await cluster.rows(cluster.accepted)).values():
            assert (row["state"], row["attempt"]) == ("succeeded", 2)
            assert row["node_id"] == other.node_id
        assert "finish_refused" not in other.log
        assert await faults_found(cluster.database, cluster.accepted.values()) == []
