"""One step, so many items, one step: how long a fan-out takes, on two nodes.

A small one as seconds; a large one as a rate beside the drain of as many single jobs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks import flows
from benchmarks.figures import two_nodes
from benchmarks.inside import drafts
from benchmarks.measure import Figure, Run, Sample, absolute, compare
from benchmarks.stage import Stage

SMALL = 1_000
SMALL_SECONDS_MAX = 0.4
RATIO_MIN = 0.5


def fan(count: int) -> dict[str, Any]:
    items = {"type": "array", "default": list(range(count))}
    return {
        "name": "fan",
        "inputs": {"type": "object", "properties": {"items": items}},
        "steps": [
            {"id": "first", "kind": "noop"},
            {
                "id": "each",
                "kind": "map",
                "needs": ["first"],
                "items": "${inputs.items}",
                "step": {"kind": "noop", "input": {"item": "${item}"}},
            },
            {"id": "last", "kind": "noop", "needs": ["each"]},
        ],
    }


async def figures(stage: Stage) -> list[Figure]:
    small = f"1 -> {SMALL:,} -> 1, two nodes"
    large = f"items of 1 -> {stage.scale.fan_items:,} -> 1, two nodes"
    single = f"drain of {stage.scale.fan_items:,} single jobs, two nodes"
    [noop] = drafts(1)
    drained = two_nodes.Work(name=single, draft=noop, jobs=stage.scale.fan_items, at_least=None)
    series = await stage.interleave(
        [
            Run(name=small, once=partial(_seconds, stage)),
            Run(name=large, once=partial(_rate, stage)),
            Run(name=single, once=partial(two_nodes.measure, stage, drained, nodes=2)),
        ]
    )
    return [
        absolute(series[small], at_most=SMALL_SECONDS_MAX),
        compare(series[large], series[single], at_least=RATIO_MIN),
    ]


async def _seconds(stage: Stage) -> Sample:
    async with flows.two_nodes(stage) as (dsn, eye):
        seconds = await flows.run_all(dsn, stage.redis_url, eye, fan(SMALL), 1)
    return Sample(value=seconds, unit="s")


async def _rate(stage: Stage) -> Sample:
    count = stage.scale.fan_items
    async with flows.two_nodes(stage) as (dsn, eye):
        seconds = await flows.run_all(dsn, stage.redis_url, eye, fan(count), 1)
    return Sample.rate(count, seconds, "items/s")
