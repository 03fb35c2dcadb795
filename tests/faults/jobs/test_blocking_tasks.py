"""Users' code may block: heartbeats and other jobs go on."""

from __future__ import annotations

from tests.faults.check import faults_found
from tests.faults.job_objects import noop, task, wait
from tests.faults.real_cluster import Cluster
from tests.until import until

SECONDS = 20.0  # the other jobs end within that, on a busy machine too
BEAT_AGE_SECONDS_MAX = 15.0


async def test_heartbeats_and_other_jobs_go_on_while_tasks_block(cluster: Cluster) -> None:
    node = await cluster.start_node(workers=4)
    await cluster.submit([task("block_loop", "block", SECONDS), task("burn", "burn", SECONDS)])
    await cluster.until_started(["block", "burn"])
    others = await cluster.submit(
        [*(noop(f"k{n}") for n in range(100)), *(wait(f"w{n}", 0.05) for n in range(10))]
    )
    others |= await cluster.submit([task("note", f"n{n}", 0.05) for n in range(10)])
    ages: list[float] = []

    async def have_ended() -> bool:
        [row] = await cluster.fetch(
            "SELECT extract(epoch FROM now() - beat_at)::float8 AS age, state"
            " FROM windlass.node WHERE id = $1",
            node.node_id,
        )
        ages.append(row["age"])
        assert row["state"] == "active"
        return len(cluster.witness.lines("end", "block") + cluster.witness.lines("end", "burn")) > 1

    await until(have_ended, what="the blocking tasks end")
    assert max(ages) < BEAT_AGE_SECONDS_MAX
    assert len(ages) > SECONDS, "the beats were looked at all the time"
    await cluster.until_ended()
    rows = await cluster.rows(cluster.accepted)
    first_end = min(rows[marker]["finished_at"] for marker in ("block", "burn"))
    assert max(rows[marker]["finished_at"] for marker in others) < first_end
    assert {row["node_id"] for row in rows.values()} == {node.node_id}
    assert {row["state"] for row in rows.values()} == {"succeeded"}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
