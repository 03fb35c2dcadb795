"""Who leads, asked of the database; and candidates to lead."""

from __future__ import annotations

import json

from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.clock import monotonic
from windlass.engine.cluster.nodes import read_leader
from windlass.store.database import Record


async def candidate(cluster: Cluster, *, redis_url: str | None = None) -> NodeProcess:
    """A node that executes and may lead; without Redis unless one is given."""
    return await cluster.nodes.start(cluster.database.url, redis_url, roles="worker,leader")


async def leader_after(cluster: Cluster, term: int, *, within_seconds: float) -> Record:
    """Whoever begins a later term than `term`."""
    found: list[Record] = []

    async def is_led() -> bool:
        row = await read_leader(cluster.database)
        found[:] = [row]
        return row["node_id"] is not None and row["term"] > term

    await until(is_led, what=f"somebody leads after term {term}", within_seconds=within_seconds)
    return found[0]


async def followed_within(
    cluster: Cluster, term: int, *, within_seconds: float
) -> tuple[Record, float]:
    """The next leader, and how long it took from now."""
    start = monotonic()
    row = await leader_after(cluster, term, within_seconds=within_seconds)
    return row, monotonic() - start


def named(nodes: list[NodeProcess], row: Record) -> NodeProcess:
    [node] = [node for node in nodes if node.node_id == row["node_id"]]
    return node


async def elections(cluster: Cluster) -> list[tuple[int, str]]:
    """Every term there was, in order, and whose it was."""
    rows = await cluster.fetch(
        "SELECT subject, data FROM windlass.event WHERE noun = 'node' AND type = 'elected' "
        "ORDER BY at, seq"
    )
    return [(json.loads(row["data"])["term"], row["subject"]) for row in rows]
