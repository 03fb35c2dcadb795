"""The task that serves the API ends by itself: the node says so and ends, with its work done."""

from __future__ import annotations

import asyncio

import pytest

from tests.faults.app import gate
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.ports import free_port
from tests.until import until
from windlass.cli.exits import Exit


@pytest.mark.parametrize("how", ["returns", "raises", "is cancelled"])
async def test_a_node_whose_api_ends_by_itself_drains_and_ends_with_an_error(
    cluster: Cluster, how: str
) -> None:
    node = await cluster.nodes.start(
        cluster.database.url,
        cluster.redis_url,
        roles="api,worker",
        settings={"WINDLASS_AUTH": "off", "WINDLASS_PORT": str(free_port())},
        app="tests.faults.cluster.api_end_app:app",
    )
    await cluster.submit([task("note_held", "runs")])
    await cluster.until_started(["runs"])
    await cluster.submit([task("end_api", "ends", how)])

    async def is_told() -> bool:
        return "api_ended" in node.log

    await until(is_told, what="the node says that its API has ended")
    gate(cluster.witness.path).touch()
    async with asyncio.timeout(30):
        code = await node.process.wait()
    assert code == Exit.FAILED
    assert await cluster.states(["runs", "ends"]) == {"succeeded": 2}, "it was drained"
    assert await cluster.count("FROM windlass.node WHERE state <> 'left'") == 0
    assert node.log.count("Traceback") == (how == "raises"), "what ended it is told once"
