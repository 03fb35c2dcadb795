"""Dead letters and replay (redrive): bring finished jobs back, forget them, make waiting ones due.

Promises: a replay is the only way out of a terminal state, and how the job had ended stays on
record. Replaying what is not finished changes nothing, so doing it twice is harmless; and who asks
for dead ones gets those that are dead when they are taken, and died before they were chosen: of two
who replay the same death one does. Dead letters are jobs like any other: they are chosen by a
filter (`select_dead`) and counted by what went wrong (`group_dead`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final
from uuid import UUID

from windlass.engine.audit.record import of_jobs, record
from windlass.engine.effects import Effects
from windlass.engine.executions.replay_steps import ANY_END, SeenEnd, reopen_executions
from windlass.engine.locks.grant import Change, grant_next, take_locks
from windlass.errors import Conflict
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

BATCH: Final = 1_000
SELECT_MAX: Final = 100_000
# Groups are of the newest dead letters; a longer look would cost more than it tells.
GROUPED_MAX: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters. None: any."""

    queue: str | None = None
    kind: str | None = None
    task: str | None = None
    cause: str | None = None
    tag: str | None = None
    finished_after: datetime | None = None  # at it or later
    finished_before: datetime | None = None  # and not at it
    target: str | None = None


async def replay(
    database: Database,
    job_ids: Sequence[UUID],
    *,
    seen: SeenEnd = ANY_END,
    is_strict: bool = False,
    left: dict[UUID, str] | None = None,
    about: Mapping[str, Any] | None = None,  # how they were chosen, for the audit log
) -> list[Record]:
    """Queue finished jobs again; returns id, queue, priority, run_at, execution_id of those brought
    back. Of ends that were `seen` only these. Steps of executions that cannot be are left out, or
    refused (Conflict) if `is_strict`; `left` is told of each, and why.
    """
    refusals = {} if left is None else left

    async def work(connection: Connection[Record], batch: list[UUID]) -> list[Record]:
        rows, refused = await replay_in(connection, batch, seen)
        if refused and is_strict:
            raise next(iter(refused.values()))
        for job_id in batch:  # of a try that was rolled back
            refusals.pop(job_id, None)
        refusals.update({job_id: str(why) for job_id, why in refused.items()})
        return rows

    return await _in_batches(database, job_ids, work, "job.replay", about)


async def delete(
    database: Database,
    job_ids: Sequence[UUID],
    *,
    seen: SeenEnd = ANY_END,
    about: Mapping[str, Any] | None = None,  # how they were chosen, for the audit log
) -> list[Record]:
    """Forget finished jobs, of ends that were `seen` only these; returns their ids."""

    async def work(connection: Connection[Record], batch: list[UUID]) -> list[Record]:
        return await delete_in(connection, batch, seen)

    return await _in_batches(database, job_ids, work, "job.delete", about)


async def promote(database: Database, job_ids: Sequence[UUID]) -> list[Record]:
    """Make queued jobs due now; returns id, queue, priority, run_at of those that were not."""

    async def work(connection: Connection[Record]) -> list[Record]:
        moved = await promote_in(connection, job_ids)
        if moved:
            await record(connection, of_jobs("job.promote", [row["id"] for row in moved]))
        return moved

    return await database.ask(work)


async def promote_in(connection: Connection[Record], job_ids: Sequence[UUID]) -> list[Record]:
    """The same in the caller's transaction."""
    moved = await connection.fetch(statement("job_promote_many"), list(job_ids))
    if wanted := {name for row in moved for name in row["locks"] or ()}:
        await grant_next(connection, Change(entered=wanted), Effects())
    return moved


async def replay_in(
    connection: Connection[Record], job_ids: Sequence[UUID], seen: SeenEnd = ANY_END
) -> tuple[list[Record], dict[UUID, Conflict]]:
    """The same in the caller's transaction; also who was refused, and why."""
    await connection.fetch(statement("verb_set"), "replay")
    refused = await reopen_executions(connection, job_ids, seen)
    going = [job_id for job_id in job_ids if job_id not in refused]
    rows = await connection.fetch(statement("job_replay_many"), going, seen.state, seen.by)
    parked = [row["id"] for row in rows if row["parked_for"] == "lock"]
    await take_locks(connection, Effects(parked_for_lock=parked))
    return rows, refused


async def delete_in(
    connection: Connection[Record], job_ids: Sequence[UUID], seen: SeenEnd = ANY_END
) -> list[Record]:
    """The same in the caller's transaction."""
    await connection.fetch(statement("verb_set"), "delete")
    return await connection.fetch(statement("job_delete_many"), list(job_ids), seen.state, seen.by)


async def select_dead(database: Database, which: DeadFilter, most: int = SELECT_MAX) -> list[UUID]:
    """Up to `most` ids, oldest first."""
    one_target = "target = $9" if which.target is not None else "$9::text IS NULL"
    async with database.side() as connection:
        rows = await connection.fetch(
            statement("dead_select").replace("{where}", one_target),
            which.queue,
            which.kind,
            which.cause,
            which.tag,
            which.finished_after,
            which.finished_before,
            most,
            which.task,
            which.target,
        )
    return [row["id"] for row in rows]


async def group_dead(database: Database) -> list[Record]:
    """What makes a group, its count, first_at, last_at and sample_id; the largest first."""
    return await database.browse(statement("dead_groups"), GROUPED_MAX)


async def _in_batches(
    database: Database,
    job_ids: Sequence[UUID],
    work: Callable[[Connection[Record], list[UUID]], Awaitable[list[Record]]],
    action: str,
    about: Mapping[str, Any] | None,
) -> list[Record]:
    """A thousand at a time: each batch commits by itself, so a long redrive holds no long locks.
    So each has an entry in the audit log.
    """
    done: list[Record] = []
    for start in range(0, len(job_ids), BATCH):
        batch = sorted(job_ids[start : start + BATCH])
        done += await database.ask(partial(_call, work, batch, action, about))
    return done


async def _call(
    work: Callable[[Connection[Record], list[UUID]], Awaitable[list[Record]]],
    batch: list[UUID],
    action: str,
    about: Mapping[str, Any] | None,
    connection: Connection[Record],
) -> list[Record]:
    rows = await work(connection, batch)
    if rows:
        await record(connection, of_jobs(action, [row["id"] for row in rows], about))
    return rows
