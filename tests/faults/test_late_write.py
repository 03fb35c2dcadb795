"""The end of an attempt is on its way when its node loses the lease, and arrives afterwards: G2."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.check import faults_found
from tests.faults.cluster import open_cluster
from tests.faults.jobs import task
from tests.faults.proxy import Proxy
from tests.faults.until import until
from windlass.testing.servers import PrivateServers

JOBS = 4
WARM_UP = 200
SECONDS = 2.0  # the first time it is over before the lease is, the second time it outlasts the test


async def test_an_end_that_arrives_after_the_lease_changes_nothing(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_url, tmp_path) as cluster,
    ):
        late = await cluster.nodes.start(proxy.url, servers.redis_url)
        # By then its connections know every statement, and it says an end in one message.
        await cluster.submit([task("note", f"w{n}") for n in range(WARM_UP)])
        await cluster.until_ended()
        held = await cluster.submit([task("note", f"n{n}", SECONDS) for n in range(JOBS)])
        await cluster.until_started(held)
        proxy.hold()

        async def has_said_so() -> bool:
            said = b"".join(proxy.held)
            return any(job_id.bytes in said for job_id in held.values())

        await until(has_said_so, what="an end is on its way")
        await until(late.has_logged("lease_lost"), what="the node loses its lease")
        assert await cluster.running_on(late.node_id) == JOBS, "nothing of it arrived"
        other = await cluster.start_node()
        await cluster.until_started(held, times=2)
        await proxy.release()
        assert await cluster.running_on(other.node_id) == JOBS, "the late word changed nothing"

        await cluster.until_ended()
        for marker, row in (await cluster.rows(held)).items():
            assert (row["state"], row["attempt"]) == ("succeeded", 2)
            assert row["node_id"] == other.node_id
            assert len(cluster.witness.lines("end", marker)) == 2
        assert "finish_refused" not in other.log
        assert await faults_found(cluster.database, cluster.accepted.values()) == []
