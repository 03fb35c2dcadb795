"""Settle attempts from their rows, without having run them; rounds over jobs whose time is up."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

from windlass.engine.apart import Apart, Troubled
from windlass.engine.finished import Finished
from windlass.engine.jobs.end import end_in, requeue_columns
from windlass.model.job.attempt import Attempt
from windlass.model.job.settle import Settlement
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

ROUND_MAX: Final = 1_000


def attempt_of(row: Record) -> Attempt:
    """As much of it as settling needs; `detail` where the row has it."""
    detail = row.get("detail")
    return Attempt(
        job_id=row["id"],
        claim_id=row["claim_id"],
        number=row["attempt"],
        queue=row["queue"],
        kind=row["kind"],
        priority=row["priority"],
        max_attempts=row["max_attempts"],
        snoozes=row["snoozes"],
        crashes=row["crashes"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        timeout_ms=None,
        retry=row["retry"],
        correlation_id=None,
        trace_id=None,
        input="",
        detail=None if detail is None else json.loads(detail),
    )


async def round_of(
    database: Database,
    what: str,
    find: str,
    deed: Callable[[Connection[Record], Sequence[Record]], Awaitable[Finished]],
    troubled: Troubled | None = None,
) -> Finished:
    """Do it to all that the statement `find` finds, ROUND_MAX at most; to each apart, if need be.

    It takes `most` and ids (NULL: all), and leaves alone what somebody else holds. It is asked once
    more in the transaction of the deed, for what may have changed since.
    """
    finished = Finished()
    found = await database.settle(find, ROUND_MAX, None)

    async def do(job_ids: Sequence[UUID]) -> Finished:
        async def work(connection: Connection[Record]) -> Finished:
            rows = await connection.fetch(statement(find), ROUND_MAX, list(job_ids))
            return await deed(connection, rows) if rows else Finished()

        return await database.settle_together(work)

    apart = Apart(what=what, deed=do, tell=finished.add, troubled=troubled or Troubled())
    await apart.each([row["id"] for row in found])
    return finished


async def settle_in(
    connection: Connection[Record], settled: Sequence[tuple[UUID, Settlement]]
) -> Finished:
    """Apply settlements in the caller's transaction, each with the node that ran the attempt."""
    finished = Finished()
    for node_id in {node for node, _ in settled}:
        mine = [s for node, s in settled if node == node_id and s.state == "queued"]
        if mine:
            finished.requeued += await connection.fetch(
                statement("job_requeue_many"), *requeue_columns(mine, node_id)
            )
    done = {row["id"] for row in finished.requeued}
    # No tries left, quarantined, or asked to cancel in the meantime.
    ends = [s for _, s in settled if s.job_id not in done]
    if ends:
        finished.add(await end_in(connection, ends))
    return finished
