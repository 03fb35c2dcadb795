"""Idle: what a node costs that has nothing to do, all its roles together.

PostgreSQL's own housekeeping counts as transactions of the database it cleans, so autovacuum rests
meanwhile; we look from another database and are not counted either.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
import psutil
from redis.asyncio import Redis

from benchmarks import inside
from benchmarks.limits import SETTLE_SECONDS
from benchmarks.measure import Figure, Series, absolute
from benchmarks.node import running
from benchmarks.stage import Stage

CPU_PERCENT_MAX, TRANSACTIONS_MAX, COMMANDS_MAX = 1.0, 2.0, 2.0
TRANSACTIONS = """
SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    cpu_seconds: float
    transactions: int
    commands: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Eye:
    """Reads what a node has used so far."""

    process: psutil.Process
    connection: asyncpg.Connection
    database: str
    redis: Redis

    async def read(self) -> Reading:
        times = self.process.cpu_times()
        return Reading(
            cpu_seconds=times.user + times.system,
            transactions=await self.connection.fetchval(TRANSACTIONS, self.database),
            commands=(await self.redis.info("stats"))["total_commands_processed"],
        )


async def figures(stage: Stage) -> list[Figure]:
    seconds = stage.scale.idle_seconds
    async with (
        stage.database() as dsn,
        without_autovacuum(stage) as connection,
        running(dsn, stage.redis_url) as node,
        redis(stage.redis_url) as client,
    ):
        eye = Eye(
            process=psutil.Process(node.pid),
            connection=connection,
            database=await database_named(dsn),
            redis=client,
        )
        await asyncio.sleep(SETTLE_SECONDS)
        used = await stage.repeat(
            "idle node",
            lambda: watch(eye, seconds),
            lambda one: f"{one.cpu_seconds:.2f} s of CPU, {one.transactions} transactions",
        )
    cpu = tuple(one.cpu_seconds / seconds * 100 for one in used)
    transactions = tuple(one.transactions / seconds for one in used)
    commands = tuple(one.commands / seconds for one in used)
    return [
        absolute(
            Series(name="idle node: CPU", unit="% of a core", values=cpu), at_most=CPU_PERCENT_MAX
        ),
        absolute(
            Series(name="idle node: PostgreSQL", unit="transactions/s", values=transactions),
            at_most=TRANSACTIONS_MAX,
        ),
        absolute(
            Series(name="idle node: Redis", unit="commands/s", values=commands),
            at_most=COMMANDS_MAX,
        ),
    ]


async def watch(eye: Eye, seconds: float) -> Reading:
    """What is used in the next `seconds`."""
    before = await eye.read()
    await asyncio.sleep(seconds)
    after = await eye.read()
    return Reading(
        cpu_seconds=after.cpu_seconds - before.cpu_seconds,
        transactions=after.transactions - before.transactions,
        commands=after.commands - before.commands - 1,  # our own question
    )


async def database_named(dsn: str) -> str:
    async with inside.connected(dsn) as connection:
        name: str = await connection.fetchval("SELECT current_database()")
        return name


@asynccontextmanager
async def redis(url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(url)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def without_autovacuum(stage: Stage) -> AsyncIterator[asyncpg.Connection]:
    async with inside.connected(stage.servers.admin_url(stage.bare_dsn)) as connection:
        await connection.execute("ALTER SYSTEM SET autovacuum = off")
        await connection.execute("SELECT pg_reload_conf()")
        try:
            yield connection
        finally:
            await connection.execute("ALTER SYSTEM RESET autovacuum")
            await connection.execute("SELECT pg_reload_conf()")
