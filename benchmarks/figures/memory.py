"""Memory of a node beside a million waiting jobs: half of a paused queue, half in the future."""

from __future__ import annotations

import asyncio

import psutil

from benchmarks import backlog
from benchmarks.limits import MEMORY_EVERY_SECONDS, MEMORY_READINGS
from benchmarks.measure import Figure, Series, absolute
from benchmarks.node import running
from benchmarks.stage import Stage

MEGABYTES_MAX = 300.0


async def figures(stage: Stage) -> list[Figure]:
    jobs = stage.scale.backlog_jobs
    name = f"node memory with {jobs:,} waiting"
    stage.tell(f"filling {jobs:,} waiting jobs")
    async with stage.database() as dsn:
        await backlog.fill(dsn, {"paused": jobs // 2, "future": jobs - jobs // 2})
        async with running(dsn, stage.redis_url) as node:
            process = psutil.Process(node.pid)
            readings = []
            for _ in range(MEMORY_READINGS):
                await asyncio.sleep(MEMORY_EVERY_SECONDS)
                readings.append(process.memory_info().rss / 1_000_000)
    # The highest is the one that counts; nothing is taken in turns here.
    stage.tell(f"{name}: {max(readings):.0f} MB")
    series = Series(name=name, unit="MB", values=(max(readings),))
    return [absolute(series, at_most=MEGABYTES_MAX)]
