"""The statements that move jobs out of `running`, inside a transaction of the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from windlass.engine.executions.early_start import StepStarts
from windlass.engine.finished import Finished
from windlass.engine.jobs.advance import advance
from windlass.model.job.settle import Settlement
from windlass.model.job.states import is_terminal
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def end_in(
    connection: Connection[Record],
    ends: Sequence[Settlement],
    starts: StepStarts | None = None,
    *,
    is_divisible: bool = False,
) -> Finished:
    """End jobs and advance their children in the caller's transaction. For `is_divisible` see
    progress.play.
    """
    rows = await connection.fetch(statement("job_end_many"), *end_columns(ends), True)
    advanced = await advance(connection, rows, starts, is_divisible=is_divisible)
    finished = Finished(ready=advanced.ready, progressed=advanced.progressed)
    finished.ended = {row["id"]: row["state"] for row in [*rows, *advanced.ended]}
    return finished


def requeue_columns(again: Sequence[Settlement], node_id: UUID) -> list[list[object]]:
    return [
        [settlement.job_id for settlement in again],
        [settlement.attempt for settlement in again],
        [settlement.claim_id for settlement in again],
        [settlement.outcome for settlement in again],
        [settlement.rest_seconds for settlement in again],
        [settlement.error for settlement in again],
        [settlement.crashed for settlement in again],
        [node_id] * len(again),
        [settlement.detail for settlement in again],
    ]


def end_columns(ends: Sequence[Settlement]) -> list[list[object]]:
    return [
        [settlement.job_id for settlement in ends],
        [settlement.attempt for settlement in ends],
        [settlement.claim_id for settlement in ends],
        # A retry or a wait that may not happen any more is here only because of a cancel request.
        [s.state if is_terminal(s.state) else "cancelled" for s in ends],
        [s.outcome if is_terminal(s.state) else "cancelled" for s in ends],
        [settlement.result for settlement in ends],
        [settlement.error for settlement in ends],
        [settlement.cause for settlement in ends],
        [settlement.detail for settlement in ends],
    ]
