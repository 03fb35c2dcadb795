"""Strangers at the door of a node with few descriptors: it goes on working."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import aiohttp
import psutil

from tests.api.http.raw import wire
from tests.faults.door import Door, open_door
from tests.faults.real_cluster import Cluster
from tests.ports import free_port

DESCRIPTORS = 256
SILENT = 300


async def test_silent_connections_leave_a_node_its_descriptors_and_callers_their_turn(
    cluster: Cluster,
) -> None:
    node = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        roles="api,worker",
        settings={"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port())},
        descriptors=DESCRIPTORS,
    )
    async with AsyncExitStack() as open_:
        for _ in range(SILENT):
            await open_.enter_async_context(wire(node.url))
        # A new connection for each: all of them find room.
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector) as session:
            for _ in range(10):
                async with asyncio.timeout(60):
                    async with session.post(f"{node.url}/v1/jobs", json={"kind": "noop"}) as said:
                        assert said.status == 201
                        job = await said.json()
                    path = f"{node.url}/v1/jobs/{job['id']}?wait=30s"
                    async with session.get(path) as said:
                        assert (await said.json())["state"] == "succeeded"
            async with session.get(f"{node.url}/metrics") as said:
                assert 'windlass_http_refused_total{reason="displaced"}' in await said.text()
        used = psutil.Process(node.pid).num_fds()
        assert used < DESCRIPTORS - 30, "what the engine keeps for itself"
    assert "Too many open files" not in node.log


HEAVY = {
    "name": "heavy",
    "steps": [
        {"id": "a", "kind": "noop", "input": {"n": "${size(inputs.list.map(a, [a, a]))}"}},
    ],
}


async def test_a_stuck_evaluation_keeps_nobody_else_waiting(cluster: Cluster) -> None:
    async with open_door(cluster, roles="api,worker") as door:
        await door.call("POST", "/v1/workflows", 201, HEAVY)
        path, given = "/v1/workflows/heavy/executions", {"input": {"list": list(range(20_000))}}
        await door.call("POST", path, 201, given)
        [process] = _evaluators(door)
        process.suspend()
        waiting = [asyncio.create_task(door.call("POST", path, 201, given)) for _ in range(3)]
        # What needs no evaluation goes on, be it a start of the same workflow.
        for _ in range(5):
            await door.call("GET", "/health/live", 200)
            await door.call("POST", "/v1/jobs", 201, {"kind": "noop"})
            await door.call("POST", path, 201, {"input": {"list": [1]}})
        process.kill()
        for made in await asyncio.gather(*waiting):
            job = await door.call("GET", f"/v1/executions/{made['id']}?wait=60s", 200)
            assert job["state"] == "succeeded"
    assert "evaluator_failed" in door.node.log


def _evaluators(door: Door) -> list[psutil.Process]:
    children = psutil.Process(door.node.pid).children()
    return [one for one in children if "windlass.engine.evaluate.process" in one.cmdline()]
