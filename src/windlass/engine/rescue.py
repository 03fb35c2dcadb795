"""Recover what lost nodes held, end what is past its deadline, give up on silent receivers, and see
to locks.

All are idempotent statements that any node may run at any time; the fence makes a node that comes
back from the dead powerless (G2). A node's death counts as a crash of what it ran: the job that
keeps killing nodes is quarantined as `dead` with the cause `worker_died`.
"""

from __future__ import annotations

from typing import Final
from uuid import UUID

from windlass.engine.advance import advance
from windlass.engine.finished import Finished
from windlass.engine.held import attempt_of, settle_in
from windlass.engine.lock_look import look_in
from windlass.engine.operation_steps import end_orphans
from windlass.engine.overdue import give_up
from windlass.model.outcome import Crashed
from windlass.model.settle import Settlement, settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

BATCH: Final = 1_000


async def recover(database: Database) -> Finished:
    """One round of all, in one transaction: an idle node asks for as little as it can."""

    async def work(connection: Connection[Record]) -> Finished:
        finished = await _rescue(connection)
        finished.add(await _expire(connection))
        finished.add(await give_up(connection, BATCH))
        passed = await look_in(connection)
        finished.ready += passed.ready
        finished.progressed.locks.add(passed)
        return finished

    return await database.together(work)


async def rescue(database: Database) -> Finished:
    """One round; `requeued` and `ended` are empty when there was nothing to do."""
    return await database.together(_rescue)


async def expire(database: Database) -> Finished:
    """End waiting jobs whose deadline has passed."""
    return await database.together(_expire)


async def _rescue(connection: Connection[Record]) -> Finished:
    await connection.fetch(statement("node_mark_lost"))
    await end_orphans(connection)
    rows = await connection.fetch(statement("job_held_by_lost"), BATCH)
    return await settle_in(connection, [(row["node_id"], _settle(row)) for row in rows])


def _settle(row: Record) -> Settlement:
    node: UUID = row["node_id"]
    outcome = Crashed(f"node_{node.hex} died or was cut off while running it")
    settlement = settle(attempt_of(row), outcome, 0)
    settlement.rest_seconds = 0.0  # it waited a whole lease already
    return settlement


async def _expire(connection: Connection[Record]) -> Finished:
    due = [row["id"] for row in await connection.fetch(statement("job_expired"), BATCH)]
    if not due:
        return Finished()
    count = len(due)
    ended = await connection.fetch(
        statement("job_drop_many"),
        due,
        ["expired"] * count,
        ['{"cause":"deadline","message":"the deadline passed before it could start"}'] * count,
        ["deadline"] * count,
    )
    advanced = await advance(connection, ended)
    return Finished(
        ended={row["id"]: row["state"] for row in [*ended, *advanced.ended]},
        ready=advanced.ready,
        progressed=advanced.progressed,
    )
