"""A durable function waits for a signal to its execution.

The signal is taken and becomes the checkpoint in one transaction, under the execution's lock: a
signal is never lost with the node that took it, and never ends two waits. A wait whose time is up
is closed behind the same lock, so a signal that comes later finds it closed, also when the function
is played again.
"""

from __future__ import annotations

from windlass.engine.executions.checkpoints import Fence, checkpoint_of
from windlass.limits import LISTEN_LOCK_SECONDS
from windlass.model.job.checkpoint import Checkpoint, Note
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def listen(database: Database, fence: Fence, note: Note) -> Checkpoint | None:
    """The wait as it stands now. None: another attempt has taken over. Raises Held while somebody
    keeps its execution: ask again.
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
