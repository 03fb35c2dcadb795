"""From the end of a step to the start of the next, at light load, on two nodes."""

from __future__ import annotations

from benchmarks import flows
from benchmarks.figures.chain import chain
from benchmarks.measure import Figure, Run, Sample, absolute
from benchmarks.stage import Stage

P50_MS_MAX = 8.0
NAME = "a step's end to the next one's start, p50, one chain at a time"
GAPS = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM gap) * 1000)::float8 FROM (
    SELECT started_at - lag(finished_at) OVER (
        PARTITION BY execution_id ORDER BY finished_at) AS gap
    FROM windlass.job_history) gaps
WHERE gap IS NOT NULL
"""


async def figures(stage: Stage) -> list[Figure]:
    async def once() -> Sample:
        async with flows.two_nodes(stage) as (dsn, eye):
            await flows.run_one_by_one(dsn, stage.redis_url, eye, chain(), stage.scale.light_chains)
            return Sample(value=await eye.fetchval(GAPS), unit="ms")

    series = await stage.interleave([Run(name=NAME, once=once)])
    return [absolute(series[NAME], at_most=P50_MS_MAX)]
