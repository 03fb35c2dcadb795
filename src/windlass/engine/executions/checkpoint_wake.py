"""Durable functions that rest until a signal comes, and how none of them misses it.

A function that waits holds no slot: its job is `queued`, due when its patience ends. The signal and
the rest may cross each other in two ways, and the execution's lock decides both:

    function looks, finds nothing    ->  rests (job queued)  ->  signal comes
        The signal's transaction sees a queued job and makes it due now: `wake_listening`.

    function looks, finds nothing    ->  signal comes (job still running)  ->  rests
        The signal's transaction finds nobody to wake. So whoever puts a job to rest takes the same
        lock first, and looks once more in the transaction that does it: `rest_listening`.

Either way it is one commit: no process can die, and no answer be lost, between a rest and the look
that belongs to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.jobs.end import requeue_columns
from windlass.model.job.settle import Settlement
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def wake_listening(
    connection: Connection[Record], execution_id: UUID, name: str
) -> list[Record]:
    """Make due whoever rests until this signal; the caller has written it under the lock."""
    rows = await connection.fetch(statement("checkpoint_listening"), execution_id, name)
    return await _promote(connection, rows)


async def rest_listening(
    database: Database, node_id: UUID, listening: Sequence[Settlement]
) -> list[Record]:
    """Put steps to rest until a signal comes; those for which one has come meanwhile are due. The
    rows of job_requeue_many, and of job_promote_many where that was so. Raises Held.
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
