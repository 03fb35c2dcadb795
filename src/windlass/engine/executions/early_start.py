"""Begin the next step at once on the node that ended the one before, without a claim of its own.

It is inserted as running, claimed by this node, in the transaction that ends its parent, and begins
when that has been committed. Where the node has no slot for it, or something of a higher priority
waits, it is queued like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from windlass.engine.executions.step_rows import StepJob
from windlass.engine.upcalls import Reservation, StepStarter
from windlass.model.job.attempt import Attempt
from windlass.store.database import Record


class StepStarts:
    """The reservations of one transaction, which may have to be done again."""

    def __init__(self, starter: StepStarter) -> None:
        self._starter = starter
        self._kept: list[tuple[Reservation, list[Attempt]]] = []

    def reserve(self, jobs: Sequence[StepJob]) -> Reservation | None:
        reservation = self._starter.reserve_steps(jobs)
        if reservation is not None:
            self._kept.append((reservation, []))
        return reservation

    def inserted(self, jobs: Sequence[StepJob], rows: Sequence[Record]) -> None:
        """`rows` are those of step_insert_many; what started is begun after the commit."""
        reservation, attempts = self._kept[-1]
        by_id = {job.job_id: job for job in jobs}
        for row in rows:
            if row["started_at"] is not None and row["id"] in by_id:
                job = by_id[row["id"]]
                if job.decision.state == "queued":
                    attempts.append(attempt_of_step(job, row, reservation))

    def roll_back(self) -> None:
        for reservation, _ in self._kept:
            self._starter.begin(reservation, [])
        self._kept = []

    def doubt(self) -> None:
        for reservation, _ in self._kept:
            self._starter.doubt(reservation)
        self.roll_back()

    def begin(self) -> None:
        for reservation, attempts in self._kept:
            self._starter.begin(reservation, attempts)
        self._kept = []


def attempt_of_step(job: StepJob, row: Record, reservation: Reservation) -> Attempt:
    """`row` is what was inserted as running."""
    work = job.work
    seconds = work.timeout_seconds
    return Attempt(
        job_id=job.job_id,
        claim_id=reservation.claim_id,
        number=1,
        queue=work.queue,
        kind=work.kind,
        priority=row["priority"],
        max_attempts=work.max_attempts,
        snoozes=0,
        crashes=0,
        created_at=row["created_at"],
        started_at=row["started_at"],
        timeout_ms=None if seconds is None else max(1, int(seconds * 1000)),
        retry=work.retry,
        correlation_id=row["correlation_id"],
        trace_id=row["trace_id"],
        input=job.decision.input,
        target=job.decision.target,
        task=job.decision.task,
        execution_id=job.execution_id,
    )
