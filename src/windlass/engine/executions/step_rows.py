"""Decided steps as the columns of the statements that insert and end them; and ended ones, read
back as the scope that expressions see.

Never: decides (see `board`), or begins a transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec

from windlass import ids
from windlass.engine.executions.board import Step, step_in_scope
from windlass.engine.executions.facts import Facts
from windlass.engine.upcalls import Reservation
from windlass.model.json import strict as strict_json
from windlass.model.workflow.plan import End, Work, failures_max
from windlass.model.workflow.step_decision import StepDecision
from windlass.store.database import Connection, Record
from windlass.store.statements import bind, statement


# A struct: one is made for every step, in a tenth of a frozen dataclass's time.
class StepJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job to insert: of a step, an item of a fan-out, or a compensation."""

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

    @classmethod
    def of(cls, decided: Sequence[Step]) -> StepRows:
        rows = cls()
        for job_id, step in zip(ids.uuid7_many(len(decided)), decided, strict=True):
            rows._add(job_id, step)
        return rows

    def _add(self, job_id: UUID, step: Step) -> None:
        if step.decision.state not in ("queued", "awaited"):
            self.ended.append((job_id, step))
            return
        if step.decision.items is not None:
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

    def end_columns(self) -> tuple[Any, ...]:
        """What step_end_many takes."""
        steps = [step for _, step in self.ended]
        columns: dict[str, list[Any]] = {
            "id": [job_id for job_id, _ in self.ended],
            "execution_id": [step.facts.execution_id for step in steps],
            "step": [step.vertex.id for step in steps],
            "kind": [step.vertex.work.kind for step in steps],
            "queue": [step.vertex.work.queue for step in steps],
            "state": [step.decision.state for step in steps],
            "result": [step.decision.result for step in steps],
            "error": [step.decision.error for step in steps],
            "cause": [step.decision.cause for step in steps],
            "is_foreseen": [step.vertex.is_foreseen for step in steps],
            "item": [],
        }
        return bind("step_end_many", columns)

    def fan_columns(self) -> list[list[Any]]:
        steps = [step for _, step in self.fans]
        return [
            [step.facts.execution_id for step in steps],
            [step.vertex.id for step in steps],
            [job_id for job_id, _ in self.fans],
            [step.decision.items for step in steps],
            [step.vertex.max_parallel for step in steps],
            [failures_max(step.vertex, step.decision.items or 0) for step in steps],
        ]


def _priority(step: Step) -> int:
    own = step.vertex.work.priority
    return step.facts.priority if own is None else own


def job_columns(
    jobs: list[StepJob], *, reservation: Reservation | None = None, is_undo: bool = False
) -> tuple[Any, ...]:
    """What step_insert_many takes; a column that says nothing is sent empty."""
    columns = {
        "id": [job.job_id for job in jobs],
        "execution_id": [job.execution_id for job in jobs],
        "step": [job.step for job in jobs],
        "item": _some([job.item for job in jobs]),
        "kind": [job.work.kind for job in jobs],
        "queue": [job.work.queue for job in jobs],
        "priority": _some([job.work.priority for job in jobs]),
        "timeout_ms": _some([timeout_ms(job) for job in jobs]),
        "max_attempts": [job.work.max_attempts for job in jobs],
        "retry": _some([job.work.retry for job in jobs]),
        "input": [job.decision.input for job in jobs],
        "target": _some([job.decision.target for job in jobs]),
        "task": _some([job.decision.task for job in jobs]),
        "is_foreseen": _some([job.is_foreseen or None for job in jobs]),
        "locks": _some([_locks(job) for job in jobs]),
        "limits": _some([job.decision.limits for job in jobs]),
        "patience": _some([_patience(job) for job in jobs]),
        "starts": list(reservation.starts) if reservation else [],
        "node_id": reservation.node_id if reservation else None,
        "claim_id": reservation.claim_id if reservation else None,
        "is_undo": is_undo,
    }
    return bind("step_insert_many", columns)


def _some(column: list[Any]) -> list[Any]:
    return column if any(value is not None for value in column) else []


def timeout_ms(job: StepJob) -> int | None:
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


def dead_columns(dead: list[StepJob]) -> tuple[Any, ...]:
    """What step_end_many takes, of jobs that failed before they could be made."""
    decisions: list[StepDecision] = [job.decision for job in dead]
    columns: dict[str, list[Any]] = {
        "id": [job.job_id for job in dead],
        "execution_id": [job.execution_id for job in dead],
        "step": [job.step for job in dead],
        "kind": [job.work.kind for job in dead],
        "queue": [job.work.queue for job in dead],
        "state": [decision.state for decision in decisions],
        "result": [decision.result for decision in decisions],
        "error": [decision.error for decision in decisions],
        "cause": [decision.cause for decision in decisions],
        "is_foreseen": [True] * len(dead),
        "item": [job.item for job in dead],
    }
    return bind("step_end_many", columns)


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
