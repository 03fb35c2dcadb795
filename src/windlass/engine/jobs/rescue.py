"""Rescue jobs of dead nodes, whose leases lapsed; expire jobs that are past their deadline.

A round also gives up on silent receivers and sees to locks. All are idempotent statements that any
node may run at any time; the fence makes a node that comes back from the dead powerless (G2). A
node's death counts as a crash of what it ran: the job that keeps killing nodes (a poison pill) is
quarantined as `dead` with the cause `worker_died`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from uuid import UUID

import structlog

from windlass import ids
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
from windlass.telemetry.flood import GATE
from windlass.telemetry.job_lines import say_settled

log = structlog.get_logger()


async def recover(database: Database, backoff: ItemBackoff | None = None) -> Effects:
    """One round of all. None shares a transaction with another, nor any job with one that fails:
    then it is done by halves (engine.isolated_round). Raises when nothing could be done at all.
    """
    effects, backoff = Effects(), backoff or ItemBackoff()
    parts: dict[str, Callable[[], Awaitable[Effects]]] = {
        "rescue": partial(_rescue_round, database, backoff),
        "expire": partial(_expire_round, database, backoff),
        "expire_callbacks": partial(_give_up_round, database, backoff),
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
    for row in await database.settle("node_mark_lost"):
        log.warning("node_lost", name=row["name"], node=ids.show("node", row["id"]))
    await end_orphans(database)
    tried: dict[UUID, tuple[UUID, Settlement]] = {}  # by job, with its node

    async def rescue(connection: Connection[Record], rows: Sequence[Record]) -> Effects:
        settled = [(row["node_id"], _settle(row)) for row in rows]
        tried.update((settlement.job_id, (node, settlement)) for node, settlement in settled)
        return await settle_in(connection, settled)

    effects = await run_round(database, "rescue", "job_held_by_lost", rescue, backoff)
    again = Counter(tried[row["id"]][0] for row in effects.requeued if row["id"] in tried)
    for node_id, count in again.items():
        log.warning("jobs_taken_back", node=ids.show("node", node_id), count=count)
    say_settled((s for job, (_, s) in tried.items() if job in effects.ended), effects.ended)
    return effects


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


async def _give_up_round(database: Database, backoff: ItemBackoff) -> Effects:
    """On receivers that took a delivery over and are late with their completion."""
    tried: dict[UUID, Settlement] = {}

    async def give_up(connection: Connection[Record], rows: Sequence[Record]) -> Effects:
        settled = [(row["node_id"], _time_out(row)) for row in rows]
        tried.update((settlement.job_id, settlement) for _, settlement in settled)
        return await settle_in(connection, settled)

    effects = await run_round(database, "give up", "job_callback_overdue", give_up, backoff)
    done = effects.ended.keys() | {row["id"] for row in effects.requeued}
    say_settled((s for job, s in tried.items() if job in done), effects.ended)
    return effects


async def _expire_round(database: Database, backoff: ItemBackoff) -> Effects:
    effects = await run_round(database, "expire", "job_expired", _expire, backoff)
    for job_id, state in effects.ended.items():
        if state == "expired" and GATE.admits(("job_expired", "jobs expired"), "error"):
            log.error("job_expired", job=ids.show("job", job_id))
    return effects


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
