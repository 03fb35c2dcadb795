"""Partitions of the history by day: make those of the days to come, drop those past the retention.

Nothing here may make finishing wait. A partition is made whole before it is attached, and waits for
its lock no longer than DAY_LOCK_SECONDS: while somebody reads the history (a dump, a report) it is
not made, and whoever asked comes again. There are PARTITIONS_AHEAD_DAYS of patience.

A day past the retention goes in three moves, each of which may be the last before a crash:

    blocks 0..n of the day  |####|####|##..|   a bite: what nobody needs is deleted and uncounted
    what is left, if it is little              moves to the default partition: readers look there
    the day                                    is dropped, in the same transaction as that

Needed, however old: a step of an execution that is there, a parent of a job that waits, and the
attempts, events and lines of every job that is there. So a job goes with all that was kept of it,
and a step goes with its execution. A day that keeps much stays, thinned, until it keeps little.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final, Literal
from uuid import UUID

import structlog

from windlass import ids
from windlass.clock import wall
from windlass.errors import Unavailable
from windlass.limits import (
    DAY_DROP_SECONDS,
    DAY_KEPT_BYTES_MAX,
    DAY_KEPT_MAX,
    DAY_LOCK_SECONDS,
    DAY_PARENTS_MAX,
    DAY_TRIES,
    DAY_TRY_AGAIN_SECONDS,
    DAYS_BUSY_MAX,
    PARTITIONS_AHEAD_DAYS,
    PARTITIONS_LOW_DAYS,
    THIN_BLOCKS,
)
from windlass.store.database import Connection, Database, Record, RowLocked
from windlass.store.statements import statement

log = structlog.get_logger()

TABLES: Final = ("job_history", "attempt", "event", "job_log")
# A node's clock makes the ids: so far it may be behind.
_CLOCK_SLACK: Final = timedelta(days=1)

Answer = Literal["dropped", "gone", "busy", "elsewhere", "kept"]
# `held`: but for rows that somebody holds; `elsewhere`: another node is at it.
Thinned = Literal["thinned", "held", "elsewhere"]


@dataclass(slots=True)
class PartitionsMade:
    """What `make_days` did."""

    count: int = 0
    busy: list[str] = field(default_factory=list)  # tables that somebody reads


@dataclass(slots=True)
class PartitionsDropped:
    """What `drop_days` did."""

    partitions: list[str] = field(default_factory=list)
    overdue: list[str] = field(default_factory=list)  # could not be dropped now


async def make_days(database: Database) -> PartitionsMade:
    """Make the partitions of the coming days. Idempotent; any node may do it at any time."""
    done = PartitionsMade()
    for row in await database.read("partition_missing", PARTITIONS_AHEAD_DAYS):
        if row["parent"] in done.busy:
            continue
        (made,) = await database.read("partition_make", row["parent"], row["day"])
        done.count += made["answer"] == "made"
        if made["answer"] == "busy":
            done.busy.append(row["parent"])
    return done


async def days_ahead(database: Database) -> int:
    """For how many days after today there are partitions."""
    (row,) = await database.read("partition_ahead", PARTITIONS_AHEAD_DAYS)
    days: int = row["days"]
    return days


async def are_low(database: Database) -> bool:
    """Whether somebody has to look why no days are made."""
    return await days_ahead(database) < PARTITIONS_LOW_DAYS


async def drop_days(database: Database, retention_days: int) -> PartitionsDropped:
    """Let go of the days past the retention, and of what lies in the default partitions and is as
    old. Idempotent; any node may do it at any time.
    """
    done = PartitionsDropped()
    parents = await _awaited_parents(database, retention_days)
    skipped: set[date] = set()
    busy: Counter[str] = Counter()  # by table: days that somebody reads
    for row in await database.read("partition_list", retention_days):
        if row["is_thinned"] or row["day"] in skipped:
            continue
        parent, partition = row["parent"], row["partition"]
        await database.read("partition_leave", partition)
        thinned = await _thin(database, parent, partition, retention_days, parents)
        if thinned != "thinned":
            # Attempts and events are judged by their jobs: those go first.
            skipped |= {row["day"]} if parent == TABLES[0] else set()
            done.overdue += [partition] if thinned == "held" else []
            continue
        is_left = busy[parent] >= DAYS_BUSY_MAX
        answer = "busy" if is_left else await _drop(database, parent, partition)
        if answer == "dropped":
            done.partitions.append(partition)
        elif answer == "busy":
            busy[parent] += 1
            done.overdue.append(partition)
    for parent in TABLES:
        await _thin(database, parent, f"{parent}_rest", retention_days, parents)
    return done


async def _awaited_parents(database: Database, retention_days: int) -> list[UUID]:
    before = wall() - timedelta(days=retention_days) + _CLOCK_SLACK
    rows = await database.read("parent_awaited", ids.uuid7_at(before), DAY_PARENTS_MAX)
    return [row["id"] for row in rows]


async def _thin(
    database: Database, parent: str, partition: str, retention_days: int, parents: Sequence[UUID]
) -> Thinned:
    """Delete what nobody needs, a bite at a time, each a transaction of its own. A bite of which
    somebody holds a row is left for the next round.
    """
    # The name comes from pg_class, is ours, and is quoted.
    sql = statement(f"{parent}_thin").replace("{partition}", f'windlass."{partition}"')
    extra = [parents] if parent == TABLES[0] else []
    (size,) = await database.read("table_blocks", partition)
    thinned: Thinned = "thinned"
    for block in range(0, size["blocks"], THIN_BLOCKS):
        bite = (block, 0), (block + THIN_BLOCKS, 0)

        async def work(connection: Connection[Record], bite: tuple[object, ...] = bite) -> str:
            answer: str = await connection.fetchval(statement("partition_hold"), partition)
            if answer == "held":
                await connection.fetch(sql, *bite, retention_days, *extra)
            return answer

        try:
            if await database.together(work, lock_seconds=DAY_LOCK_SECONDS) != "held":
                return "elsewhere"
        except RowLocked:
            thinned = "held"
    return thinned


async def _drop(database: Database, parent: str, partition: str) -> Answer:
    """Let go of a thinned day; comes back a few times before it leaves that to the next round."""
    answer: Answer = "busy"
    for nth in range(DAY_TRIES):
        if nth:
            await asyncio.sleep(DAY_TRY_AGAIN_SECONDS)
        answer = await _drop_once(database, parent, partition)
        if answer != "busy":
            break
        log.debug("day_busy", partition=partition)
    return answer


async def _drop_once(database: Database, parent: str, partition: str) -> Answer:
    try:
        async with database.side(readonly=False) as connection:
            # The last look goes through the whole day, and a day may be large.
            await connection.execute(f"SET LOCAL statement_timeout = '{DAY_DROP_SECONDS}s'")
            answer: Answer = await connection.fetchval(
                statement("partition_drop"),
                parent,
                partition,
                DAY_KEPT_MAX,
                DAY_KEPT_BYTES_MAX,
                timeout=DAY_DROP_SECONDS,
            )
            return answer
    except Unavailable as trouble:
        log.warning("day_not_dropped", partition=partition, reason=str(trouble))
        return "busy"
