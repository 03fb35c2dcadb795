"""A timeout stops the work itself, not only the waiting for it."""

from __future__ import annotations

import psutil

from tests.faults.check import faults_found
from tests.faults.job_objects import task
from tests.faults.real_cluster import Cluster
from tests.until import until

# Long enough to start an interpreter in, and to be late by as much again.
TIMEOUT_SECONDS, SECONDS = 8.0, 14.0
STOPPED = {
    "thread": ("note", [SECONDS]),
    "loop": ("note_async", [SECONDS]),
    "process": ("note_isolated", [SECONDS]),
    "spinning": ("loop_for_ever", []),
}


async def test_work_that_takes_too_long_is_stopped_wherever_it_runs(cluster: Cluster) -> None:
    await cluster.start_node()
    once = {"max_attempts": 1}
    await cluster.submit(
        [
            task(name, marker, *args, timeout=TIMEOUT_SECONDS, retry=once)
            for marker, (name, args) in STOPPED.items()
        ]
    )
    await cluster.until_ended()
    for marker, row in (await cluster.rows(STOPPED)).items():
        assert (row["state"], row["outcome"], row["cause"]) == ("dead", "timed_out", "timeout")
        assert len(cluster.witness.lines("start", marker)) == 1, marker

    # By the time this one has ended, the others would have too.
    await cluster.submit([task("note", "control", SECONDS)])
    await cluster.until_ended(["control"])
    assert {line.marker for line in cluster.witness.lines("end")} == {"control"}
    for marker in ("process", "spinning"):
        [start] = cluster.witness.lines("start", marker)

        async def is_gone(pid: int = start.pid) -> bool:
            return not psutil.pid_exists(pid)

        await until(is_gone, what=f"the process of {marker} is gone")
    assert await faults_found(cluster.database, cluster.accepted.values()) == []
