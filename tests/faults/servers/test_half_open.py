"""PostgreSQL falls silent for one node and nobody is told: the node must notice by itself."""

from __future__ import annotations

import random
from pathlib import Path
from uuid import UUID

import pytest

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster.reborn import reborn_as
from tests.faults.job_objects import task
from tests.faults.proxy import Proxy
from tests.faults.real_cluster import Cluster, open_cluster
from tests.until import until
from windlass.clock import monotonic
from windlass.testing.servers import PrivateServers

WORKERS = 4
LEASE_SECONDS = 10.0  # longer than a pause of a busy machine
# However long the lease is, the node gives up what runs a second before its end. A machine that
# pauses just then may make it late, but not each time; without a margin there is next to nothing
# to spare.
SPARE_SECONDS_MIN, ROUNDS_MAX = 0.3, 3
CLOCKS_SECONDS_MAX = 0.05  # by which PostgreSQL's clock and ours part during a lease


@pytest.mark.timeout(300)  # for all rounds
async def test_a_node_that_cannot_prove_its_lease_stops_before_others_take_over(
    servers: PrivateServers, template_url: str, tmp_path: Path
) -> None:
    to_spare: list[float] = []
    for number in range(ROUNDS_MAX):
        folder = tmp_path / f"round-{number}"
        folder.mkdir()
        url = await servers.create_database(template_url)
        to_spare.append(await seconds_to_spare(servers, url, folder))
        if to_spare[-1] > SPARE_SECONDS_MIN:
            break
    assert to_spare[-1] > SPARE_SECONDS_MIN, f"two at once, or nearly: {to_spare}"


async def seconds_to_spare(servers: PrivateServers, database_url: str, folder: Path) -> float:
    """Before the end of its lease, when the last task of a node that was cut off had stopped.

    Nobody begins any of them before that end, be the machine as busy as it may.
    """
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), folder) as cluster,
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
        lapse_at = await lapse_of(cluster, cut_off.node_id)
        # These the silent node never hears of, or may not begin.
        await cluster.submit([task("note", f"q{n}") for n in range(WORKERS)])
        other = await cluster.start_node(workers=2 * WORKERS)
        await cluster.until_started(long, times=2)
        await until_stopped(cluster, long)

        stops = cluster.witness.by_marker("stop")
        starts = cluster.witness.by_marker("start")
        for marker in long:
            [stop], (first, second) = stops[marker], starts[marker]
            assert (first.pid, stop.pid, second.pid) == (cut_off.pid, cut_off.pid, other.pid)
            assert first.at < stop.at
            assert second.at > lapse_at - CLOCKS_SECONDS_MAX, "it had its lease until then"

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
        return lapse_at - max(stops[marker][0].at for marker in long)


async def lapse_of(cluster: Cluster, node_id: UUID) -> float:
    """When the lease of a node that renews it no more ends, by our clock; not later than it does.

    A renewal that was under way when the node was cut off may make it later.
    """
    asked_at = monotonic()
    [row] = await cluster.fetch(
        "SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 AS seconds"
        " FROM windlass.node WHERE id = $1",
        node_id,
    )
    left: float = row["seconds"]
    return asked_at + left


async def until_stopped(cluster: Cluster, markers: list[str]) -> None:
    async def all_stopped() -> bool:
        return cluster.witness.by_marker("stop").keys() >= set(markers)

    await until(all_stopped, what=f"{len(markers)} tasks are stopped")
