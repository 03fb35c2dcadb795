"""A node is killed while the process of an isolated task starts: it begins elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Awaitable, Callable

import psutil

from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until
from windlass.clock import monotonic

STOPS_MAX = 10


def is_dead(process: psutil.Process) -> Callable[[], Awaitable[bool]]:
    async def asked() -> bool:
        try:
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return asked


async def stopped_process_of(node: psutil.Process) -> psutil.Process:
    found: list[psutil.Process] = []

    async def has_started_a_process() -> bool:
        found[:] = node.children()
        return bool(found)

    await until(has_started_a_process, what="the process of the task starts", poll_seconds=0.001)
    [orphan] = found
    orphan.send_signal(signal.SIGSTOP)
    return orphan


async def test_the_process_of_a_killed_node_begins_nothing(cluster: Cluster) -> None:
    for number in range(STOPS_MAX):
        doomed = await cluster.start_mortal_node(workers=1)
        node = psutil.Process(doomed.pid)
        marker = f"once-{number}"
        await cluster.submit([task("note_isolated", marker)])
        orphan = await stopped_process_of(node)
        if not cluster.witness.lines("start", marker):
            break  # it has not come to the task yet: Python takes its time
        orphan.send_signal(signal.SIGCONT)
        await cluster.until_ended([marker])
        await doomed.kill()
    else:
        raise AssertionError("its process was never stopped in time")
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
    late = [line for line in cluster.witness.lines("start", marker) if line.at > killed_at]
    assert orphan.pid not in {line.pid for line in late}
    [row] = (await cluster.rows([marker])).values()
    assert (row["state"], row["node_id"]) == ("succeeded", living.node_id)
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
