"""Durable functions that wait for a signal to their execution: none misses it, none takes it twice.

The signal is taken and becomes the checkpoint in one transaction, under the execution's lock: a
signal is never lost with the node that took it, and never ends two waits. A wait whose time is up
is closed behind the same lock, so a signal that comes later finds it closed, also when the function
is played again.

A function that waits holds no slot: its job is `queued`, due when its patience ends. The signal and
the rest may cross each other in two ways (the lost wake-up), and the execution's lock decides both:

    function looks, finds nothing    ->  rests (job queued)  ->  signal comes
        The signal's transaction sees a queued job and makes it due now: `wake_for_signal`.

    function looks, finds nothing    ->  signal comes (job still running)  ->  rests
        The signal's transaction finds nobody to wake. So whoever puts a job to rest takes the same
        lock first, and looks once more in the transaction that does it: `rest_until_signal`.

Either way it is one commit: no process can die, and no answer be lost, between a rest and the look
that belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.executions.checkpoints import Fence, checkpoint_of
from windlass.engine.jobs.end import requeue_columns
from windlass.limits import LISTEN_LOCK_SECONDS
from windlass.model.job.checkpoint import Checkpoint, Note
from windlass.model.job.settle import Settlement
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def listen(database: Database, fence: Fence, note: Note) -> Checkpoint | None:
    """The wait as it stands now. None: another attempt has taken over. Raises RowLocked while
    somebody keeps its execution: ask again.
    """

    async def work(connection: Connection[Record]) -> Checkpoint | None:
        await connection.fetch(statement("execution_lock_many"), [fence.execution_id])
        held = await connection.fetch(
            statement("checkpoint_wait_open"),
            fence.job_id,
            fence.attempt,
            fence.claim_id,
            note.branch,
            note.place,
            note.name,
            note.rest_seconds,
        )
        if not held:
            return None
        standing = await _read(connection, fence, note)
        if not standing.is_open or standing.name != note.name:
            return standing
        return await _end(connection, fence, standing)

    return await database.together(work, lock_seconds=LISTEN_LOCK_SECONDS)


async def _end(connection: Connection[Record], fence: Fence, wait: Checkpoint) -> Checkpoint:
    """End an open wait if there is something to end it."""
    taken = await connection.fetch(
        statement("execution_signal_take"), fence.execution_id, wait.name, fence.job_id
    )
    if not taken and (wait.left_seconds is None or wait.left_seconds > 0):
        return wait
    await connection.fetch(
        statement("checkpoint_wait_end"),
        fence.job_id,
        wait.branch,
        wait.place,
        taken[0]["payload"] if taken else None,
    )
    return await _read(connection, fence, wait)


async def _read(connection: Connection[Record], fence: Fence, at: Note | Checkpoint) -> Checkpoint:
    (row,) = await connection.fetch(
        statement("checkpoint_get_many"), [fence.job_id], [at.branch], [at.place]
    )
    return checkpoint_of(row)


async def wake_for_signal(
    connection: Connection[Record], execution_id: UUID, name: str
) -> list[Record]:
    """Make due whoever rests until this signal; the caller has written it under the lock."""
    rows = await connection.fetch(statement("checkpoint_listening"), execution_id, name)
    return await _promote(connection, rows)


async def rest_until_signal(
    database: Database, node_id: UUID, listening: Sequence[Settlement]
) -> list[Record]:
    """Put steps to rest until a signal comes; those for which one has come meanwhile are due. The
    rows of job_requeue_many, and of job_promote_many where that was so. Raises RowLocked.
    """
    executions = sorted({s.execution_id for s in listening if s.execution_id is not None})

    async def work(connection: Connection[Record]) -> list[Record]:
        await connection.fetch(statement("execution_lock_many"), executions)
        columns = requeue_columns(listening, node_id)
        rested = await connection.fetch(statement("job_requeue_many"), *columns)
        # Of all that were asked for: one may rest already, by a commit whose answer was lost.
        jobs = [settlement.job_id for settlement in listening]
        heard = await connection.fetch(statement("checkpoint_heard_many"), jobs)
        return rested + await _promote(connection, heard)

    return await database.settle_together(work)


async def _promote(connection: Connection[Record], rows: list[Record]) -> list[Record]:
    if not rows:
        return []
    return await connection.fetch(statement("job_promote_many"), [row["id"] for row in rows])
