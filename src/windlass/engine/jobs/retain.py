"""Retention and housekeeping: partitions, what is past its days, expired keys, folded counters.

Owns: one round of housekeeping. Promises: what one part of it cannot do keeps no other part from
being done, and is said; whatever is to be forgotten is forgotten to the end, in bounded bites, but
what somebody holds, which is not waited for and has its turn in the next round.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from windlass.engine.executions.checkpoints import forget_checkpoints
from windlass.engine.jobs.partitions import (
    PartitionsDropped,
    PartitionsMade,
    days_ahead,
    drop_days,
    make_days,
)
from windlass.engine.schedules.ledger import forget_firings
from windlass.engine.secrets.secrets import forget_expired_secrets
from windlass.errors import WindlassError
from windlass.limits import (
    IDEMPOTENCY_KEPT_SECONDS,
    PARTITIONS_AHEAD_DAYS,
    PARTITIONS_LOW_DAYS,
    THIN_BLOCKS,
)
from windlass.store.database import Database, RowLocked

log = structlog.get_logger()

EXECUTIONS_BATCH: Final = 2_000
FOLD_MAX: Final = 10_000


@dataclass(slots=True)
class Retained:
    """What a round did."""

    made: int = 0
    dropped: list[str] = field(default_factory=list)
    overdue: list[str] = field(default_factory=list)  # days that could not be dropped yet
    days_ahead: int = PARTITIONS_AHEAD_DAYS  # that have their partitions
    forgotten_keys: int = 0
    forgotten_executions: int = 0
    forgotten_firings: int = 0
    troubles: list[str] = field(default_factory=list)  # what was not done, to be tried again

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing to come back for before the next round is due."""
        return not self.troubles and not self.overdue


async def retain(database: Database, retention_days: int) -> Retained:
    """Idempotent; any node may run it at any time."""
    done = Retained()

    async def make() -> None:
        _tell_made(done, await make_days(database))
        done.days_ahead = await days_ahead(database)

    async def executions() -> None:
        done.forgotten_executions = await _forget_executions(database, retention_days)

    async def days() -> None:
        _tell_dropped(done, await drop_days(database, retention_days))

    async def firings() -> None:
        done.forgotten_firings = await forget_firings(database, retention_days)

    async def checkpoints() -> None:
        await forget_checkpoints(database, retention_days)

    async def keys() -> None:
        done.forgotten_keys = await _forget_keys(database)

    async def secrets() -> None:
        await forget_expired_secrets(database)

    # Executions before days: a step goes with its execution. Checkpoints after: they go with jobs.
    for part in (make, executions, days, firings, checkpoints, keys, secrets):
        await _guarded(done, part)
    if done.days_ahead < PARTITIONS_LOW_DAYS:
        log.warning("partitions_low", days_ahead=done.days_ahead, wanted=PARTITIONS_AHEAD_DAYS)
    return done


async def _guarded(done: Retained, part: Callable[[], Awaitable[None]]) -> None:
    try:
        await part()
    except WindlassError as trouble:
        done.troubles.append(f"{part.__name__}: {trouble}")
        log.warning("retain_waits", part=part.__name__, reason=str(trouble))


def _tell_made(done: Retained, made: PartitionsMade) -> None:
    done.made = made.count
    if made.busy:
        done.troubles.append(f"somebody reads {', '.join(made.busy)}")
        log.warning("partitions_not_made", tables=made.busy)


def _tell_dropped(done: Retained, dropped: PartitionsDropped) -> None:
    done.dropped, done.overdue = dropped.partitions, dropped.overdue
    if dropped.overdue:
        log.warning("days_not_dropped", partitions=dropped.overdue)


async def _forget_executions(database: Database, retention_days: int) -> int:
    forgotten: int = 0
    while True:
        (row,) = await database.run("execution_forget", retention_days, EXECUTIONS_BATCH)
        forgotten += row["forgotten"]
        # Those of which somebody holds anything are found, and stay.
        if row["found"] < EXECUTIONS_BATCH or not row["forgotten"]:
            return forgotten


async def _forget_keys(database: Database) -> int:
    """All idempotency records that have served their time, a bite of blocks at a time."""
    forgotten: int = 0
    (size,) = await database.read("table_blocks", "idempotency")
    for block in range(0, size["blocks"], THIN_BLOCKS):
        (row,) = await database.run(
            "idempotency_expire", (block, 0), (block + THIN_BLOCKS, 0), IDEMPOTENCY_KEPT_SECONDS
        )
        forgotten += row["forgotten"]
    return forgotten


async def fold_counters(database: Database) -> int:
    """Add up counter deltas; returns how many there were. A counter that somebody holds is left
    for later, and its deltas with it: their sum is exact all the same.
    """
    try:
        (row,) = await database.settle("counter_fold", FOLD_MAX)
    except RowLocked:
        (row,) = await database.settle("counter_fold_free", FOLD_MAX)
    folded: int = row["folded"]
    return folded
