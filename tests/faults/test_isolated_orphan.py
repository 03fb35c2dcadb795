"""A node is killed while the process of an isolated task starts: it begins elsewhere."""

from __future__ import annotations

import contextlib
import signal

import psutil

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster
from tests.faults.jobs import task
from tests.faults.until import until
from windlass.clock import monotonic


async def test_the_process_of_a_killed_node_begins_nothing(cluster: Cluster) -> None:
    doomed = await cluster.start_node(workers=1)
    await cluster.submit([task("note_isolated", "once")])
    found: list[psutil.Process] = []

    async def has_started_a_process() -> bool:
        found[:] = psutil.Process(doomed.pid).children()
        return bool(found)

    await until(has_started_a_process, what="the process of the task starts", poll_seconds=0.001)
    [orphan] = found
    orphan.send_signal(signal.SIGSTOP)  # before it has come to the task: Python takes its time
    await doomed.kill()
    killed_at = monotonic()
    with contextlib.suppress(psutil.NoSuchProcess):
        orphan.send_signal(signal.SIGCONT)
    living = await cluster.start_node(workers=1)
    await cluster.until_ended()

    async def is_gone() -> bool:
        return not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE

    await until(is_gone, what="the process has left")
    late = [line for line in cluster.witness.lines("start", "once") if line.at > killed_at]
    assert orphan.pid not in {line.pid for line in late}
    [row] = (await cluster.rows(["once"])).values()
    assert (row["state"], row["node_id"]) == ("succeeded", living.node_id)
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
