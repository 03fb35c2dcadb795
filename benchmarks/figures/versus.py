"""Versus: this checkout and another one in turns, on the same servers: is it as quick as before?

    turn         1      2      3      4
               A  B   B  A   A  B   B  A     A: this one, B: the other

What a node answers is measured with both nodes alive, each with a database of its own, in turns of
seconds: a machine's weather changes within minutes, so that one run after the other read 0.9× and
1.14× of builds which in short turns are 1.0×. What needs a process of its own takes longer turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar
from uuid import UUID

from benchmarks.child import ROOT
from benchmarks.figures import batch, drain, post
from benchmarks.limits import (
    INSERT_BATCH,
    PACE_CONNECTIONS,
    RUN_SECONDS_MAX,
    VERSUS_JOBS,
    VERSUS_LATENCY_TURNS,
    VERSUS_LONG_TURNS,
    VERSUS_REQUESTS,
    VERSUS_TURNS,
)
from benchmarks.measure import Figure, Series, compare, shown
from benchmarks.node import ALL_ROLES, RunningNode, running
from benchmarks.stage import Stage
from benchmarks.traffic import load
from benchmarks.traffic.pace import WARM_UP_JOBS, Latency, begun_at, submit_all
from benchmarks.traffic.submitter import Submitter, connect

# Not worse by more than this.
RATE_MIN, LATENCY_MAX = 0.95, 1.05
OURS, OTHER = "this checkout", "the other"

T = TypeVar("T")
Turn = Callable[[Path], Awaitable[float]]


async def latency(stage: Stage) -> list[Figure]:
    sent: dict[Path, list[dict[UUID, float]]] = {home: [] for home in _homes(stage)}
    waits: dict[Path, list[Latency]] = {}
    async with (
        _nodes(stage, roles=ALL_ROLES, app="benchmarks.tasks:app") as nodes,
        AsyncExitStack() as connected,
    ):
        submitters = {home: await _connect(node, connected) for home, (node, _) in nodes.items()}
        for some in submitters.values():
            await _in_time(submit_all(some, WARM_UP_JOBS))
        for home in _order(stage, VERSUS_LATENCY_TURNS):
            sent[home].append(await _in_time(submit_all(submitters[home], VERSUS_JOBS)))
        for home, (_, dsn) in nodes.items():
            begun = await _in_time(begun_at(dsn))
            waits[home] = [
                Latency.of([begun[job] - at for job, at in turn.items()]) for turn in sent[home]
            ]
    p50 = {home: [one.p50_ms for one in of_home] for home, of_home in waits.items()}
    p99 = {home: [one.p99_ms for one in of_home] for home, of_home in waits.items()}
    # Of a hundred jobs the p99 is one: it is shown, and not judged.
    return [
        _beside(stage, "submit to start: p50", "ms", p50, at_most=LATENCY_MAX),
        _beside(stage, "submit to start: p99 of a turn", "ms", p99),
    ]


async def posts(stage: Stage) -> list[Figure]:
    async with _nodes(stage, roles="api") as nodes:

        async def turn(home: Path) -> float:
            order = post.order(nodes[home][0], VERSUS_REQUESTS)
            return (await load.generate(order)).sample().value

        return [await _rates(stage, post.NAME, "requests/s", turn, VERSUS_TURNS)]


async def batches(stage: Stage) -> list[Figure]:
    async with _nodes(stage, roles="api") as nodes:

        async def turn(home: Path) -> float:
            order = batch.order(nodes[home][0], stage.scale.batches)
            return (await load.generate(order)).sample().value * INSERT_BATCH

        return [await _rates(stage, batch.OVER_HTTP, "rows/s", turn, VERSUS_TURNS)]


async def batches_inside(stage: Stage) -> list[Figure]:
    async def turn(home: Path) -> float:
        return (await batch.measure_inside(stage, stage.scale.batches, home)).value

    return [await _rates(stage, "batch without HTTP", "rows/s", turn, VERSUS_LONG_TURNS)]


async def drains(stage: Stage) -> list[Figure]:
    async def turn(home: Path) -> float:
        return (await drain.measure(stage, stage.scale.drain_jobs, home)).value

    return [await _rates(stage, drain.OURS, "jobs/s", turn, VERSUS_LONG_TURNS)]


PLAN = {
    "latency_versus": latency,
    "post_versus": posts,
    "batch_versus": batches,
    "batch_inside_versus": batches_inside,
    "drain_versus": drains,
}


def _homes(stage: Stage) -> tuple[Path, Path]:
    assert stage.scale.other is not None, "whoever measures this names the other checkout"
    return ROOT, stage.scale.other


def _order(stage: Stage, turns: int) -> Sequence[Path]:
    """Each of the two once a turn; who goes first, changes."""
    ours, other = _homes(stage)
    order: list[Path] = []
    for number in range(min(turns, stage.scale.turns_max)):
        order += [other, ours] if number % 2 else [ours, other]
    return order


@asynccontextmanager
async def _nodes(
    stage: Stage, *, roles: str, app: str | None = None
) -> AsyncIterator[dict[Path, tuple[RunningNode, str]]]:
    """A node of each checkout, alive at the same time, and the DSN of its database."""
    ours, other = _homes(stage)
    async with stage.database() as dsn, stage.database() as its_dsn:
        start = partial(running, roles=roles, app=app)
        async with (
            start(dsn, stage.servers.redis_of(dsn)) as node,
            start(its_dsn, stage.servers.redis_of(its_dsn), home=other) as its,
        ):
            yield {ours: (node, dsn), other: (its, its_dsn)}


async def _connect(node: RunningNode, connected: AsyncExitStack) -> list[Submitter]:
    submitters = [await connect(node.address, node.headers) for _ in range(PACE_CONNECTIONS)]
    for submitter in submitters:
        connected.callback(submitter.transport.abort)
    return submitters


async def _in_time(work: Awaitable[T]) -> T:
    async with asyncio.timeout(RUN_SECONDS_MAX):
        return await work


async def _rates(stage: Stage, name: str, unit: str, turn: Turn, turns: int) -> Figure:
    values: dict[Path, list[float]] = {home: [] for home in _homes(stage)}
    for home in _order(stage, turns):
        values[home].append(await _in_time(turn(home)))
    return _beside(stage, name, unit, values, at_least=RATE_MIN)


def _beside(
    stage: Stage,
    name: str,
    unit: str,
    values: Mapping[Path, Sequence[float]],  # of each checkout, turn by turn
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Figure:
    ours, other = (
        Series(name=whose, unit=unit, values=tuple(values[home]))
        for whose, home in zip((OURS, OTHER), _homes(stage), strict=True)
    )
    low, high = ours.spread.low, ours.spread.high
    its_low, its_high = other.spread.low, other.spread.high
    stage.tell(
        f"{name}: {shown(ours.median)} ({shown(low)} … {shown(high)}) beside "
        f"{shown(other.median)} ({shown(its_low)} … {shown(its_high)}) {unit}"
    )
    figure = compare(ours, other, name=name, at_least=at_least, at_most=at_most)
    # Of the pairs, and not of the medians: in one turn both had the same weather.
    paired = [one / its for one, its in zip(ours.values, other.values, strict=True)]
    return replace(figure, ratio=median(paired))
