"""Sweep: what thousands of dead coordinators cost to remove, while a hundred go on beating.

Of every six keys of the dead none may be left, and of those of the living none may be gone. The
longest wait of somebody who pings meanwhile is the longest stall, and beside it stands the same
without a sweep, which the machine alone makes. How long Redis itself worked on one command of the
sweep is in its slow log. Each of these is the longest of one sweep. On a machine that others use,
Redis has to wait for a processor too, in the middle of a command or before it: how much of the
sweep that was is shown, and where it is not next to nothing, the stalls are the machine's.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis

from benchmarks.coordinators import Crowd, beating, fill, left_of
from benchmarks.limits import COORDINATOR_KEYS, SLOW_LOG_MAX, SLOW_MICROS, SWEEP_SMALL
from benchmarks.measure import Figure, Series, absolute, compare, worst
from benchmarks.stage import Stage
from benchmarks.traffic.pinger import Waits, pinged
from windlass.engine.cluster.sweep import Sweeper, SweepReport
from windlass.limits import HEARTBEAT_SECONDS

SECONDS_MAX, STALL_MS_MAX, GROWTH_MAX = 1.0, 5.0, 5.5
STALE_SECONDS = 600.0
QUIET_SECONDS = 1.0
# What a sweep says to Redis, and nobody else here does.
COMMANDS: Final = (b"EVAL", b"ZCARD", b"ZRANGEBYSCORE", b"ZMSCORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    seconds: float
    waits: Waits
    quiet: Waits  # right before it, with everything but the sweep
    command_ms: float  # the longest of Redis' own
    starved_percent: float  # of the sweep, in which Redis waited for a processor
    dead_left: int
    living_gone: int


async def figures(stage: Stage) -> list[Figure]:
    small: list[Once] = []
    large: list[Once] = []
    for _ in range(stage.scale.rounds):
        for runs, count in ((small, SWEEP_SMALL), (large, stage.scale.sweep_coordinators)):
            runs.append(await measure(stage.redis_url, count))
            stage.tell(f"{count} coordinators: {runs[-1]}")
    name, more = f"sweep of {SWEEP_SMALL:,}", f"sweep of {stage.scale.sweep_coordinators:,}"
    took = _series(name, "s", [one.seconds for one in small])
    took_more = _series(more, "s", [one.seconds for one in large])
    both = [*small, *large]
    stalls = [one.waits.longest_ms for one in both]
    commands = [one.command_ms for one in both]
    return [
        absolute(took, at_most=SECONDS_MAX),
        compare(took_more, took, at_most=GROWTH_MAX),
        absolute(_series("sweep: longest stall", "ms", stalls), at_most=STALL_MS_MAX),
        absolute(_series("no sweep: longest stall", "ms", [one.quiet.longest_ms for one in both])),
        absolute(_series("sweep: longest command in Redis", "ms", commands), at_most=STALL_MS_MAX),
        absolute(
            _series(
                "sweep: Redis waited for a processor",
                "% of the time",
                [one.starved_percent for one in both],
            )
        ),
        worst(
            _series("sweep: keys of the dead left", "keys", [one.dead_left for one in both]),
            at_most=0,
        ),
        worst(
            _series("sweep: keys of the living gone", "keys", [one.living_gone for one in both]),
            at_most=0,
        ),
    ]


async def measure(url: str, count: int) -> Once:
    crowd = Crowd.of(count)
    async with Redis.from_url(url) as redis:
        await redis.flushall()
        await fill(redis, crowd)
        async with beating(url, crowd.living):
            _, quiet = await pinged(url, lambda: asyncio.sleep(QUIET_SECONDS))
            await _log_slow(redis)
            pid = (await redis.info("server"))["process_id"]
            (report, starved_seconds), waits = await pinged(url, lambda: _sweep(url, pid))
        once = Once(
            seconds=report.ms / 1000,
            waits=waits,
            quiet=quiet,
            command_ms=await _longest_command_ms(redis),
            starved_percent=starved_seconds / (report.ms / 1000) * 100,
            dead_left=await left_of(redis, crowd.dead),
            living_gone=COORDINATOR_KEYS * len(crowd.living) - await left_of(redis, crowd.living),
        )
        await redis.flushall()
    _check(report, crowd)
    return once


async def _log_slow(redis: Any) -> None:
    """From now on, and so many that the longest is not pushed out by those after it."""
    await redis.config_set("slowlog-log-slower-than", SLOW_MICROS)
    await redis.config_set("slowlog-max-len", SLOW_LOG_MAX)
    await redis.slowlog_reset()


async def _longest_command_ms(redis: Any) -> float:
    slow = await redis.slowlog_get(-1)
    assert len(slow) < SLOW_LOG_MAX, "the log has not room for them all"
    ours = [one["duration"] for one in slow if one["command"].startswith(COMMANDS)]
    return max(ours, default=SLOW_MICROS) / 1000


async def _sweep(url: str, pid: int) -> tuple[SweepReport, float]:
    """The report, and how many seconds meanwhile Redis was ready to run and did not."""
    sweeper = Sweeper(url, stale_seconds=STALE_SECONDS, heartbeat_seconds=HEARTBEAT_SECONDS)
    before = _starved_seconds(pid)
    report = await sweeper.sweep()
    return report, _starved_seconds(pid) - before


def _starved_seconds(pid: int) -> float:
    _, waited_ns, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return int(waited_ns) / 1e9


def _check(report: SweepReport, crowd: Crowd) -> None:
    assert (report.stale, report.kept) == (len(crowd.dead), len(crowd.living)), report.stale
    assert report.removed_keys == COORDINATOR_KEYS * len(crowd.dead), report.removed_keys


def _series(name: str, unit: str, values: list[float] | list[int]) -> Series:
    return Series(name=name, unit=unit, values=tuple(map(float, values)))
