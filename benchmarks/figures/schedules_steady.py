"""Thousands of schedules that fire once a minute: what the node costs that leads and does nothing
else, while another executes.

A third is due with the minute, all at once; a third is spread over it by their names, and a third
by when they were made. Of these no two have the same rule. Each minute is read by itself.
"""

from __future__ import annotations

import asyncio

import psutil

from benchmarks import inside, timetable
from benchmarks.limits import RUN_SECONDS_MAX, SETTLE_SECONDS
from benchmarks.measure import Figure, Series, worst
from benchmarks.node import running
from benchmarks.stage import Stage
from benchmarks.timetable import Faults

CPU_PERCENT_MAX = 15.0
MINUTE_SECONDS = 60.0
RULES = ('{"cron":"* * * * *"}', '{"cron":"H * * * * *"}', '{"every":"1m"}')


async def figures(stage: Stage) -> list[Figure]:
    percents, faults = await measure(stage)
    name = f"{stage.scale.steady_schedules:,} schedules a minute"
    return [
        worst(
            Series(name=f"{name}: leader's CPU", unit="% of a core", values=tuple(percents)),
            at_most=CPU_PERCENT_MAX,
        ),
        worst(
            Series(name=f"{name}: not fired", unit="instants", values=(float(faults.missed),)),
            at_most=0,
        ),
        worst(
            Series(name=f"{name}: fired twice", unit="jobs", values=(float(faults.doubled),)),
            at_most=0,
        ),
    ]


async def measure(stage: Stage) -> tuple[list[float], Faults]:
    """The leader's share of a core in each minute."""
    percents = []
    async with (
        stage.database() as dsn,
        running(dsn, stage.redis_url, roles="leader") as leader,
        running(dsn, stage.redis_url, roles="worker"),
        inside.connected(dsn) as eye,
    ):
        table = await timetable.put(eye, RULES, stage.scale.steady_schedules)
        process = psutil.Process(leader.pid)
        await asyncio.sleep(SETTLE_SECONDS)
        for _ in range(stage.scale.steady_minutes):
            before = _cpu_seconds(process)
            await asyncio.sleep(MINUTE_SECONDS)
            percents.append((_cpu_seconds(process) - before) / MINUTE_SECONDS * 100)
            stage.tell(f"a minute: {percents[-1]:.1f} % of a core")
        ended_at = await eye.fetchval(timetable.NOW)
        async with asyncio.timeout(RUN_SECONDS_MAX):
            await timetable.decided(eye, ended_at)
        return percents, await table.faults(eye, ended_at)


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
