"""Refresh: executions brought up to date by two nodes, against one bare GROUP BY + UPDATE.

Every execution is marked, then the nodes are told, and the clock runs until no mark is left. The
bare twin does the same to a copy of the table in one statement over the same jobs. Counted are all
transactions of the database and all commands of Redis meanwhile, those inside scripts and the
nodes' heartbeats included; only our own questions are not. Then one node is killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

import asyncpg
from redis.asyncio import Redis

from benchmarks import executions
from benchmarks.figures.idle import TRANSACTIONS, database_named
from benchmarks.limits import (
    PER_EXECUTIONS,
    READY_SECONDS_MAX,
    REFRESH_LOOK_SECONDS,
    REFRESH_RUN_SECONDS_MAX,
    SETTLE_SECONDS,
    TAKEN_OVER_EXECUTIONS,
)
from benchmarks.measure import Figure, Series, absolute, compare
from benchmarks.node import RunningNode, running
from benchmarks.stage import Stage
from windlass.fastlane.keys import REFRESH, REFRESH_INFLIGHT, REFRESH_MARKS
from windlass.limits import LEASE_SECONDS, REFRESH_KEPT_SECONDS
from windlass.model.workflow.refresh import SHARDS, shard_of

RATE_MIN, RATIO_MIN, STATEMENTS_MAX, COMMANDS_MAX = 20_000, 0.5, 1.0, 2.0
# Only marks: what the net would find while everything is prepared is not what we measure.
SETTINGS = {"WINDLASS_REFRESH_INTERVAL_SECONDS": "3600"}
OUR_COMMANDS = ("scard", "zcard", "info", "sadd", "expire")

_JOBS = """
SELECT execution_id, state, is_foreseen, started_at, NULL::timestamptz AS finished_at
FROM windlass.job WHERE execution_id IS NOT NULL
UNION ALL
SELECT execution_id, state, is_foreseen, started_at, finished_at
FROM windlass.job_history WHERE execution_id IS NOT NULL
"""
_TRUTH = f"""
SELECT execution_id,
    count(*) FILTER (WHERE state IN ('blocked', 'queued', 'running')) AS open,
    count(*) FILTER (WHERE state = 'succeeded') AS succeeded,
    count(*) FILTER (WHERE state = 'dead') AS dead,
    count(*) FILTER (WHERE state = 'cancelled') AS cancelled,
    count(*) FILTER (WHERE state = 'skipped') AS skipped,
    count(*) FILTER (WHERE state = 'dead' AND NOT is_foreseen) AS failed,
    min(started_at) AS first_at, max(finished_at) AS last_at
FROM ({_JOBS}) j GROUP BY execution_id
"""
_STATE = """CASE WHEN t.open > 0 THEN 'running' WHEN t.failed > 0 THEN 'failed'
    WHEN t.cancelled > 0 THEN 'cancelled' ELSE 'succeeded' END"""
COPY = "CREATE TABLE windlass.bare (LIKE windlass.execution INCLUDING ALL)"
COPY_ROWS = "INSERT INTO windlass.bare SELECT * FROM windlass.execution"
BARE = f"""
UPDATE windlass.bare e
SET state = {_STATE}, started_at = t.first_at, refreshed_at = now(),
    finished_at = CASE WHEN t.open = 0 THEN t.last_at END, refresh_seq = refresh_seq + 1,
    counts = json_build_object('queued', t.open, 'succeeded', t.succeeded, 'dead', t.dead,
                               'cancelled', t.cancelled, 'skipped', t.skipped)
FROM ({_TRUTH}) t WHERE e.id = t.execution_id
"""
WRONG = f"""
SELECT count(*) FROM windlass.execution e LEFT JOIN ({_TRUTH}) t ON t.execution_id = e.id
WHERE t.execution_id IS NULL OR e.state <> {_STATE} OR e.started_at IS DISTINCT FROM t.first_at
   OR e.finished_at IS DISTINCT FROM CASE WHEN t.open = 0 THEN t.last_at END
   OR coalesce((e.counts ->> 'succeeded')::int, 0) <> t.succeeded
   OR coalesce((e.counts ->> 'queued')::int, 0) <> t.open
   OR coalesce((e.counts ->> 'skipped')::int, 0) <> t.skipped
