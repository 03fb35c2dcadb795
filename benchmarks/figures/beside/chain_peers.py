"""Chains of ten steps to their end, one node beside BullMQ's flows.

All chains are there before the clock starts, and none has begun: executions of a paused queue, and
flows that no worker works on. A step of ours is an async task that does nothing, as BullMQ's
processor is; beside that, steps of the kind noop, which call nobody's function.

What is kept differs. Ours is PostgreSQL, each end durably committed before the next step begins;
BullMQ's lies in Valkey, in memory alone (`appendonly no`). It adds all ten jobs of a flow before
the clock starts, ours inserts each step by the commit that ends the one before: both in its favour.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import flows
from benchmarks.figures.chain import STEPS, chain
from benchmarks.measure import Figure, Run, Sample, absolute, compare, shown
from benchmarks.peers import bullmq, valkey
from benchmarks.stage import Stage

APP = "benchmarks.tasks:plain"
RATIO_MIN = 2.5
TASKS, NOOPS = f"chains of {STEPS} async tasks", f"chains of {STEPS} noop steps"
BULLMQ = f"flows of {bullmq.NAME} ({valkey.KEPT})"


def tasks() -> dict[str, Any]:
    """The same chain, of tasks."""
    work = {"kind": "python", "input": {"task": "nothing_async"}}
    return {"name": "tasks", "steps": [{**step, **work} for step in chain()["steps"]]}


async def figures(stage: Stage) -> list[Figure]:
    series = await stage.interleave(
        [
            Run(name=TASKS, once=partial(measure, stage, tasks())),
            Run(name=BULLMQ, once=partial(measure_peer, stage)),
            Run(name=NOOPS, once=partial(measure, stage, chain())),
        ]
    )
    if BULLMQ not in series:
        return [absolute(series[TASKS]), absolute(series[NOOPS])]
    return [compare(series[ours], series[BULLMQ], at_least=RATIO_MIN) for ours in (TASKS, NOOPS)]


async def measure(stage: Stage, definition: dict[str, Any]) -> Sample:
    count = stage.scale.peer_chains
    async with flows.two_nodes(stage, nodes=1, app=APP) as (dsn, eye):
        seconds = await flows.run_all(dsn, stage.redis_url, eye, definition, count)
    return Sample.rate(count, seconds, "chains/s")


async def measure_peer(stage: Stage) -> Sample | None:
    count, keys = stage.scale.peer_chains, stage.servers.redis_of(stage.bare_dsn)
    ran = await bullmq.run_chains(keys, chains=count, steps=STEPS, tell=stage.tell)
    if ran is None:
        return None
    whole = count / (ran.seconds + ran.add_seconds)
    stage.tell(f"{BULLMQ}: {shown(whole)} chains/s if adding them is counted too")
    return Sample.rate(count, ran.seconds, "chains/s")
