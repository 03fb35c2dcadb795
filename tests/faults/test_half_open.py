"""PostgreSQL falls silent for one node and nobody is told: the node must notice by itself."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster import open_cluster
from tests.faults.jobs import task
from tests.faults.proxy import Proxy
from tests.faults.reborn import reborn_as
from windlass.clock import monotonic
from windlass.testing.servers import PrivateServers

WORKERS = 4
LEASE_SECONDS = 10.0  # the longer it is, the longer before its end the node gives up
PAUSE_SECONDS_MAX = 1.5  # of any process on a busy machine


async def test_a_node_that_cannot_prove_its_lease_stops_before_others_take_over(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
    ):
        cut_off = await cluster.nodes.start(
            proxy.url,
            servers.redis_of(database_url),
            workers=WORKERS,
            settings={"WINDLASS_LEASE_SECONDS": str(LEASE_SECONDS)},
        )
        long = list(await cluster.submit([task("note_held", f"l{n}") for n in range(WORKERS)]))
        await cluster.until_started(long)
        proxy.silence()
        silent_at = monotonic()
        # These the silent node never hears of, or may not begin.
        await cluster.submit([task("note", f"q{n}") for n in range(WORKERS)])
        other = await cluster.start_node(workers=2 * WORKERS)
        await cluster.until_started(long, times=2)

        stops = cluster.witness.by_marker("stop")
        starts = cluster.witness.by_marker("start")
        for marker in long:
            [stop], (first, second) = stops[marker], starts[marker]
            assert (first.pid, stop.pid, second.pid) == (cut_off.pid, cut_off.pid, other.pid)
            assert first.at < stop.at < second.at, "never two at once"
            assert stop.at < silent_at + LEASE_SECONDS + PAUSE_SECONDS_MAX

        gate(cluster.witness.path).touch()
        proxy.heal()
        reborn = await reborn_as(cluster, cut_off)
        await cluster.until_ended()
        assert {row["node_id"] for row in (await cluster.rows(cluster.accepted)).values()} == {
            other.node_id
        }
        other.terminate()
        assert await other.ends() == 0
        again = await cluster.submit([task("note", f"z{n}") for n in range(WORKERS)])
        await cluster.until_ended(again)
        assert {row["node_id"] for row in (await cluster.rows(again)).values()} == {reborn["id"]}
        assert await faults_found(cluster.database, cluster.accepted.values()) == []
