"""Leaders killed one after the other while schedules fire every second: none missed, none doubled.

A leader is killed once all have fired under it, each a little later within the second than the one
before, so that all parts of its work are struck.
"""

from __future__ import annotations

import asyncio
from statistics import median

import asyncpg

from benchmarks import timetable
from benchmarks.figures.failover import field
from benchmarks.limits import SCHEDULE_KILLS_SECONDS_MAX, SCHEDULES_KILLED
from benchmarks.measure import Figure, Series, worst
from benchmarks.stage import Stage
from benchmarks.timetable import Faults
from benchmarks.until import until

EVERY_SECOND = '{"cron":"* * * * * *"}'
HAVE_FIRED = "SELECT coalesce(bool_and(last_at > $1), false) FROM windlass.schedule"


async def figures(stage: Stage) -> list[Figure]:
    async with asyncio.timeout(SCHEDULE_KILLS_SECONDS_MAX):
        instants, faults = await measure(stage)
    name = f"{stage.scale.schedule_kills} leaders killed, {instants:,} instants"
    return [
        worst(
            Series(name=f"{name}: missed", unit="instants", values=(float(faults.missed),)),
            at_most=0,
        ),
        worst(
            Series(name=f"{name}: doubled", unit="jobs", values=(float(faults.doubled),)),
            at_most=0,
        ),
    ]


async def measure(stage: Stage) -> tuple[int, Faults]:
    """How many instants were due, and what became of them."""
    kills = stage.scale.schedule_kills
    seconds = []
    async with field(stage) as candidates:
        eye = candidates.eye
        await candidates.leader()
        table = await timetable.put(eye, [EVERY_SECOND], SCHEDULES_KILLED)
        for number in range(kills):
            await _all_fire(eye)
            await asyncio.sleep(number / kills)
            seconds.append(await candidates.kill())
        stage.tell(f"nobody led for {median(seconds):.2f} s, the median of {kills}")
        await _all_fire(eye)
        ended_at = await eye.fetchval(timetable.NOW)
        await timetable.decided(eye, ended_at)
        return len(table.due(ended_at)), await table.faults(eye, ended_at)


async def _all_fire(eye: asyncpg.Connection) -> None:
    """Until each has fired an instant that is still to come."""
    now = await eye.fetchval(timetable.NOW)

    async def have_fired() -> bool:
        found: bool = await eye.fetchval(HAVE_FIRED, now)
        return found

    await until(have_fired)
