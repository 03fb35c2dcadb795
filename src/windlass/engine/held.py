"""Settle attempts from their rows, without having run them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from uuid import UUID

from windlass.engine.end import end_in, requeue_columns
from windlass.engine.finished import Finished
from windlass.model.attempt import Attempt
from windlass.model.settle import Settlement
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


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
