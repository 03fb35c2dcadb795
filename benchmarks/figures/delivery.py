"""Delivery: webhooks that were submitted before, from the first claim to the last end.

In turns with a bare loop of the same client at the same concurrency, to the same receiver. All
that Windlass does for a delivery is done: it is signed, judged, timed, and its request and answer
are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from benchmarks import child, inside
from benchmarks.allowed import SETTINGS
from benchmarks.bare import deliver
from benchmarks.measure import Figure, Run, Sample, compare
from benchmarks.rows import PAYLOAD
from benchmarks.stage import Stage
from benchmarks.traffic.receiver import RunningReceiver, receiving
from windlass.model.job.draft import Draft
from windlass.model.job.target import target_of

OURS, BARE = "deliveries to a fast receiver", "bare client loop"
RATIO_MIN = 0.45
WORKED = """
SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 FROM windlass.job_history
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    dsn: str
    redis_url: str
    url: str
    deliveries: int


async def figures(stage: Stage) -> list[Figure]:
    async with receiving("fast") as receiver:
        bare = deliver.Request(
            url=receiver.url(""),
            deliveries=stage.scale.deliveries,
            at_once=SETTINGS.workers,
        )
        series = await stage.interleave(
            [
                Run(name=OURS, once=lambda: measure(stage, receiver)),
                Run(name=BARE, once=lambda: deliver.measure(bare)),
            ]
        )
    return [compare(series[OURS], series[BARE], at_least=RATIO_MIN)]


async def measure(stage: Stage, receiver: RunningReceiver) -> Sample:
    async with stage.database() as dsn:
        return await child.call(
            child.python("benchmarks.figures.delivery"),
            Request(
                dsn=dsn,
                redis_url=stage.redis_url,
                url=receiver.url(""),
                deliveries=stage.scale.deliveries,
            ),
            Sample,
        )


async def measure_here(request: Request) -> Sample:
    jobs = request.deliveries
    text = msgspec.json.encode({"url": request.url, "json": PAYLOAD}).decode()
    job = Draft(kind="http", input=text, target=target_of(request.url))
    await inside.fill(request.dsn, [job] * jobs)
    async with inside.node(request.dsn, request.redis_url, SETTINGS) as node:
        await inside.Ends(node.announcer, jobs).all()
    await inside.check_all_succeeded(request.dsn, jobs)
    # A node that has just started connects and plans first; the bare loop has no such thing.
    async with inside.connected(request.dsn) as eye:
        seconds = await eye.fetchval(WORKED)
    return Sample.rate(jobs, seconds, "deliveries/s")


if __name__ == "__main__":
    child.answer(Request, measure_here)
