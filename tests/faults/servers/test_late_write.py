"""What is on its way arrives late, when others have acted meanwhile: G2."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import aiohttp

from tests.faults.app import gate
from tests.faults.check import faults_found
from tests.faults.cluster.reborn import reborn_as
from tests.faults.job_objects import task
from tests.faults.nodes import MORTAL
from tests.faults.proxy import Proxy
from tests.faults.real_cluster import open_cluster
from tests.ports import free_port
from tests.until import until
from windlass import ids
from windlass.engine.jobs.replay import replay
from windlass.testing.servers import PrivateServers

JOBS = 4


async def test_an_end_that_arrives_after_the_lease_changes_nothing(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
    ):
        late = await cluster.nodes.start(proxy.url, cluster.redis_url, settings=MORTAL)
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


async def test_a_retry_that_arrives_late_does_not_run_again_what_has_ended_well_since(
    servers: PrivateServers, database_url: str, tmp_path: Path
) -> None:
    async with (
        Proxy(database_url, random.Random(0)) as proxy,
        open_cluster(database_url, servers.redis_of(database_url), tmp_path) as cluster,
        aiohttp.ClientSession() as session,
    ):
        port = {"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port())}
        door = await cluster.nodes.start(proxy.url, cluster.redis_url, roles="api", settings=port)
        await cluster.start_node()
        one_try = {"max_attempts": 1}
        [job_id] = (await cluster.submit([task("fail_first", "f", retry=one_try)])).values()
        await cluster.until_ended()
        assert await cluster.states(["f"]) == {"dead": 1}
        proxy.hold(b"-- job_replay_many")

        async def retry() -> int:
            path = f"{door.url}/v1/jobs/{ids.show('job', job_id)}/retry"
            async with session.post(path) as answer:
                return answer.status

        late = asyncio.create_task(retry())

        async def is_on_its_way() -> bool:
            return proxy.held > 0

        await until(is_on_its_way, what="the retry is on its way")
        assert len(await replay(cluster.database, [job_id])) == 1
        await cluster.until_ended()
        assert await cluster.states(["f"]) == {"succeeded": 1}
        await proxy.release()
        assert await late == 409
        await cluster.until_ended()
        [row] = (await cluster.rows(["f"])).values()
        assert (row["state"], row["attempt"]) == ("succeeded", 2)
        assert len(cluster.witness.lines("start", "f")) == 2
