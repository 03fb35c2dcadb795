"""Webhooks for healthy hosts at a steady pace, and how long after its submission each one arrived.

The clock of a delivery starts right before its job's request is written and stops when the
receiver has read the delivery. Before the pace is counted, jobs for a dead host may be submitted,
all at once. It runs in a process of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from benchmarks import child
from benchmarks.http_jobs import ONE, job, submit_many
from benchmarks.limits import HEALTHY_PER_SECOND, PACE_CONNECTIONS
from benchmarks.traffic.pace import Latency, steadily
from benchmarks.traffic.receiver import RunningReceiver
from benchmarks.traffic.submitter import Submitter, connect
from benchmarks.until import until

# A second's worth comes first and is not counted.
WARM_UP_JOBS = HEALTHY_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """Jobs for a host that is no more."""

    url: str
    jobs: int
    timeout_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Healthy:
    address: str  # of the node, http://host:port
    headers: Mapping[str, str]
    receiver: RunningReceiver
    hosts: int
    jobs: int
    dead: Dead | None  # None: all is well


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    whole: Latency
    second_half: Latency  # of the jobs: what came with the dead ones is over by then


async def latency(order: Healthy) -> Arrived:
    """Submit at the pace from a process of its own."""
    return await child.call(child.python("benchmarks.traffic.healthy"), order, Arrived)


async def latency_here(order: Healthy) -> Arrived:
    submitters = [await connect(order.address, order.headers) for _ in range(PACE_CONNECTIONS)]
    try:
        await _submit_all(order, submitters, "warm", WARM_UP_JOBS)
        if order.dead is not None:
            dead = job(order.dead.url, timeout=order.dead.timeout_seconds)
            await submit_many(submitters[0], [dead] * order.dead.jobs)
        sent = await _submit_all(order, submitters, "job", order.jobs)
    finally:
        for submitter in submitters:
            submitter.transport.abort()
    arrivals: dict[str, float] = {}

    async def have_all_arrived() -> bool:
        arrivals.update((await order.receiver.seen()).arrivals)
        return sent.keys() <= arrivals.keys()

    await until(have_all_arrived)
    in_order = sorted(sent.items(), key=lambda item: item[1])
    waits = [arrivals[path] - sent_at for path, sent_at in in_order]
    return Arrived(whole=Latency.of(waits), second_half=Latency.of(waits[len(waits) // 2 :]))


async def _submit_all(
    order: Healthy, submitters: list[Submitter], word: str, count: int
) -> dict[str, float]:
    """When each was submitted, by its path. The hosts take turns."""
    sent: dict[str, float] = {}

    async def submit(number: int) -> None:
        path = f"{word}/{number}"
        body = msgspec.json.encode(job(order.receiver.url(path, host=number % order.hosts)))
        sent["/" + path], _ = await submitters[number % len(submitters)].submit(ONE, body)

    await steadily(submit, count, HEALTHY_PER_SECOND)
    return sent


if __name__ == "__main__":
    child.answer(Healthy, latency_here)
