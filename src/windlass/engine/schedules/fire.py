"""Fire the schedules that are due, many at a time.

    lock the due -> many alike? -> fire_together
    the others   -> which instants? -> what is unfinished? -> decide
        -> enter in the ledger -> make jobs and executions -> move the schedules on

Owns: the statements that make something of a due instant.
Promises: a due instant is decided exactly once, whoever believes that it leads (G6): the schedule
is locked, (schedule, instant) is unique in the ledger, and ledger, job and next instant are one
commit. What cannot be made, because a queue is full or a workflow is gone, is a skipped row with
the reason. A schedule that cannot be fired at all is put off, says why, and counts as silent; it
never holds up its neighbours. Nor does one whose queue, key or parent another transaction holds: it
is looked at again after a moment, and its instants stay due.
Never: asks a node's clock. The database's decides what is due, and how late it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import structlog

from windlass import ids
from windlass.engine.schedules.decide import (
    Due,
    Fired,
    FireOptions,
    PlannedFiring,
    SchedulesHeld,
    due_of,
    plan_firings,
    unfinished_of,
)
from windlass.engine.schedules.fire_together import (
    AlreadyInLedger,
    Group,
    Patterns,
    fire_groups,
    group_due,
)
from windlass.engine.schedules.make import make
from windlass.limits import (
    FIRE_AGAIN_SECONDS,
    FIRE_BATCH,
    FIRE_HELD_SECONDS,
    FIRE_LOCK_SECONDS,
    FIRE_PART_LOCK_SECONDS,
    SCHEDULE_NOTE_CHARS_MAX,
    SILENT_SECONDS,
)
from windlass.store.database import BadValue, Connection, Database, Record, RowLocked
from windlass.store.statements import statement

log = structlog.get_logger()


async def fire_due(database: Database, options: FireOptions, most: int = FIRE_BATCH) -> Fired:
    """One round. `is_full` says that there may be more."""

    async def work(connection: Connection[Record]) -> Fired:
        return await _fire_locked(connection, options, most, is_each_looked_at=False)

    async def with_care(connection: Connection[Record]) -> Fired:
        return await _fire_locked(connection, options, most, is_each_looked_at=True)

    try:
        return await database.together(work, lock_seconds=FIRE_LOCK_SECONDS)
    except AlreadyInLedger:
        return await database.together(with_care, lock_seconds=FIRE_LOCK_SECONDS)
    except RowLocked:
        return await _fire_beside(database, options, most)
    except BadValue as trouble:
        # Something of one of them cannot be stored. Fewer at a time, until it stands alone.
        if most > 1:
            fired = await fire_due(database, options, max(1, most // 10))
        else:
            fired = await _put_off_first(database, str(trouble))
        fired.is_full = True
        return fired


async def _fire_beside(database: Database, options: FireOptions, most: int) -> Fired:
    """What needs nothing that is held; whose queue it is that is held is known at once."""
    hasty = replace(options, is_waiting=False)

    async def work(connection: Connection[Record]) -> Fired:
        return await _fire_locked(connection, hasty, most, is_each_looked_at=True)

    try:
        return await database.together(work, lock_seconds=FIRE_PART_LOCK_SECONDS)
    except SchedulesHeld as trouble:
        log.warning("schedules_held", count=len(trouble.schedule_ids), reason=str(trouble))
        columns = list(trouble.schedule_ids), FIRE_HELD_SECONDS, str(trouble), SILENT_SECONDS
        await database.run("schedule_hold_off", *columns)
        return Fired(is_full=True)
    except RowLocked as trouble:
        # A key, or a job that is to stop. Fewer at a time, until it stands alone.
        if most > 1:
            fired = await _fire_beside(database, options, max(1, most // 10))
        else:
            fired = await _put_off_first(database, str(trouble), FIRE_HELD_SECONDS)
        fired.is_full = True
        return fired


async def _fire_locked(
    connection: Connection[Record], options: FireOptions, most: int, *, is_each_looked_at: bool
) -> Fired:
    rows = await connection.fetch(statement("schedule_due_lock"), most)
    if not rows:
        return Fired()
    now: datetime = rows[0]["now"]
    if is_each_looked_at or options.queue_defaults.are_set:
        groups: list[Group] = []
        alone = [row["id"] for row in rows]
    else:
        groups, alone = await group_due(connection, rows, now, _patterns(options.max_attempts))
    fired = await fire_groups(connection, groups, now)
    if alone:
        read = await connection.fetch(statement("schedule_read_many"), alone)
        fired.add(await fire_rows(connection, read, now, options))
    fired.is_full = fired.is_full or len(rows) >= most
    return fired


@lru_cache(maxsize=1)
def _patterns(max_attempts: int) -> Patterns:
    return Patterns(max_attempts)


async def fire_rows(
    connection: Connection[Record],
    rows: Sequence[Record],
    now: datetime,
    options: FireOptions,
    *,
    is_hasty: bool = False,
) -> Fired:
    """Decide all that is due of these schedules, which the caller has locked.

    `is_hasty`: an instant that has come is due now, whatever its jitter.
    """
    due, broken = due_of(rows, now, is_hasty)
    await _put_off(connection, broken)
    beside = await unfinished_of(connection, [one.row for one in due])
    planned = plan_firings(due, now, beside)
    await enter_in_ledger(connection, planned)
    fired = await make(connection, [one for one in planned if one.is_entered], now, options)
    await _move_on(connection, due)
    fired.schedules = len(due)
    fired.is_full = len(due) + len(broken) < len(rows)
    return fired


async def _put_off_first(
    database: Database, reason: str, seconds: float = FIRE_AGAIN_SECONDS
) -> Fired:
    async def work(connection: Connection[Record]) -> None:
        rows = await connection.fetch(statement("schedule_due_lock"), 1)
        await _put_off(connection, {row["id"]: reason for row in rows}, seconds)

    await database.together(work)
    return Fired()


async def _put_off(
    connection: Connection[Record],
    broken: Mapping[UUID, str],
    seconds: float = FIRE_AGAIN_SECONDS,
) -> None:
    for schedule_id, reason in broken.items():
        log.error("schedule_put_off", schedule=ids.show("schedule", schedule_id), reason=reason)
    if broken:
        notes = [reason[:SCHEDULE_NOTE_CHARS_MAX] for reason in broken.values()]
        columns = list(broken), notes, seconds
        await connection.fetch(statement("schedule_put_off"), *columns)


async def enter_in_ledger(
    connection: Connection[Record], planned: Sequence[PlannedFiring], *, is_asked: bool = False
) -> None:
    """Into the ledger, all of them, under the ids that their jobs and executions will have."""
    decisions = [one.decision for one in planned]
    entered = await connection.fetch(
        statement("firing_insert_many"),
        [one.row["id"] for one in planned],
        [decision.instant for decision in decisions],
        [one.job_id for one in planned],
        _some([one.execution_id for one in planned]),
        [decision.state for decision in decisions],
        _some([decision.reason for decision in decisions]),
        [d.stands_for for d in decisions] if any(d.stands_for > 1 for d in decisions) else [],
        is_asked,
    )
    there = {(row["schedule_id"], row["instant"]) for row in entered}
    is_all = len(there) == len(planned)  # nearly always
    for one in planned:
        one.is_entered = is_all or (one.row["id"], one.decision.instant) in there


async def _move_on(connection: Connection[Record], due: Sequence[Due]) -> None:
    nexts = [one.pending.next_at for one in due]
    await connection.fetch(
        statement("schedule_fired_many"),
        [one.row["id"] for one in due],
        [one.pending.instants[-1] for one in due],
        nexts,
        [
            None if next_at is None else one.rule.fire_at(one.row["id"], next_at)
            for one, next_at in zip(due, nexts, strict=True)
        ],
    )


def _some(column: list[Any]) -> list[Any]:
    """A column that says nothing is sent empty."""
    return column if any(value is not None for value in column) else []
