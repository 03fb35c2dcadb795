"""The items of a fan-out: one job each, its input filled with `item` and `index`."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.executions.decide_apart import items_apart
from windlass.engine.executions.facts import Facts
from windlass.engine.executions.step_rows import StepJob, dead_columns, job_columns, steps_in_scope
from windlass.limits import FAN_ITEMS_KEPT_MAX
from windlass.lru import Lru
from windlass.model.workflow.plan import Work
from windlass.model.workflow.step_kinds import KINDS
from windlass.store.database import Connection, Record
from windlass.store.statements import statement

COPY_COLUMNS: Final = (
    "id",
    "execution_id",
    "step",
    "item",
    "kind",
    "queue",
    "priority",
    "state",
    "run_at",
    "timeout_ms",
    "max_attempts",
    "retry",
    "input",
    "input_bytes",
    "target",
    "task",
    "is_foreseen",
    "correlation_id",
    "trace_id",
    "owner",
    "parked_at",
    "parked_for",
)
# A refill after every few items must not read a hundred thousand items each time.
_items: Final[Lru[UUID, list[Any]]] = Lru(
    entries_max=FAN_ITEMS_KEPT_MAX, weight_max=FAN_ITEMS_KEPT_MAX
)


async def insert_items(
    connection: Connection[Record], facts: Facts, held: Record, fan: Record, count: int
) -> Effects:
    """The next `count` items, or fewer when their expressions are much work; `held` is the row of
    fan_lock_many, `fan` that of fan_tally_many.
    """
    vertex = facts.plan.vertices[fan["step"]]
    work = vertex.each
    assert work is not None
    items = await _items_of(connection, fan["job_id"])
    scope = facts.scope() | {"steps": await steps_in_scope(connection, facts, vertex.named)}
    first = fan["expanded"]
    jobs: list[StepJob] = []
    dead: list[StepJob] = []
    decisions = await items_apart(facts, vertex, scope, items[first : first + count], first)
    effects = Effects()
    if len(decisions) < count:
        effects.upkeep.fan_outs.add((facts.execution_id, vertex.id))
        count = len(decisions)
    for item, (job_id, decision) in enumerate(
        zip(ids.uuid7_many(count), decisions, strict=True), first
    ):
        job = StepJob(
            job_id=job_id,
            execution_id=facts.execution_id,
            step=vertex.id,
            item=item,
            work=work,
            decision=decision,
            is_foreseen=True,
        )
        (dead if decision.state == "dead" else jobs).append(job)
    if dead:
        await _insert_dead(connection, dead, effects)
    if jobs and _is_plain(work):
        await _copy(connection, jobs, held)
    elif jobs:
        await _insert(connection, jobs, effects)
    rows = await connection.fetch(
        statement("fan_expanded"),
        facts.execution_id,
        vertex.id,
        count,
        work.queue,
        _priority(work, held),
    )
    if not held["is_paused"]:
        effects.due += rows
    effects.lazy_marks.add(facts.execution_id)
    return effects


def _is_plain(work: Work) -> bool:
    """Needs nothing but a row in its line: no lock, no child."""
    return not work.has_locks and KINDS[work.kind].awaits is None


def _priority(work: Work, held: Record) -> int:
    priority: int = held["priority"] if work.priority is None else work.priority
    return priority


async def _copy(connection: Connection[Record], jobs: list[StepJob], held: Record) -> None:
    now = held["now"]
    parked_for = "paused" if held["is_paused"] else None
    parked_at = now if held["is_paused"] else None

    def row(job: StepJob) -> tuple[Any, ...]:
        work, text = job.work, job.decision.input
        return (
            job.job_id,
            job.execution_id,
            job.step,
            job.item,
            work.kind,
            work.queue,
            _priority(work, held),
            "queued",
            now,
            None if work.timeout_seconds is None else max(1, int(work.timeout_seconds * 1000)),
            work.max_attempts,
            work.retry,
            text,
            len(text) if text.isascii() else len(text.encode()),
            job.decision.target,
            job.decision.task,
            True,
            held["correlation_id"],
            held["trace_id"],
            held["owner"],
            parked_at,
            parked_for,
        )

    await connection.copy_records_to_table(
        "job", schema_name="windlass", columns=COPY_COLUMNS, records=map(row, jobs)
    )


async def _insert(connection: Connection[Record], jobs: list[StepJob], effects: Effects) -> None:
    rows = await connection.fetch(statement("step_insert_many"), *job_columns(jobs))
    for row in rows:
        if KINDS[row["kind"]].awaits == "child":
            effects.upkeep.children.add(row["id"])
        elif row["parked_for"] == "lock":
            effects.parked_for_lock.append(row["id"])


async def _insert_dead(
    connection: Connection[Record], dead: list[StepJob], effects: Effects
) -> None:
    """Items whose expressions have no answer: they have failed before they began."""
    rows = await connection.fetch(statement("step_end_many"), *dead_columns(dead))
    effects.ended |= {row["id"]: row["state"] for row in rows}
    await connection.fetch(
        statement("fan_delta_insert_many"),
        [dead[0].execution_id],
        [dead[0].step],
        [0],
        [len(dead)],
    )
    effects.upkeep.fan_outs.add((dead[0].execution_id, dead[0].step))


async def _items_of(connection: Connection[Record], job_id: UUID) -> list[Any]:
    items = _items.get(job_id)
    if items is None:
        (row,) = await connection.fetch(statement("job_input_get"), job_id)
        items = msgspec.json.decode(row["input"])["items"]
        # The newest is kept, however many it has.
        _items.put(job_id, items, min(len(items), FAN_ITEMS_KEPT_MAX))
    return items
