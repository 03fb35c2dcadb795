"""Two nodes: how much faster two processes drain the same jobs than one does, in turns.

A node's ceiling is its slots when its jobs wait for others, and a core when they do nothing. The
first is what is wanted of two nodes on any machine; of the second, two nodes beside a PostgreSQL
need three cores at least, so the number of cores is in the figure's name.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial

import msgspec

from benchmarks import inside
from benchmarks.limits import INSERT_BATCH, PAIR_DUE_IN_SECONDS, PAIR_SLOTS, PAIR_WAIT_SECONDS
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.until import until
from windlass.engine.announce import Announcer
from windlass.engine.follow import Follower
from windlass.fastlane.lane import FastLane
from windlass.model.job.draft import Draft

RATIO_MIN = 1.6
CORES = len(os.sched_getaffinity(0))
# Both nodes have started long before, so that the first start of a job is that of the drain.
WORKED = """
SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM windlass.job_history
"""
SHARES = "SELECT count(*) FROM windlass.job_history GROUP BY node_id ORDER BY 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    name: str
    draft: Draft
    jobs: int
    at_least: float | None  # None: it is only shown


async def figures(stage: Stage) -> list[Figure]:
    waits = msgspec.json.encode({"seconds": PAIR_WAIT_SECONDS}).decode()
    [noop] = inside.drafts(1)
    return [
        await compared(stage, work)
        for work in (
            Work(
                name=f"jobs that wait {PAIR_WAIT_SECONDS * 1000:g} ms, {PAIR_SLOTS} slots a node",
                draft=Draft(kind="wait", input=waits),
                jobs=stage.scale.pair_waits,
                at_least=RATIO_MIN,
            ),
            Work(name="noop jobs", draft=noop, jobs=stage.scale.pair_noops, at_least=None),
        )
    ]


async def compared(stage: Stage, work: Work) -> Figure:
    two, one = f"{work.name}: two nodes, {CORES} cores", "one node"
    series = await stage.interleave(
        [
            Run(name=two, once=partial(measure, stage, work, nodes=2)),
            Run(name=one, once=partial(measure, stage, work, nodes=1)),
        ]
    )
    return compare(series[two], series[one], at_least=work.at_least)


async def measure(stage: Stage, work: Work, *, nodes: int) -> Sample:
    async with stage.database() as dsn, AsyncExitStack() as stack:
        for _ in range(nodes):
            settings = {"WINDLASS_WORKERS": str(PAIR_SLOTS)}
            node = running(dsn, stage.redis_url, roles="worker,leader", settings=settings)
            await stack.enter_async_context(node)
        await _submit(dsn, stage.redis_url, work)
        eye = await stack.enter_async_context(inside.connected(dsn))

        async def have_all_ended() -> bool:
            return not await eye.fetchval("SELECT EXISTS (SELECT FROM windlass.job)")

        await until(have_all_ended)
        seconds: float = await eye.fetchval(WORKED)
        shares = [row["count"] for row in await eye.fetch(SHARES)]
        await inside.check_all_succeeded(dsn, work.jobs)
    assert len(shares) == nodes, f"{len(shares)} of {nodes} nodes did something"
    stage.tell(f"shares: {shares}")
    return Sample.rate(work.jobs, seconds, "jobs/s")


async def _submit(dsn: str, redis_url: str, work: Work) -> None:
    """All of one instant that is still to come."""
    run_at = datetime.now(UTC) + timedelta(seconds=PAIR_DUE_IN_SECONDS)
    due = replace(work.draft, run_at=run_at)
    lane = FastLane(redis_url)
    announcer = Announcer(lane)
    await lane.open()
    try:
        async with inside.opened(dsn) as database:
            enqueuer = inside.door(database, Follower(database, announcer).follow)
            for start in range(0, work.jobs, INSERT_BATCH):
                await enqueuer.submit_batch([due] * min(INSERT_BATCH, work.jobs - start))
    finally:
        await lane.close()
    assert datetime.now(UTC) < run_at, "submitting took so long that the instant has passed"
