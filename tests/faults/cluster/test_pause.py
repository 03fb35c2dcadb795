"""A paused node runs nothing new, whatever happens to it, until it is resumed."""

from __future__ import annotations

from tests.faults.cluster.reborn import reborn_as
from tests.faults.door import open_door
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until


async def test_a_paused_node_finishes_what_runs_and_starts_nothing_until_it_is_resumed(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_node(workers=2)
        await cluster.submit([task("note", f"p{n}", 1.0) for n in range(6)])
        await cluster.until_started(["p0", "p1"])
        done = await door.until_ended(await door.verb(node.node_id, "pause"))
        assert done["phase"] == "done"

        async def is_idle() -> bool:
            return await cluster.running_on(node.node_id) == 0

        await until(is_idle, what="what ran has ended and the rest is handed back")
        await cluster.submit([task("note", "late", 0.0)])
        began = {line.marker for line in cluster.witness.lines("start")}
        # A change of its size does not wake it either.
        assert (await door.until_ended(await door.resize(node.node_id, 4)))["phase"] == "done"
        assert {line.marker for line in cluster.witness.lines("start")} == began
        done = await door.until_ended(await door.verb(node.node_id, "resume"))
        assert done["phase"] == "done"
        await cluster.until_ended()
    assert await cluster.count("FROM windlass.attempt") == 0


async def test_a_node_that_lost_its_lease_comes_back_as_large_and_as_paused_as_it_was(
    cluster: Cluster,
) -> None:
    async with open_door(cluster) as door:
        node = await cluster.start_mortal_node(workers=2)
        await door.until_ended(await door.resize(node.node_id, 5))
        await door.until_ended(await door.verb(node.node_id, "pause"))
        await node.freeze()

        async def is_lost() -> bool:
            sql = "FROM windlass.node WHERE id = $1 AND state = 'lost'"
            return await cluster.count(sql, node.node_id) == 1

        await until(is_lost, what="others have noticed")
        node.thaw()
        row = await reborn_as(cluster, node)

        async def is_as_before() -> bool:
            sql = "FROM windlass.node WHERE id = $1 AND workers = 5 AND is_paused"
            return await cluster.count(sql, row["id"]) == 1

        await until(is_as_before, what="it is as before under its new id")
        await cluster.submit([task("note", "held", 0.0)])
        await door.until_ended(await door.verb(row["id"], "resume"))
        await cluster.until_ended()
