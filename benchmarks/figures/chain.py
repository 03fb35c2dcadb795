"""Chains of ten steps that do nothing, on two nodes: steps a second beside a drain of single jobs.

Both sides keep what they always keep. A step costs more than a job: the next one is decided and
inserted by the transaction that ends the one before.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import flows
from benchmarks.figures import two_nodes
from benchmarks.inside import drafts
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.stage import Stage

STEPS = 10
RATIO_MIN = 0.5
OURS, SINGLE = f"steps of chains of {STEPS}, two nodes", "drain of single jobs, two nodes"


def chain(steps: int = STEPS) -> dict[str, Any]:
    made: list[dict[str, Any]] = [{"id": "s1", "kind": "noop"}]
    for number in range(2, steps + 1):
        before = f"s{number - 1}"
        made.append({"id": f"s{number}", "kind": "noop", "needs": [before]})
    return {"name": "chain", "steps": made}


async def figures(stage: Stage) -> list[Figure]:
    [noop] = drafts(1)
    single = two_nodes.Work(name=SINGLE, draft=noop, jobs=stage.scale.pair_noops, at_least=None)
    series = await stage.interleave(
        [
            Run(name=OURS, once=partial(measure, stage)),
            Run(name=SINGLE, once=partial(two_nodes.measure, stage, single, nodes=2)),
        ]
    )
    return [compare(series[OURS], series[SINGLE], at_least=RATIO_MIN)]


async def measure(stage: Stage) -> Sample:
    count = stage.scale.chains
    async with flows.two_nodes(stage) as (dsn, eye):
        seconds = await flows.run_all(dsn, stage.redis_url, eye, chain(), count)
    return Sample.rate(count * STEPS, seconds, "steps/s")
