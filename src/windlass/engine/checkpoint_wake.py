"""Durable functions that rest until a signal comes, and how none of them misses it.

A function that waits holds no slot: its job is `queued`, due when its patience ends. The signal and
the rest may cross each other in two ways, and the execution's lock decides both:

    function looks, finds nothing    ->  rests (job queued)  ->  signal comes
        The signal's transaction sees a queued job and makes it due now: `wake_listening`.

    function looks, finds nothing    ->  signal comes (job still running)  ->  rests
        The signal's transaction finds nobody to wake. So whoever puts a job to rest looks once more
        when that is committed, behind the same lock: `wake_heard`.

A node that dies between its commit and its look leaves a job that nobody wakes; that is why nobody
rests longer than DURABLE_LISTEN_SECONDS at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping
from uuid import UUID

from windlass.errors import Unavailable
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


async def wake_listening(
    connection: Connection[Record], execution_id: UUID, name: str
) -> list[Record]:
    """Make due whoever rests until this signal; the caller has written it under the lock."""
    rows = await connection.fetch(statement("checkpoint_listening"), execution_id, name)
    return await _promote(connection, rows)


async def wake_heard(
    database: Database, rested: Collection[UUID], listening: Mapping[UUID, UUID | None]
) -> list[Record]:
    """Make due those of the jobs that `rested` whose signal has come meanwhile.

    `listening` maps a job to its execution; None: it has none, and nobody can signal it.
    """
    asked = {job: execution for job, execution in listening.items() if job in rested and execution}
    if not asked:
        return []

    async def work(connection: Connection[Record]) -> list[Record]:
        await connection.fetch(statement("execution_lock_many"), sorted(set(asked.values())))
        rows = await connection.fetch(statement("checkpoint_heard_many"), list(asked))
        return await _promote(connection, rows)

    with contextlib.suppress(Unavailable):  # it looks by itself before long
        return await database.together(work)
    return []


async def _promote(connection: Connection[Record], rows: list[Record]) -> list[Record]:
    if not rows:
        return []
    return await connection.fetch(statement("job_promote_many"), [row["id"] for row in rows])
