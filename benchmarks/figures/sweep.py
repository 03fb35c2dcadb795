"""Sweep: what thousands of dead coordinators cost to remove, while a hundred go on beating.

Of every six keys of the dead none may be left, and of those of the living none may be gone. The
longest wait of somebody who pings meanwhile is the longest stall; how long Redis itself worked on
one command of ours is in its slow log.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from benchmarks.coordinators import Crowd, beating, fill, left_of
from benchmarks.limits import COORDINATOR_KEYS, SWEEP_SMALL
from benchmarks.measure import Figure, Series, absolute, compare
from benchmarks.pinger import Waits, pinged
from benchmarks.stage import Stage
from windlass.engine.sweep import Report, Sweeper
from windlass.limits import HEARTBEAT_SECONDS

SECONDS_MAX, STALL_MS_MAX, GROWTH_MAX = 1.0, 5.0, 5.5
STALE_SECONDS = 600.0
QUIET_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    seconds: float
    waits: Waits
    command_ms: float  # the longest of Redis' own
    dead_left: int
    living_gone: int


async def figures(stage: Stage) -> list[Figure]:
    small: list[Once] = []
    large: list[Once] = []
    quiet: list[float] = []
    for _ in range(stage.scale.rounds):
        _, waits = await pinged(stage.redis_url, lambda: asyncio.sleep(QUIET_SECONDS))
        quiet.append(waits.longest_ms)
        for runs, count in ((small, SWEEP_SMALL), (large, stage.scale.sweep_coordinators)):
            runs.append(await measure(stage.redis_url, count))
            stage.tell(f"{count} coordinators: {runs[-1]}")
    name, more = f"sweep of {SWEEP_SMALL}", f"sweep of {stage.scale.sweep_coordinators}"
    took = _series(name, "s", [one.seconds for one in small])
    took_more = _series(more, "s", [one.seconds for one in large])
    both = [*small, *large]
    return [
        absolute(took, at_most=SECONDS_MAX),
        compare(took_more, took, at_most=GROWTH_MAX),
        absolute(
            _series("sweep: longest stall", "ms", [one.waits.longest_ms for one in both]),
            at_most=STALL_MS_MAX,
        ),
        # Whatever this is comes from the machine alone.
        absolute(_series("longest stall without a sweep", "ms", quiet)),
        absolute(
            _series("sweep: longest command", "ms", [one.command_ms for one in both]),
            at_most=STALL_MS_MAX,
        ),
        absolute(
            _series("sweep: keys of the dead left", "keys", [one.dead_left for one in both]),
            at_most=0,
        ),
        absolute(
            _series("sweep: keys of the living gone", "keys", [one.living_gone for one in both]),
            at_most=0,
        ),
    ]


async def measure(url: str, count: int) -> Once:
    crowd = Crowd.of(count)
    sweeper = Sweeper(url, stale_seconds=STALE_SECONDS, heartbeat_seconds=HEARTBEAT_SECONDS)
    async with Redis.from_url(url) as redis:
        await redis.flushall()
        await fill(redis, crowd)
        await redis.config_set("slowlog-log-slower-than", 100)
        await redis.slowlog_reset()
        async with beating(url, crowd.living):
            report, waits = await pinged(url, sweeper.sweep)
        once = Once(
            seconds=report.ms / 1000,
            waits=waits,
            command_ms=await _longest_eval_ms(redis),
            dead_left=await left_of(redis, crowd.dead),
            living_gone=COORDINATOR_KEYS * len(crowd.living) - await left_of(redis, crowd.living),
        )
        await redis.flushall()
    _check(report, crowd)
    return once


async def _longest_eval_ms(redis: Any) -> float:
    slow = await redis.slowlog_get(-1)
    ours = (b"EVAL", b"ZRANGEBYSCORE", b"ZMSCORE")
    return (
        max((one["duration"] for one in slow if one["command"].startswith(ours)), default=0) / 1e3
    )


def _check(report: Report, crowd: Crowd) -> None:
    assert (report.stale, report.kept) == (len(crowd.dead), len(crowd.living)), report.stale
    assert report.removed_keys == COORDINATOR_KEYS * len(crowd.dead), report.removed_keys


def _series(name: str, unit: str, values: list[float] | list[int]) -> Series:
    return Series(name=name, unit=unit, values=tuple(map(float, values)))
