"""Rescue jobs of dead nodes, whose leases lapsed; expire jobs that are past their deadline.

A round also gives up on silent receivers and sees to locks. All are idempotent statements that any
node may run at any time; the fence makes a node that comes back from the dead powerless (G2). A
node's death counts as a crash of what it ran: the job that keeps killing nodes (a poison pill) is
quarantined as `dead` with the cause `worker_died`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import UUID

import structlog

from windlass.chance import chance
from windlass.engine.cluster.operation_steps import end_orphans
from windlass.engine.effects import Effects
from windlass.engine.isolated_round import ItemBackoff
from windlass.engine.jobs.end import advance, attempt_of, run_round, settle_in
from windlass.engine.locks.grant import grant_due
from windlass.model.job.outcome import Crashed, TimedOut
from windlass.model.job.settle import Settlement, settle
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

log = structlog.get_logger()


async def recover(database: Database, backoff: ItemBackoff | None = None) -> Effects:
    """One round of all. None shares a transaction with another, nor any job with one that fails:
    then it is done by halves (engine.isolated_round). Raises when nothing could be done at all.
    """
    effects, backoff = Effects(), backoff or ItemBackoff()
    parts: dict[str, Callable[[], Awaitable[Effects]]] = {
        "rescue": partial(_rescue_round, database, backoff),
        "expire": partial(run_round, database, "expire", "job_expired", _expire, backoff),
        "expire_callbacks": partial(
            run_round, database, "give up", "job_callback_overdue", _give_up, backoff
        ),
        "look": partial(grant_due, database),
    }
    troubles: list[Exception] = []
    for name, part in parts.items():
        try:
            effects.add(await part())
        except Exception as trouble:
            troubles.append(trouble)
            log.warning("recover_put_off", what=name, reason=repr(trouble)[:1_000])
    if len(troubles) == len(parts):
        raise troubles[0]
    return effects


async def next_lapse_seconds(database: Database) -> float | None:
    """When a lease lapses that nobody renews until then; None: nobody has one."""
    (row,) = await database.run("node_next_lapse")
    seconds: float | None = row["seconds"]
    return seconds


async def _rescue_round(database: Database, backoff: ItemBackoff) -> Effects:
    await database.settle("node_mark_lost")
    await end_orphans(database)
    return await run_round(database, "rescue", "job_held_by_lost", _rescue, backoff)


async def _rescue(connection: Connection[Record], rows: Sequence[Record]) -> Effects:
    return await settle_in(connection, [(row["node_id"], _settle(row)) for row in rows])


def _settle(row: Record) -> Settlement:
    node: UUID = row["node_id"]
    outcome = Crashed(f"node_{node.hex} died or was cut off while running it")
    settlement = settle(attempt_of(row), outcome, 0)
    settlement.rest_seconds = 0.0  # it waited a whole lease already
    return settlement


def _expiry(row: Record) -> str | None:
    """The error of a job that expires. None: that of the attempt that failed, which tells more; the
    job's cause is the deadline in any case.
    """
    if row["has_failed"]:
        return None
    again = "start again" if row["attempt"] else "start"
    return f'{{"cause":"deadline","message":"the deadline passed before it could {again}"}}'


async def _give_up(connection: Connection[Record], rows: Sequence[Record]) -> Effects:
    """On receivers that took a delivery over and are late with their completion."""
    return await settle_in(connection, [(row["node_id"], _time_out(row)) for row in rows])


def _time_out(row: Record) -> Settlement:
    waited = (row["callback_until"] - row["started_at"]).total_seconds()
    outcome = TimedOut(round(waited, 3), "the receiver's completion")
    return settle(attempt_of(row), outcome, chance())


async def _expire(connection: Connection[Record], rows: Sequence[Record]) -> Effects:
    """End waiting jobs whose deadline has passed."""
    ended = await connection.fetch(
        statement("job_drop_many"),
        [row["id"] for row in rows],
        ["expired"] * len(rows),
        [_expiry(row) for row in rows],
        ["deadline"] * len(rows),
    )
    return await advance(connection, ended)
