"""Decided steps as the columns of the statements that insert and end them; and ended ones, read
back as the scope that expressions see.

Never: decides (see `board`), or begins a transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.executions.board import Step, step_in_scope
from windlass.engine.executions.facts import Facts
from windlass.engine.upcalls import Reservation
from windlass.model.json import strict as strict_json
from windlass.model.workflow.plan import End, Work, failures_max
from windlass.model.workflow.step_decision import StepDecision
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class StepJob:
    """A job to insert: of a step, a place of a fan-out, or a compensation."""

    job_id: UUID
    execution_id: UUID
    step: str
    item: int | None = None
    work: Work
    decision: StepDecision
    is_foreseen: bool = False
    priority: int = 1  # what it gets; its work may leave that to the execution


@dataclass(slots=True)
class StepRows:
    jobs: list[StepJob] = field(default_factory=list)
    ended: list[tuple[UUID, Step]] = field(default_factory=list)
    fans: list[tuple[UUID, Step]] = field(default_factory=list)

    def add(self, step: Step) -> None:
        job_id = ids.uuid7()
        if step.decision.state not in ("queued", "awaited"):
            self.ended.append((job_id, step))
            return
        if step.decision.places is not None:
            self.fans.append((job_id, step))
        self.jobs.append(
            StepJob(
                job_id=job_id,
                execution_id=step.facts.execution_id,
                step=step.vertex.id,
                work=step.vertex.work,
                decision=step.decision,
                is_foreseen=step.vertex.is_foreseen,
                priority=_priority(step),
            )
        )

    def end_columns(self) -> list[list[Any]]:
        steps = [step for _, step in self.ended]
        return [
            [job_id for job_id, _ in self.ended],
            [step.facts.execution_id for step in steps],
            [step.vertex.id for step in steps],
            [step.vertex.work.kind for step in steps],
            [step.vertex.work.queue for step in steps],
            [step.decision.state for step in steps],
            [step.decision.result for step in steps],
            [step.decision.error for step in steps],
            [step.decision.cause for step in steps],
            [step.vertex.is_foreseen for step in steps],
            [],
        ]

    def fan_columns(self) -> list[list[Any]]:
        steps = [step for _, step in self.fans]
        return [
            [step.facts.execution_id for step in steps],
            [step.vertex.id for step in steps],
            [job_id for job_id, _ in self.fans],
            [step.decision.places for step in steps],
            [step.vertex.max_parallel for step in steps],
            [failures_max(step.vertex, step.decision.places or 0) for step in steps],
        ]


def _priority(step: Step) -> int:
    own = step.vertex.work.priority
    return step.facts.priority if own is None else own


def job_columns(
    jobs: list[StepJob], *, place: Reservation | None = None, is_undo: bool = False
) -> list[Any]:
    """The columns that step_insert_many takes; one that says nothing is sent empty."""
    return [
        [job.job_id for job in jobs],
        [job.execution_id for job in jobs],
        [job.step for job in jobs],
        _some([job.item for job in jobs]),
        [job.work.kind for job in jobs],
        [job.work.queue for job in jobs],
        _some([job.work.priority for job in jobs]),
        _some([_timeout_ms(job) for job in jobs]),
        [job.work.max_attempts for job in jobs],
        _some([job.work.retry for job in jobs]),
        [job.decision.input for job in jobs],
        _some([job.decision.target for job in jobs]),
        [job.is_foreseen for job in jobs] if any(job.is_foreseen for job in jobs) else [],
        _some([_locks(job) for job in jobs]),
        _some([_patience(job) for job in jobs]),
        list(place.starts) if place else [],
        place.node_id if place else None,
        place.claim_id if place else None,
        is_undo,
    ]


def _some(column: list[Any]) -> list[Any]:
    return column if any(value is not None for value in column) else []


def _timeout_ms(job: StepJob) -> int | None:
    seconds = job.work.timeout_seconds
    return (
        None if seconds is None or job.decision.state == "awaited" else max(1, int(seconds * 1000))
    )


def _patience(job: StepJob) -> float | None:
    """How long a step waits for what ends it. None: a node performs it."""
    if job.decision.state != "awaited":
        return None
    return float("inf") if job.work.timeout_seconds is None else job.work.timeout_seconds


def _locks(job: StepJob) -> str | None:
    return None if not job.decision.locks else strict_json.write(job.decision.locks)


def dead_columns(dead: list[StepJob]) -> list[list[Any]]:
    """The columns that step_end_many takes, of jobs that failed before they could be made."""
    decisions: list[StepDecision] = [job.decision for job in dead]
    return [
        [job.job_id for job in dead],
        [job.execution_id for job in dead],
        [job.step for job in dead],
        [job.work.kind for job in dead],
        [job.work.queue for job in dead],
        [decision.state for decision in decisions],
        [decision.result for decision in decisions],
        [decision.error for decision in decisions],
        [decision.cause for decision in decisions],
        [True] * len(dead),
        [job.item for job in dead],
    ]


async def steps_in_scope(
    connection: Connection[Record], facts: Facts, names: Collection[str]
) -> dict[str, Any]:
    """These steps as expressions see them; one without a job is open."""
    if not names:
        return {}
    ordered = sorted(names)
    count = len(ordered)
    rows = await connection.fetch(
        statement("step_end_get_many"),
        [facts.execution_id] * count,
        ordered,
        [True] * count,
        [facts.created_at] * count,
    )
    ends = {
        row["step"]: End(state=row["state"], result=row["result"], error=row["error"])
        for row in rows
    }
    return {name: step_in_scope(ends.get(name)) for name in ordered}
