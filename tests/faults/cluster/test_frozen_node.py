"""A node is frozen past its lease and thawed: G2. Its word no longer counts."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

from tests.faults.check import faults_found
from tests.faults.cluster.reborn import reborn_as
from tests.faults.job_objects import Job, task, wait
from tests.faults.nodes import NodeProcess
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.clock import monotonic

IN_FLIGHT = 100
SECONDS = 12.0  # of each job: all of them have begun, and none is over, when the node is frozen
MORE = 20


def in_flight() -> list[Job]:
    jobs = [task("note", f"t{n}", SECONDS) for n in range(30)]
    jobs += [task("note_async", f"a{n}", SECONDS) for n in range(30)]
    return jobs + [wait(f"w{n}", SECONDS) for n in range(IN_FLIGHT - len(jobs))]


async def test_a_frozen_node_writes_and_begins_nothing_after_it_thaws(cluster: Cluster) -> None:
    frozen = await cluster.start_mortal_node(workers=IN_FLIGHT)
    held = await cluster.submit(in_flight())
    tasks = [marker for marker in held if not marker.startswith("w")]
    await cluster.until_started(tasks)
    await until_held(cluster, frozen, IN_FLIGHT)
    # These wait behind the full slots; some the node has claimed ahead.
    await cluster.submit([task("note", f"q{n}") for n in range(MORE)])
    await until_held(cluster, frozen, IN_FLIGHT + 1)
    await frozen.freeze()

    other = await cluster.start_node(workers=IN_FLIGHT + MORE)
    await until_held(cluster, other, IN_FLIGHT)
    await cluster.until_started(tasks, times=2)
    # So that it would end each of them at once, if its word still counted.
    began = max(line.at for line in cluster.witness.lines("start") if line.pid == frozen.pid)
    await asyncio.sleep(max(0.0, began + SECONDS - monotonic()))
    frozen.thaw()
    thawed_at = monotonic()
    reborn = await reborn_as(cluster, frozen)
    await cluster.until_ended()

    rows = await cluster.rows(held)
    assert Counter(row["node_id"] for row in rows.values()) == {other.node_id: IN_FLIGHT}
    assert {row["attempt"] for row in rows.values()} == {2}
    assert {row["outcome"] for row in rows.values()} == {"succeeded"}
    assert powerless(frozen) >= IN_FLIGHT
    begun = [line for line in cluster.witness.lines("start") if line.pid == frozen.pid]
    assert [line for line in begun if line.at > thawed_at] == []
    assert len(begun) >= len(tasks)

    # The process lives on under its fresh id.
    other.terminate()
    assert await other.ends() == 0
    again = await cluster.submit([task("note", f"z{n}") for n in range(MORE)])
    await cluster.until_ended(again)
    assert {row["node_id"] for row in (await cluster.rows(again)).values()} == {reborn["id"]}
    assert await faults_found(cluster.database, cluster.accepted.values()) == []


async def until_held(cluster: Cluster, node: NodeProcess, count: int) -> None:
    async def holds() -> bool:
        return await cluster.running_on(node.node_id) >= count

    await until(holds, what=f"node {node.node_id} holds {count} jobs")


def powerless(node: NodeProcess) -> int:
    """Attempts whose end the node itself gave up, or was refused."""
    told = r"gives up ([\d,]+) job|([\d,]+) jobs ended here too late"
    found = [abandoned or refused for abandoned, refused in re.findall(told, node.log)]
    return sum(int(count.replace(",", "")) for count in found)
