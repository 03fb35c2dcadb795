"""Schedules due in the same second: how late they fire, and that each fires once.

The node fires them and executes what was fired before. A quarter as many are measured in turns with
them: the time until the last has fired grows with their number, and no faster. The same beside a
second node, which does nothing but execute meanwhile, is shown and has no limit: where there are
two cores, it takes them from the one that fires.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import asyncpg
import msgspec

from benchmarks import flows, inside, timetable
from benchmarks.limits import RUN_SECONDS_MAX, SCHEDULES_DUE_IN_SECONDS, SCHEDULES_SHARE
from benchmarks.measure import Figure, Series, compare, worst
from benchmarks.stage import Stage
from benchmarks.timetable import Faults
from benchmarks.until import until
from windlass.engine.schedules.known_rules import rule_of

LATE_SECONDS_MAX, GROWTH_MAX = 5.0, 5.0
assert GROWTH_MAX > SCHEDULES_SHARE
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
LATENESS = """
SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY late) AS p99, max(late) AS longest
FROM (SELECT extract(epoch FROM fired_at - instant)::float8 AS late FROM windlass.firing) f
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    p99_seconds: float
    last_seconds: float
    faults: Faults


async def figures(stage: Stage) -> list[Figure]:
    many, few = stage.scale.due_schedules, stage.scale.due_schedules // SCHEDULES_SHARE
    large: list[Once] = []
    small: list[Once] = []
    beside: list[Once] = []
    for _ in range(stage.scale.rounds):
        for runs, count, nodes in ((large, many, 1), (small, few, 1), (beside, many, 2)):
            async with asyncio.timeout(RUN_SECONDS_MAX):
                runs.append(await measure(stage, count, nodes))
            stage.tell(f"{count} schedules, {nodes} nodes: {runs[-1]}")
    name, both = f"{many:,} schedules due at once", [*large, *small, *beside]
    return [
        worst(
            _series(f"{name}: lateness, p99", "s", [one.p99_seconds for one in large]),
            at_most=LATE_SECONDS_MAX,
        ),
        worst(
            _series(
                f"{name}: lateness, p99, beside a second node that executes on the same cores",
                "s",
                [one.p99_seconds for one in beside],
            ),
        ),
        compare(
            _series(f"{name}: last one fired after", "s", [one.last_seconds for one in large]),
            _series(f"{few:,} of them", "s", [one.last_seconds for one in small]),
            at_most=GROWTH_MAX,
        ),
        worst(
            _series(f"{name}: not fired", "instants", [one.faults.missed for one in both]),
            at_most=0,
        ),
        worst(
            _series(f"{name}: fired twice", "jobs", [one.faults.doubled for one in both]),
            at_most=0,
        ),
    ]


async def measure(stage: Stage, count: int, nodes: int = 1) -> Once:
    async with flows.two_nodes(stage, nodes) as (dsn, eye):
        at = await _instant(eye)
        table = await timetable.put(eye, rules_at(at), count)
        assert await eye.fetchval(timetable.NOW) < at, "putting them took until they were due"
        await timetable.decided(eye, at)

        async def have_all_ended() -> bool:
            return not await eye.fetchval("SELECT EXISTS (SELECT FROM windlass.job)")

        await until(have_all_ended)
        [late] = await eye.fetch(LATENESS)
        faults = await table.faults(eye, at)
        await inside.check_all_succeeded(dsn, count)
    return Once(p99_seconds=late["p99"], last_seconds=late["longest"], faults=faults)


def rules_at(at: datetime) -> list[str]:
    """Every hour and every day, by the clocks of several zones: all of them next at `at`."""
    found = []
    for zone in ZONES:
        local = at.astimezone(ZoneInfo(zone))
        for hour in ("*", local.hour):
            cron = f"{local.second} {local.minute} {hour} * * *"
            found.append(msgspec.json.encode({"cron": cron, "timezone": zone}).decode())
    # Where clocks are put back it may be the second time today that they show this.
    before = at - timedelta(seconds=1)
    return [text for text in found if rule_of(text, "", before).next_after(before) == at]


async def _instant(eye: asyncpg.Connection) -> datetime:
    """A whole second that comes soon."""
    now: datetime = await eye.fetchval(timetable.NOW)
    return now.replace(microsecond=0) + timedelta(seconds=SCHEDULES_DUE_IN_SECONDS)


def _series(name: str, unit: str, values: list[float] | list[int]) -> Series:
    return Series(name=name, unit=unit, values=tuple(map(float, values)))
