"""Keep the house: partitions for the days to come, nothing past the retention, folded counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from windlass.engine.checkpoint import forget_checkpoints
from windlass.engine.ledger import forget_firings
from windlass.engine.secrets import forget_expired_secrets
from windlass.errors import Unavailable
from windlass.limits import IDEMPOTENCY_KEPT_SECONDS, PARTITIONS_AHEAD_DAYS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

REST_BATCH: Final = 10_000
EXECUTIONS_BATCH: Final = 2_000


@dataclass(slots=True)
class Retained:
    made: int = 0
    dropped: list[str] = field(default_factory=list)
    forgotten_keys: int = 0
    forgotten_executions: int = 0
    forgotten_firings: int = 0


async def retain(database: Database, retention_days: int) -> Retained:
    """Idempotent; any node may run it at any time."""
    done = Retained()
    made = await database.read("partition_ensure", PARTITIONS_AHEAD_DAYS)
    done.made = made[0]["made"]
    for row in await database.read("partition_list", retention_days):
        if await _drop(database, row["parent"], row["partition"]):
            done.dropped.append(row["partition"])
    await _forget_rest(database, retention_days)
    done.forgotten_executions = await _forget_executions(database, retention_days)
    done.forgotten_firings = await forget_firings(database, retention_days)
    await forget_checkpoints(database, retention_days)
    forgotten = await database.read("idempotency_expire", IDEMPOTENCY_KEPT_SECONDS, 10_000)
    done.forgotten_keys = forgotten[0]["forgotten"]
    await forget_expired_secrets(database)
    return done


async def _drop(database: Database, parent: str, partition: str) -> bool:
    """Drop one day. Its jobs leave the counters and free their unique keys in the same transaction.

    The names come from pg_class, are ours, and are quoted; DDL takes no parameters.
    """

    async def work(connection: Connection[Record]) -> bool:
        await connection.execute("SET LOCAL lock_timeout = '2s'")
        # One node at a time: the others would wait for a table that is gone when they get it.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('windlass.retain'))")
        if await connection.fetchval("SELECT to_regclass($1)", f"windlass.{partition}") is None:
            return False  # another node was first
        await connection.execute(f'LOCK TABLE windlass."{partition}" IN ACCESS EXCLUSIVE MODE')
        if parent == "job_history":
            for name in ("partition_uncount", "partition_unkey", "partition_unnote"):
                sql = statement(name).replace("{partition}", f'windlass."{partition}"')
                await connection.execute(sql)
        await connection.execute(f'DROP TABLE windlass."{partition}"')
        return True

    try:
        return await database.together(work)
    except Unavailable:
        return False  # somebody is reading it; it goes in the next round, and the others go now


async def _forget_rest(database: Database, retention_days: int) -> None:
    async def work(connection: Connection[Record]) -> None:
        await connection.fetch(statement("verb_set"), "delete")
        await connection.fetch(statement("rest_forget"), retention_days, REST_BATCH)

    await database.together(work)


async def _forget_executions(database: Database, retention_days: int) -> int:
    forgotten: int = 0
    while True:
        (row,) = await database.run("execution_forget", retention_days, EXECUTIONS_BATCH)
        forgotten += row["forgotten"]
        if row["forgotten"] < EXECUTIONS_BATCH:
            return forgotten


async def fold_counters(database: Database) -> int:
    """Add up counter deltas; returns how many there were."""
    folded: int = (await database.run("counter_fold", 10_000))[0]["folded"]
    return folded
