"""Dead host: what ten thousand jobs for a host that is no more cost a thousand healthy ones.

The same pace of healthy deliveries without it and beside it, in turns; once it resets every
connection, once it takes connections and never answers. It counts its connections itself, and its
breaker's row says since when it is open.
"""

from __future__ import annotations

import asyncio
from functools import partial

import asyncpg

from benchmarks import inside
from benchmarks.allowed import ENVIRONMENT
from benchmarks.limits import LOOK_EVERY_SECONDS, SILENT_SECONDS
from benchmarks.measure import Figure, Run, Sample, Series, absolute, compare
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.traffic.healthy import Dead, Healthy, latency
from benchmarks.traffic.receiver import Manner, RunningReceiver, receiving

RATIO_MAX = 1.2
CONNECTIONS_MAX = 49.0
BARE = "without it"
NAMES: dict[Manner, str] = {
    "reset": "healthy p99 beside a dead host that resets",
    "silent": "healthy p99 beside a dead host that is silent",
}
OPENED = """
SELECT extract(epoch FROM min(opened_at))::float8 FROM windlass.target WHERE opened_at IS NOT NULL
"""


async def figures(stage: Stage) -> list[Figure]:
    # Connections to the dead host since its breaker opened first, one number a round.
    counted: dict[Manner, list[float]] = {manner: [] for manner in NAMES}
    runs = [
        Run(name=name, once=partial(beside, stage, manner, counted[manner]))
        for manner, name in NAMES.items()
    ]
    series = await stage.interleave([*runs, Run(name=BARE, once=partial(alone, stage))])
    found = []
    for manner, name in NAMES.items():
        counts = Series(
            name=f"connections to the {manner} host, its breaker open",
            unit="connections",
            values=tuple(counted[manner]),
        )
        found += [
            compare(series[name], series[BARE], at_most=RATIO_MAX),
            absolute(counts, at_most=CONNECTIONS_MAX),
        ]
    return found


async def alone(stage: Stage) -> Sample:
    async with stage.database() as dsn:
        return await measure(stage, dsn, None)


async def beside(stage: Stage, manner: Manner, counts: list[float]) -> Sample:
    async with stage.database() as dsn, receiving(manner) as dead, inside.connected(dsn) as eye:
        opened = asyncio.create_task(_opened(eye))
        try:
            sample = await measure(stage, dsn, dead)
            connections = (await dead.seen()).connections
        finally:
            opened.cancel()
            await asyncio.wait([opened])
    # A breaker that never opened is no excuse: then all of them count.
    since = 0.0 if opened.cancelled() else opened.result()
    counts.append(float(sum(at >= since for at in connections)))
    stage.tell(f"{manner}: {len(connections)} connections, {counts[-1]:g} of them while open")
    return sample


async def measure(stage: Stage, dsn: str, dead: RunningReceiver | None) -> Sample:
    async with (
        receiving("fast") as receiver,
        running(dsn, stage.redis_url, settings=ENVIRONMENT) as node,
    ):
        order = Healthy(
            address=node.address,
            headers=node.headers,
            receiver=receiver,
            hosts=stage.scale.healthy_hosts,
            jobs=stage.scale.healthy_jobs,
            dead=None if dead is None else _jobs_for(dead, stage.scale.dead_jobs),
        )
        arrived = await latency(order)
    whole, late = arrived.whole, arrived.second_half
    stage.tell(f"p50 {whole.p50_ms:.1f}, p99 {whole.p99_ms:.1f}, worst {whole.max_ms:.1f} ms")
    stage.tell(f"in the second half: p50 {late.p50_ms:.1f}, p99 {late.p99_ms:.1f} ms")
    return Sample(value=whole.p99_ms, unit="ms")


def _jobs_for(dead: RunningReceiver, jobs: int) -> Dead:
    return Dead(url=dead.url("dead"), jobs=jobs, timeout_seconds=SILENT_SECONDS)


async def _opened(eye: asyncpg.Connection) -> float:
    """When a breaker opened for the first time; the tables come with the node."""
    while True:
        try:
            opened: float | None = await eye.fetchval(OPENED)
        except asyncpg.UndefinedTableError:
            opened = None
        if opened is not None:
            return opened
        await asyncio.sleep(LOOK_EVERY_SECONDS)
