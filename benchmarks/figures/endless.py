"""Endless: memory of a node whose receivers answer without end, against before those deliveries.

Half of the answers come in chunks, half until the connection ends; each is cut at the cap and its
connection with it. Memory is read all the while, and the highest reading is the one that counts.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psutil

from benchmarks import inside
from benchmarks.allowed import ENVIRONMENT
from benchmarks.http_jobs import job, run_all
from benchmarks.limits import ENDLESS_HOSTS, ENDLESS_WARM_UP, LOOK_EVERY_SECONDS
from benchmarks.measure import Figure, Run, Sample, absolute
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.traffic.receiver import RunningReceiver, receiving

MEGABYTES_MAX = 5.0


async def figures(stage: Stage) -> list[Figure]:
    name = f"node memory grown by {stage.scale.endless_deliveries} endless answers"
    series = await stage.interleave([Run(name=name, once=lambda: measure(stage))])
    return [absolute(series[name], at_most=MEGABYTES_MAX)]


async def measure(stage: Stage) -> Sample:
    async with (
        stage.database() as dsn,
        receiving("endless") as receiver,
        running(dsn, stage.redis_url, settings=ENVIRONMENT) as node,
        inside.connected(dsn) as eye,
    ):
        process = psutil.Process(node.pid)
        # The first ones fill pools and caches that stay.
        await run_all(node, eye, _jobs(receiver, ENDLESS_WARM_UP))
        before = _megabytes(process)
        highest = asyncio.create_task(_highest(process))
        await run_all(node, eye, _jobs(receiver, stage.scale.endless_deliveries))
        highest.cancel()
        grown = max(await highest, _megabytes(process)) - before
        await inside.check_all_succeeded(dsn, ENDLESS_WARM_UP + stage.scale.endless_deliveries)
    stage.tell(f"memory {before:.1f} MB before")
    return Sample(value=max(grown, 0.0), unit="MB")


def _jobs(receiver: RunningReceiver, count: int) -> list[dict[str, Any]]:
    return [
        job(receiver.url("chunked" if number % 2 else "plain", host=number % ENDLESS_HOSTS))
        for number in range(count)
    ]


async def _highest(process: psutil.Process) -> float:
    """The highest reading until somebody cancels this."""
    highest = 0.0
    try:
        while True:
            highest = max(highest, _megabytes(process))
            await asyncio.sleep(LOOK_EVERY_SECONDS)
    except asyncio.CancelledError:
        return highest


def _megabytes(process: psutil.Process) -> float:
    megabytes: float = process.memory_info().rss / 1_000_000
    return megabytes
