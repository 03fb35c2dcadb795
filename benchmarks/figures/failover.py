"""Failover: how long nobody leads after the leader was killed, and after it was frozen.

Three candidates; whoever leads is killed and another started instead. A frozen one is thawed
once it has been followed, and stands again. Twenty times each, read as the 99th percentile, which
of twenty is the slowest. The clock is ours, from the signal until PostgreSQL says that somebody
else leads.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median
from time import monotonic

import asyncpg

from benchmarks import inside
from benchmarks.limits import FOLLOWED_SECONDS_MAX, LOOK_SECONDS
from benchmarks.measure import Figure, Series, worst
from benchmarks.node import running
from benchmarks.stage import Stage

CANDIDATES = 3
KILLED_SECONDS_MAX, FROZEN_SECONDS_MAX = 2.0, 5.0
LEADER = """
SELECT l.term, n.pid FROM windlass.leader l JOIN windlass.node n ON n.id = l.node_id
WHERE l.term > $1 AND l.lease_until > clock_timestamp()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    term: int
    pid: int


@dataclass(slots=True, kw_only=True)
class Field:
    """The candidates, and an eye on who leads."""

    eye: asyncpg.Connection
    start: Callable[[], Awaitable[None]]

    async def leader(self, after_term: int = 0) -> Leader:
        async with asyncio.timeout(FOLLOWED_SECONDS_MAX):
            while True:
                if (row := await self.eye.fetchrow(LEADER, after_term)) is not None:
                    return Leader(term=row["term"], pid=row["pid"])
                await asyncio.sleep(LOOK_SECONDS)

    async def kill(self) -> float:
        seconds = await self._strike(await self.leader(), signal.SIGKILL)
        await self.start()
        return seconds

    async def freeze(self) -> float:
        leader = await self.leader()
        try:
            return await self._strike(leader, signal.SIGSTOP)
        finally:
            os.kill(leader.pid, signal.SIGCONT)

    async def _strike(self, leader: Leader, number: signal.Signals) -> float:
        struck_at = monotonic()
        os.kill(leader.pid, number)
        await self.leader(leader.term)
        return monotonic() - struck_at


async def figures(stage: Stage) -> list[Figure]:
    async with field(stage) as candidates:
        killed = [await candidates.kill() for _ in range(stage.scale.kills)]
        stage.tell(f"killed: {median(killed):.2f} s is the median of {len(killed)}")
        frozen = [await candidates.freeze() for _ in range(stage.scale.freezes)]
        stage.tell(f"frozen: {median(frozen):.2f} s is the median of {len(frozen)}")
    return [
        slowest("leader killed: nobody leads for", killed, KILLED_SECONDS_MAX),
        slowest("leader frozen: nobody leads for", frozen, FROZEN_SECONDS_MAX),
    ]


def slowest(name: str, seconds: list[float], at_most: float) -> Figure:
    assert len(seconds) <= 100, "of more than a hundred the slowest is not the 99th percentile"
    title = f"{name}, p99 of {len(seconds)}"
    return worst(Series(name=title, unit="s", values=tuple(seconds)), at_most=at_most)


@asynccontextmanager
async def field(stage: Stage) -> AsyncIterator[Field]:
    async with AsyncExitStack() as stack:
        dsn = await stack.enter_async_context(stage.database())
        eye = await stack.enter_async_context(inside.connected(dsn))

        async def start() -> None:
            node = running(dsn, stage.redis_url, roles="worker,leader")
            await stack.enter_async_context(node)

        for _ in range(CANDIDATES):
            await start()
        yield Field(eye=eye, start=start)
