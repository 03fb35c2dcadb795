"""Drip: how long a receiver that answers a byte a second holds a slot, against its deadline.

Half of the receivers drip their head, half their body; each is a host of its own, so that no
breaker comes between. The clock is PostgreSQL's, from the claim to the commit of the end, of the
slowest one.
"""

from __future__ import annotations

from benchmarks import inside
from benchmarks.allowed import ENVIRONMENT
from benchmarks.http_jobs import job, run_all
from benchmarks.limits import DRIP_SECONDS
from benchmarks.measure import Figure, Run, Sample, absolute
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.traffic.receiver import receiving

NAME = f"a dripping receiver's hold on a slot, deadline {DRIP_SECONDS:g} s"
SECONDS_MAX = DRIP_SECONDS + 0.5
HELD = """
SELECT count(*) FILTER (WHERE outcome = 'timed_out')::int AS timed_out,
    extract(epoch FROM max(finished_at - started_at))::float8 AS seconds
FROM windlass.job_history
"""


async def figures(stage: Stage) -> list[Figure]:
    series = await stage.interleave([Run(name=NAME, once=lambda: measure(stage))])
    return [absolute(series[NAME], at_most=SECONDS_MAX)]


async def measure(stage: Stage) -> Sample:
    async with (
        stage.database() as dsn,
        receiving("drip") as receiver,
        running(dsn, stage.redis_url, settings=ENVIRONMENT) as node,
        inside.connected(dsn) as eye,
    ):
        urls = [
            receiver.url("head" if number % 2 else "body", host=number)
            for number in range(stage.scale.drips)
        ]
        once = {"timeout": DRIP_SECONDS, "retry": {"max_attempts": 1}}
        await run_all(node, eye, [job(url, **once) for url in urls])
        [held] = await eye.fetch(HELD)
    assert held["timed_out"] == len(urls), f"{held['timed_out']} of {len(urls)} timed out"
    return Sample(value=held["seconds"], unit="s")
