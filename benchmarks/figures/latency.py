"""Latency: from a submitting call to the start of the task, at a steady pace, Redis up.

A node with all its roles, a Python task in a thread, a caller in another process over HTTP.
"""

from __future__ import annotations

from benchmarks.limits import PACE_PER_SECOND
from benchmarks.measure import Figure, Series, absolute
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.traffic.pace import Latency, Pace, pace

P50_MS_MAX, P99_MS_MAX = 4.0, 12.0
NAME = f"submit call to job start at {PACE_PER_SECOND} jobs/s"


async def figures(stage: Stage) -> list[Figure]:
    runs = await stage.repeat(
        NAME,
        lambda: measure(stage),
        lambda one: f"p50 {one.p50_ms:.2f}, p99 {one.p99_ms:.2f}, worst {one.max_ms:.2f} ms",
    )
    p50 = Series(name=f"{NAME}: p50", unit="ms", values=tuple(one.p50_ms for one in runs))
    p99 = Series(name=f"{NAME}: p99", unit="ms", values=tuple(one.p99_ms for one in runs))
    return [absolute(p50, at_most=P50_MS_MAX), absolute(p99, at_most=P99_MS_MAX)]


async def measure(stage: Stage) -> Latency:
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, app="benchmarks.tasks:app") as node,
    ):
        order = Pace(
            address=node.address, headers=node.headers, dsn=dsn, jobs=stage.scale.paced_jobs
        )
        return await pace(order)
