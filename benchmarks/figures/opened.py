"""Opened: everything unrelated beside a transaction that a user leaves open.

One node under mixed load, alone and beside the transaction in turns: A B A C A …. Some callers need
what is held and do not give up; they are there in every turn. Each transaction is read against the
load alone right before and after it. Of what fires each second nothing may be lost, or made twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import aiohttp

from benchmarks import inside, timetable
from benchmarks.allowed import ENVIRONMENT
from benchmarks.limits import (
    MIXED_ALONE_SECONDS_MAX,
    MIXED_HEAL_SECONDS_MAX,
    MIXED_SCHEDULES,
)
from benchmarks.measure import Figure, Spread
from benchmarks.node import RunningNode, running
from benchmarks.open_transactions import House, Opening, furnish, insisting, openings
from benchmarks.stage import Stage
from benchmarks.timetable import NOW, Faults, Timetable
from benchmarks.traffic.mixed import DEFINITION, KINDS, Callers, Done, Work, work
from benchmarks.traffic.receiver import receiving

RATE_MIN = 0.8
EVERY_SECOND = '{"every": "1s"}'
# What a round of it takes besides: two processes start.
START_SECONDS = 3.0

Order: TypeAlias = "partial[Work]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What became of the load beside one transaction."""

    opening: Opening
    held: str
    done: Done
    faults: Faults  # of all firings until then


async def figures(stage: Stage) -> list[Figure]:
    async with _house(stage) as (house, node, table), insisting(house):
        order = partial(Work, address=node.address, headers=node.headers, receiver=house.receiver)
        todo = await openings(house.eye, stage.scale.open_names)
        alone_seconds = min(stage.scale.open_seconds, MIXED_ALONE_SECONDS_MAX)
        _tell_length(stage, len(todo), alone_seconds)
        await work(order(seconds=1.0))  # opens connections and prepares statements
        alone = [await _alone(order(seconds=alone_seconds))]
        faults = Faults(missed=0, doubled=0)
        found: list[Figure] = []
        for number, opening in enumerate(todo, 1):
            beside = await _beside(house, table, opening, order, stage.scale.open_seconds)
            alone.append(await _alone(order(seconds=alone_seconds)))
            found += [_rate(beside, alone[-2], alone[-1]), _faults(beside, faults)]
            faults = beside.faults
            stage.tell(
                f"{number}/{len(todo)} {opening.name} ({beside.held}): {_shown(beside, found)}"
            )
        return found


def _tell_length(stage: Stage, count: int, alone_seconds: float) -> None:
    seconds = stage.scale.open_seconds
    starts = START_SECONDS * (1 + _slices(seconds))
    minutes = count * (seconds + alone_seconds + starts) / 60
    stage.tell(
        f"{count} transactions, {seconds:g} s each and {alone_seconds:g} s between: "
        f"about {minutes:.0f} minutes"
    )


@asynccontextmanager
async def _house(stage: Stage) -> AsyncIterator[tuple[House, RunningNode, Timetable]]:
    """A node with everything the load needs, and everything the transactions hold."""
    async with (
        stage.database() as dsn,
        receiving("fast") as receiver,
        running(dsn, stage.redis_url, app="benchmarks.tasks:app", settings=ENVIRONMENT) as node,
        inside.connected(dsn) as eye,
        aiohttp.ClientSession(headers=node.headers) as session,
    ):
        callers = Callers(session, node.address, receiver)
        house = House(dsn=dsn, callers=callers, receiver=receiver, eye=eye)
        await callers.ask("POST", "/v1/workflows", DEFINITION)
        await furnish(house)
        yield house, node, await timetable.put(eye, [EVERY_SECOND], MIXED_SCHEDULES)


async def _alone(load: Work) -> Done:
    """Raises RuntimeError when some kind of it does not come to its end: there is no ratio then."""
    done = await work(load)
    if not all(done.done.values()):
        raise RuntimeError(f"in {done.seconds:.0f} s there were only {done.done}: {done.refusal}")
    return done


async def _beside(
    house: House, table: Timetable, opening: Opening, order: Order, seconds: float
) -> Beside:
    """In slices as long as those of the load alone: whatever slows down or warms up within one is
    in both.
    """
    slices = _slices(seconds)
    async with opening.hold(house, seconds + slices * START_SECONDS) as held:
        done = Done.of([await work(order(seconds=seconds / slices)) for _ in range(slices)])
        until = await house.eye.fetchval(NOW)
    async with asyncio.timeout(MIXED_HEAL_SECONDS_MAX):
        await timetable.decided(house.eye, until)
    faults = await table.faults(house.eye, until)
    return Beside(opening=opening, held=held, done=done, faults=faults)


def _slices(seconds: float) -> int:
    return max(1, round(seconds / MIXED_ALONE_SECONDS_MAX))


def _rate(beside: Beside, before: Done, after: Done) -> Figure:
    """Of the kind of work that suffered most."""
    ratios = {
        kind: 2 * beside.done.per_second(kind) / (before.per_second(kind) + after.per_second(kind))
        for kind in KINDS
    }
    least = min(ratios, key=lambda kind: ratios[kind])
    return Figure(
        name=f"{beside.opening.name}: the rest, at least ({least})",
        value=ratios[least],
        unit="× of alone",
        spread=Spread.of(list(ratios.values())),
        at_least=RATE_MIN,
    )


def _faults(beside: Beside, before: Faults) -> Figure:
    missed = beside.faults.missed - before.missed
    doubled = beside.faults.doubled - before.doubled
    return Figure(
        name=f"{beside.opening.name}: firings lost or doubled",
        value=missed + doubled,
        unit="firings",
        spread=Spread(low=missed, high=doubled),
        at_most=0,
    )


def _shown(beside: Beside, found: list[Figure]) -> str:
    rate, faults = found[-2:]
    longest = max(beside.done.longest_seconds.values(), default=0.0)
    return (
        f"{rate.value:.2f}× {rate.name.rpartition(' ')[2]} to {rate.spread.high:.2f}×, "
        f"the longest took {longest:.1f} s, {sum(beside.done.failed.values())} failed, "
        f"{faults.value:.0f} firings lost or doubled"
    )
