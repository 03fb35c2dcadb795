"""Cancel jobs wherever they are.

Promises: a job that is waiting, be it for its receiver, ends `cancelled` at once; a running one is
asked to stop and can no longer end `succeeded` (G7). Jobs that have ended stay as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from windlass.clock import monotonic
from windlass.engine.jobs.advance import advance
from windlass.engine.jobs.complete import drop_awaited
from windlass.engine.progressed import Progressed
from windlass.limits import HELD_PATIENCE_SECONDS, HELD_REST_SECONDS, HELD_REST_SECONDS_MAX
from windlass.store.database import Connection, Database, Held, Record
from windlass.store.statements import statement


@dataclass(slots=True)
class Cancelled:
    ended: dict[UUID, str] = field(default_factory=dict)  # job -> state; children included
    asked: dict[UUID, UUID] = field(default_factory=dict)  # running job -> the node that runs it
    ready: list[Record] = field(default_factory=list)
    progressed: Progressed = field(default_factory=Progressed)  # of executions

    def add(self, other: Cancelled) -> None:
        self.ended |= other.ended
        self.asked |= other.asked
        self.ready += other.ready
        self.progressed.add(other.progressed)


async def cancel(database: Database, job_ids: Sequence[UUID]) -> Cancelled:
    """In one transaction, unless somebody holds one of them: then the others do not wait for it.
    Raises Held if it is still held after HELD_PATIENCE_SECONDS; the others are cancelled then.
    """
    done = Cancelled()
    give_up_at = monotonic() + HELD_PATIENCE_SECONDS
    groups, rest = [list(job_ids)], HELD_REST_SECONDS
    held: Held | None = None
    while groups:
        group = groups.pop()
        try:
            part = await database.settle_asked(partial(cancel_in, job_ids=group))
        except Held as trouble:
            if len(group) > 1:
                groups += [group[: len(group) // 2], group[len(group) // 2 :]]
            elif monotonic() < give_up_at:
                groups.insert(0, group)
                await asyncio.sleep(rest)
                rest = min(rest * 2, HELD_REST_SECONDS_MAX)
            else:
                held = trouble
        else:
            done.add(part)
    if held is not None:
        raise held
    return done


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
