"""Cancel jobs wherever they are.

Promises: a job that is waiting, be it for its receiver, ends `cancelled` at once; a running one is
asked to stop and can no longer end `succeeded` (G7). Jobs that have ended stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from windlass.engine.advance import advance
from windlass.engine.complete import drop_awaited
from windlass.engine.progressed import Progressed
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(slots=True)
class Cancelled:
    ended: dict[UUID, str] = field(default_factory=dict)  # job -> state; children included
    asked: dict[UUID, UUID] = field(default_factory=dict)  # running job -> the node that runs it
    ready: list[Record] = field(default_factory=list)
    progressed: Progressed = field(default_factory=Progressed)  # of executions


async def cancel(database: Database, job_ids: Sequence[UUID]) -> Cancelled:
    return await database.together(lambda connection: cancel_in(connection, job_ids))


async def cancel_in(connection: Connection[Record], job_ids: Sequence[UUID]) -> Cancelled:
    """The same in the caller's transaction."""
    # Locked first: a job cannot slip from running to queued between the two statements.
    await connection.fetch(statement("job_lock_many"), list(job_ids))
    count = len(job_ids)
    ended = await connection.fetch(
        statement("job_drop_many"),
        list(job_ids),
        ["cancelled"] * count,
        [None] * count,
        [None] * count,
    )
    asked = await connection.fetch(statement("job_request_cancel_many"), list(job_ids))
    advanced = await advance(connection, ended)
    # With a receiver there is nobody to ask: no node runs it.
    dropped = await drop_awaited(connection, [row["id"] for row in asked])
    advanced.progressed.add(dropped.progressed)
    return Cancelled(
        ended={row["id"]: row["state"] for row in [*ended, *advanced.ended]} | dropped.ended,
        asked={row["id"]: row["node_id"] for row in asked if row["id"] not in dropped.ended},
        ready=advanced.ready + dropped.ready,
        progressed=advanced.progressed,
    )


async def cancelling(database: Database, node_id: UUID) -> list[UUID]:
    """What this node must stop."""
    return [row["id"] for row in await database.run("job_cancelling", node_id)]