"""
UNDO = """
UPDATE windlass.execution SET state = 'running', finished_at = NULL
WHERE id IN (SELECT id FROM windlass.numbered WHERE n <= $1) RETURNING id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    transactions: int
    commands: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """The database and the Redis of the two nodes, and eyes that are not counted."""

    database: str
    owner: asyncpg.Connection  # to write with
    eye: asyncpg.Connection  # in another database, as the superuser
    redis: Any

    async def used(self) -> Used:
        stats = await self.redis.info("commandstats")
        return Used(
            transactions=await self.eye.fetchval(TRANSACTIONS, self.database),
            commands=sum(
                found["calls"]
                for name, found in stats.items()
                if name.removeprefix("cmdstat_") not in OUR_COMMANDS
            ),
        )

    async def mark(self, ids: Sequence[UUID]) -> dict[int, int]:
        """Leave marks without a word; returns how many in which shard."""
        shards: dict[int, list[str]] = {}
        for execution_id in ids:
            shards.setdefault(shard_of(execution_id), []).append(f"exe_{execution_id.hex}")
        for shard, marks in shards.items():
            key = REFRESH_MARKS % shard
            for start in range(0, len(marks), 5_000):
                await self.redis.sadd(key, *marks[start : start + 5_000])
            await self.redis.expire(key, REFRESH_KEPT_SECONDS)
        return {shard: len(marks) for shard, marks in shards.items()}

    async def refreshed(self, counts: dict[int, int]) -> float:
        """Tell the nodes, and say how long it takes until no mark is left."""
        told = "[" + ",".join(f"[{shard},{count}]" for shard, count in counts.items()) + "]"
        started = monotonic()
        await self.redis.publish(REFRESH, told)
        async with asyncio.timeout(REFRESH_RUN_SECONDS_MAX):
            while True:
                if not await self._left():
                    return monotonic() - started
                await asyncio.sleep(REFRESH_LOOK_SECONDS)

    async def _left(self) -> int:
        async with self.redis.pipeline(transaction=False) as looks:
            for shard in range(SHARDS):
                looks.scard(REFRESH_MARKS % shard)
                looks.zcard(REFRESH_INFLIGHT % shard)
            return sum(await looks.execute())


async def figures(stage: Stage) -> list[Figure]:
    count = stage.scale.refresh_executions
    async with stage.database() as dsn, opened(stage, dsn) as field:
        stage.tell(f"filling {count:,} executions")
        await executions.fill(dsn, count)
        bare = await measure_bare(field)
        stage.tell(f"bare: {count / bare:,.0f} executions/s")
        async with two_nodes(stage, dsn) as nodes:
            ids = [row["id"] for row in await field.owner.fetch("SELECT id FROM windlass.numbered")]
            counts = await field.mark(ids)
            await field.eye.execute("CHECKPOINT")
            before = await field.used()
            seconds = await field.refreshed(counts)
            after = await field.used()
            stage.tell(f"two nodes: {count / seconds:,.0f} executions/s")
            wrong = await field.owner.fetchval(WRONG)
            taken_over = await measure_take_over(field, nodes[0])
            wrong += await field.owner.fetchval(WRONG)
    batches = count / PER_EXECUTIONS
    rate, limit = _series("refresh", "executions/s", count / seconds), count / bare
    return [
        compare(
            rate,
            _series("GROUP BY + UPDATE", "executions/s", limit),
            at_least=None if rate.median >= RATE_MIN else RATIO_MIN,
        ),
        absolute(
            _series(
                f"refresh: statements for {PER_EXECUTIONS} executions",
                "transactions",
                (after.transactions - before.transactions) / batches,
            ),
            at_most=STATEMENTS_MAX,
        ),
        absolute(
            _series(
                f"refresh: Redis for {PER_EXECUTIONS} executions",
                "commands",
                (after.commands - before.commands - 1) / batches,  # one told the nodes to begin
            ),
            at_most=COMMANDS_MAX,
        ),
        absolute(_series("refresh: wrong executions", "executions", wrong), at_most=0),
        absolute(
            _series("refresh: a killed node's shards", "s", taken_over), at_most=LEASE_SECONDS
        ),
    ]


async def measure_bare(field: Field) -> float:
    """Seconds that one statement takes for all of them."""
    await field.owner.execute(COPY)
    await field.owner.execute(COPY_ROWS)
    await field.owner.execute("VACUUM ANALYZE windlass.bare")
    await field.eye.execute("CHECKPOINT")
    started = monotonic()
    await field.owner.execute(BARE)
    seconds = monotonic() - started
    await field.owner.execute("DROP TABLE windlass.bare")
    return seconds


async def measure_take_over(field: Field, victim: RunningNode) -> float:
    """Some executions of every shard are marked, and the node that has half of them is killed."""
    undone = await field.owner.fetch(UNDO, TAKEN_OVER_EXECUTIONS)
    counts = await field.mark([row["id"] for row in undone])
    os.kill(victim.pid, signal.SIGKILL)
    return await field.refreshed(counts)


@asynccontextmanager
async def opened(stage: Stage, dsn: str) -> AsyncIterator[Field]:
    owner = await asyncpg.connect(
        dsn, timeout=READY_SECONDS_MAX, command_timeout=REFRESH_RUN_SECONDS_MAX
    )
    elsewhere = stage.servers.admin_url(stage.bare_dsn)
    eye = await asyncpg.connect(elsewhere, timeout=READY_SECONDS_MAX)
    redis = Redis.from_url(stage.redis_url)
    try:
        await redis.flushall()
        yield Field(database=await database_named(dsn), owner=owner, eye=eye, redis=redis)
    finally:
        await redis.aclose()
        await eye.close()
        await owner.close()


@asynccontextmanager
async def two_nodes(stage: Stage, dsn: str) -> AsyncIterator[list[RunningNode]]:
    async with (
        running(dsn, stage.redis_url, roles="worker", settings=SETTINGS) as one,
        running(dsn, stage.redis_url, roles="worker", settings=SETTINGS) as other,
    ):
        await asyncio.sleep(SETTLE_SECONDS)  # each knows of the other with its next heartbeat
        yield [one, other]


def _series(name: str, unit: str, value: float) -> Series:
    return Series(name=name, unit=unit, values=(float(value),))
