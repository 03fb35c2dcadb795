"""A node is killed while the process of an isolated task starts: it begins elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Awaitable, Callable

import psutil

from tests.faults.check import faults_found
from tests.faults.cluster import Cluster
from tests.faults.jobs import task
from tests.faults.until import until
from windlass.clock import monotonic


def is_dead(process: psutil.Process) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return asked


async def test_the_process_of_a_killed_node_begins_nothing(cluster: Cluster) -> None:
    doomed = await cluster.start_node(workers=1)
    node = psutil.Process(doomed.pid)
    await cluster.submit([task("note_isolated", "once")])
    found: list[psutil.Process] = []

    async def has_started_a_process() -> bool:
        found[:] = node.children()
        return bool(found)

    await until(has_started_a_process, what="the process of the task starts", poll_seconds=0.001)
    [orphan] = found
    orphan.send_signal(signal.SIGSTOP)  # before it has come to the task: Python takes its time
    os.kill(doomed.pid, signal.SIGKILL)
    # Its output ends with the last who holds it, and that is the orphan: it must go on first.
    await until(is_dead(node), what="the node is dead")
    killed_at = monotonic()
    with contextlib.suppress(psutil.NoSuchProcess):
        orphan.send_signal(signal.SIGCONT)
    await doomed.process.wait()
    living = await cluster.start_node(workers=1)
    await cluster.until_ended()

    await until(is_dead(orphan), what="the process has left")
    late = [line for line in cluster.witness.lines("start", "once") if line.at > killed_at]
    assert orphan.pid not in {line.pid for line in late}
    [row] = (await cluster.rows(["once"])).values()
    assert (row["state"], row["node_id"]) == ("succeeded", living.node_id)
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
