"""A node beside callers who mean no good: does it live, does it grow, do the others get their turn?

Normal callers are measured twice in each run, before the siege and during it, and read as a ratio;
whoever asks `/health/live` asks both times.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

import psutil

from benchmarks.limits import SIEGE_CALM_SHARE, SIEGE_LOOK_SECONDS
from benchmarks.measure import Figure, Series, worst
from benchmarks.node import RunningNode, running
from benchmarks.stage import Stage
from benchmarks.traffic.callers import Called, Calls, call
from benchmarks.traffic.prober import Answers, Request, probe
from benchmarks.traffic.siege import KINDS, Siege, Told, lay

LIVE_MS_MAX, GROWTH_MB_MAX, RATE_MIN = 100.0, 200.0, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    calm: Called
    besieged: Called
    live: Answers
    growth_mb: float
    told: Told


def plan() -> dict[str, Callable[[Stage], Awaitable[list[Figure]]]]:
    return {kind: partial(_figures, kind) for kind in KINDS}


async def _figures(kind: str, stage: Stage) -> list[Figure]:
    courses = await stage.repeat(kind, lambda: _measure(kind, stage), str)
    ratios = [c.besieged.per_second / c.calm.per_second for c in courses]
    rates = Series(name=f"{kind}: normal submits", unit="× of before", values=tuple(ratios))
    return [
        _worst(f"{kind}: /health/live p99", "ms", [c.live.p99_ms for c in courses], LIVE_MS_MAX),
        _worst(f"{kind}: memory grows by", "MB", [c.growth_mb for c in courses], GROWTH_MB_MAX),
        Figure(
            name=rates.name,
            value=min(rates.values),
            unit=rates.unit,
            spread=rates.spread,
            at_least=RATE_MIN,
        ),
    ]


async def _measure(kind: str, stage: Stage) -> Course:
    seconds = stage.scale.siege_seconds
    async with stage.database() as dsn, running(dsn, stage.redis_url) as node:
        calls = partial(Calls, address=node.address, headers=node.headers)
        await call(calls(seconds=1.0))  # opens connections and prepares statements
        calm, _ = await _watched(node, calls(seconds=seconds * SIEGE_CALM_SHARE))
        memory = asyncio.create_task(_most_memory(node))
        await asyncio.sleep(SIEGE_LOOK_SECONDS)
        siege = Siege(kind=kind, address=node.address, headers=node.headers, seconds=seconds)
        async with asyncio.TaskGroup() as meanwhile:
            laying = meanwhile.create_task(lay(siege))
            watching = meanwhile.create_task(_watched(node, calls(seconds=seconds)))
        memory.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await memory
    besieged, live = watching.result()
    return Course(
        calm=calm,
        besieged=besieged,
        live=live,
        growth_mb=_grown.pop(node.pid),
        told=laying.result(),
    )


async def _watched(node: RunningNode, calls: Calls) -> tuple[Called, Answers]:
    """Normal callers, and somebody who asks whether the node lives."""
    async with asyncio.TaskGroup() as meanwhile:
        calling = meanwhile.create_task(call(calls))
        asked = Request(address=node.address, seconds=calls.seconds)
        probing = meanwhile.create_task(probe(asked))
    return calling.result(), probing.result()


_grown: dict[int, float] = {}


async def _most_memory(node: RunningNode) -> None:
    """How much more the node and what it started had at most, in MB, until it is cancelled."""
    first = _memory(node.pid)
    while True:
        _grown[node.pid] = max(_grown.get(node.pid, 0.0), _memory(node.pid) - first)
        await asyncio.sleep(SIEGE_LOOK_SECONDS)


def _memory(pid: int) -> float:
    node = psutil.Process(pid)
    total = 0
    for process in [node, *node.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total / 1_000_000


def _worst(name: str, unit: str, values: list[float], at_most: float) -> Figure:
    return worst(Series(name=name, unit=unit, values=tuple(values)), at_most=at_most)
