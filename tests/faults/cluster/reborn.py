"""Waiting for a process that lost its lease to register again under a fresh id."""

from __future__ import annotations

from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.store.database import Record


async def reborn_as(cluster: Cluster, node: NodeProcess) -> Record:
    found: list[Record] = []

    async def is_there() -> bool:
        nonlocal found
        found = await cluster.fetch(
            "SELECT * FROM windlass.node WHERE pid = $1 AND id <> $2 AND state = 'active'",
            node.pid,
            node.node_id,
        )
        return bool(found)

    await until(is_there, what="the thawed process registers again")
    return found[0]
