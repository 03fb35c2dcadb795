"""Start plain executions by one statement, many at a time.

    version remembered -> input checked, first steps decided -> one statement: executions and jobs

Plain are those that ask for nobody's turn, lock, parent or quota, and whose first steps are jobs
that follow from the input alone. An Idempotency-Key is taken by the same statement. What this node
remembers of a workflow decides nothing: the statement inserts only what PostgreSQL says is to run,
by the snapshot that inserts it. Where the node has a free slot and nothing else waits for it,
first steps begin as they are inserted.

Promises: an answer means committed (G1). None is no answer: nothing was written, and the long way
(engine.executions.start_batch) finds out why.
Never: refuses a start, for it may have judged by a version of before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from windlass import clock, ids
from windlass.engine.effects import Effects
from windlass.engine.executions.board import Board
from windlass.engine.executions.early_start import attempt_of_step
from windlass.engine.executions.facts import Facts, keep, plan_known
from windlass.engine.executions.read import read_many
from windlass.engine.executions.start import Start, has_conclusion
from windlass.engine.executions.step_rows import StepJob, StepRows, timeout_ms
from windlass.engine.jobs.request import resolve_unknown_commit
from windlass.engine.upcalls import Reservation, Starter
from windlass.errors import InvalidInput, Unavailable
from windlass.limits import (
    ENQUEUE_PART_LOCK_MS,
    EXPRESSION_QUICK_WORK_MAX,
    PLANS_KEPT_MAX,
    SCHEMA_QUICK_WORK_MAX,
)
from windlass.lru import Lru
from windlass.model.json import strict as strict_json
from windlass.model.json.schema import Allowance, TooMuchToCheck
from windlass.model.row import Row
from windlass.model.workflow.execution import complete_input
from windlass.model.workflow.plan import Plan
from windlass.model.workflow.refresh import shard_of
from windlass.store.database import Database, Record, Refused, RowLocked, TooSlow, Unknown
from windlass.store.statements import bind


class RememberedVersion(NamedTuple):
    """The version of a workflow that a start was found to run."""

    workflow: str
    version: int
    is_newest: bool  # it was asked for as the newest, which it may be no more
    digest: bytes


@dataclass(slots=True)
class _Draft:
    """A start with its first steps, decided."""

    start: Start
    facts: Facts  # created at an instant that PostgreSQL is yet to say
    version: RememberedVersion
    input: str  # JSON
    jobs: list[StepJob]


class PlainStarts:
    def __init__(
        self,
        database: Database,
        follow: Callable[[Effects], None],  # after the commit
        starter: Starter | None,  # None: this process runs nothing
    ) -> None:
        self._database = database
        self._follow = follow
        self._starter = starter
        self._versions: Lru[tuple[str, int], RememberedVersion] = Lru(entries_max=PLANS_KEPT_MAX)

    def remember(self, start: Start, version: int, digest: bytes) -> None:
        """What the long way found."""
        asked = (start.workflow, start.version or 0)
        is_newest = start.version is None
        self._versions.put(asked, RememberedVersion(start.workflow, version, is_newest, digest))

    def may_take(self, start: Start) -> bool:
        """Is it worth trying?"""
        if start.parent_job_id or start.concurrency_key or start.quotas:
            return False
        plan = self._plan(start)
        return plan is not None and plan.begins_plainly

    def _plan(self, start: Start) -> Plan | None:
        version = self._versions.get((start.workflow, start.version or 0))
        return None if version is None else plan_known(version.digest)

    async def perform(self, starts: list[Start]) -> list[Row | Exception | None]:
        """Of each the row of its execution, as execution_list has it."""
        drafts = await self._drafts(starts)
        answers = await self._insert(list(drafts.values())) if drafts else {}
        places = {place: draft.facts.execution_id for place, draft in drafts.items()}
        return [
            answers.get(places[place]) if place in places else None for place in range(len(starts))
        ]

    # -- deciding --------------------------------------------------------------------------------

    async def _drafts(self, starts: Sequence[Start]) -> dict[int, _Draft]:
        """Those that are light, right and plain, by their places."""
        drafts: dict[int, _Draft] = {}
        held = 0.0
        for place, start in enumerate(starts):
            allowance = Allowance(SCHEMA_QUICK_WORK_MAX)
            try:
                found, work = self._draft(start, allowance)
            except Exception:  # none of its neighbours' business; the long way says what it is
                found, work = None, 1.0
            if found is not None:
                drafts[place] = found
            held += work + 1 - allowance.left / SCHEMA_QUICK_WORK_MAX
            if held >= 1:
                held = 0.0
                await asyncio.sleep(0)  # everybody else on the loop
        return drafts

    def _draft(self, start: Start, allowance: Allowance) -> tuple[_Draft | None, float]:
        """And how much of what may be done without a pause its expressions took."""
        version, plan = self._versions.get((start.workflow, start.version or 0)), self._plan(start)
        if version is None or plan is None:
            return None, 0.0
        try:
            given = complete_input(plan.definition, start.input, "", allowance)
            text = strict_json.write(given)
        except (InvalidInput, TooMuchToCheck, ValueError):
            return None, 0.0
        own = start.priority
        facts = Facts(
            execution_id=start.execution_id or ids.uuid7(),
            workflow=start.workflow,
            version=version.version,
            created_at=clock.wall(),
            depth=start.depth,
            priority=plan.definition.priority if own is None else own,
            input=given,
            plan=plan,
        )
        board = Board(facts)
        board.begin()
        rows = StepRows.of(board.decide())
        work = 1 - board.quick_left / EXPRESSION_QUICK_WORK_MAX
        if board.heavy or rows.ended or not rows.jobs:
            return None, work
        return _Draft(start, facts, version, text, rows.jobs), work

    # -- inserting -------------------------------------------------------------------------------

    async def _insert(self, drafts: list[_Draft]) -> dict[UUID, Row | Exception]:
        """By the ids of the executions; of one that needs the long way there is no answer."""
        jobs = [job for draft in drafts for job in draft.jobs]
        starter = self._starter
        reservation = None if starter is None else starter.reserve_first(jobs)
        rows: list[Record] = []
        try:
            columns = _columns(drafts, jobs, reservation)
            rows = await self._database.run(
                "execution_start_many", *bind("execution_start_many", columns)
            )
        except (Refused, RowLocked):
            return {}  # one of them, or a key is just being taken: the long way finds out
        except Unknown as trouble:
            if starter is not None and reservation is not None:
                starter.doubt(reservation)
            return {} if isinstance(trouble, TooSlow) else await self._look_for(drafts, trouble)
        finally:
            if starter is not None and reservation is not None:
                started = {row["id"]: row for row in rows if row["started_at"] is not None}
                attempts = [
                    attempt_of_step(job, started[job.job_id], reservation)
                    for job in jobs
                    if job.job_id in started
                ]
                starter.begin(reservation, attempts)
        made = {row["id"]: row for row in rows if row["started_at"] is None}
        begun = [draft for draft in drafts if draft.facts.execution_id in made]
        self._tell(begun, {row["id"] for row in rows if row["started_at"] is not None})
        return {
            draft.facts.execution_id: _row(draft, made[draft.facts.execution_id]) for draft in begun
        }

    async def _look_for(
        self, drafts: list[_Draft], trouble: Unknown
    ) -> dict[UUID, Row | Exception]:
        """What became of a commit whose answer was lost. The ids were made here."""
        asked = [draft.facts.execution_id for draft in drafts]
        answers: dict[UUID, Row | Exception] = dict.fromkeys(asked, trouble)
        try:
            rows = await resolve_unknown_commit(lambda: read_many(self._database, asked))
        except Unavailable:
            return answers
        return answers | rows

    def _tell(self, begun: list[_Draft], started: set[UUID]) -> None:
        effects = Effects(lazy_marks={draft.facts.execution_id for draft in begun})
        for draft in begun:
            for job in draft.jobs:
                if job.job_id not in started:
                    effects.add_line((job.work.queue, job.priority), 0.0)
        self._follow(effects)


def _columns(
    drafts: list[_Draft], jobs: list[StepJob], reservation: Reservation | None
) -> dict[str, Any]:
    plans = {draft.version: draft.facts.plan for draft in drafts}
    versions = {version: place for place, version in enumerate(plans, 1)}
    starts = [draft.start for draft in drafts]
    marks = [start.idempotency for start in starts]
    has_marks = any(marks)
    facts = [draft.facts for draft in drafts]
    owners = [draft for draft in drafts for _ in draft.jobs]
    return {
        "workflow": [version.workflow for version in versions],
        "version": [version.version for version in versions],
        "is_newest": [version.is_newest for version in versions],
        "hash": [version.digest for version in versions],
        "queues": [strict_json.write(list(plans[version].queues)) for version in versions],
        "id": [known.execution_id for known in facts],
        "definition": [versions[draft.version] for draft in drafts],
        "input": [draft.input for draft in drafts],
        "priority": [known.priority for known in facts],
        "shard": [shard_of(known.execution_id) for known in facts],
        "has_conclusion": [has_conclusion(d.facts.plan, d.start) for d in drafts],
        "timeout": [known.plan.definition.timeout_seconds for known in facts],
        "correlation_id": [start.correlation_id for start in starts],
        "trace_id": [start.trace_id for start in starts],
        "owner": [start.owner for start in starts],
        "tags": [strict_json.write(list(start.tags)) if start.tags else None for start in starts],
        "mark_owner": [mark and mark.owner for mark in marks] if has_marks else [],
        "mark_key": [mark and mark.key for mark in marks] if has_marks else [],
        "mark_hash": [mark and mark.body_hash for mark in marks] if has_marks else [],
        "step_id": [job.job_id for job in jobs],
        "step_of": [job.execution_id for job in jobs],
        "step_definition": [versions[draft.version] for draft in owners],
        "step": [job.step for job in jobs],
        "kind": [job.work.kind for job in jobs],
        "queue": [job.work.queue for job in jobs],
        "step_priority": [job.priority for job in jobs],
        "timeout_ms": [timeout_ms(job) for job in jobs],
        "max_attempts": [job.work.max_attempts for job in jobs],
        "retry": [job.work.retry for job in jobs],
        "step_input": [job.decision.input for job in jobs],
        "target": [job.decision.target for job in jobs],
        "task": [job.decision.task for job in jobs],
        "is_foreseen": [job.is_foreseen for job in jobs],
        "step_correlation_id": [draft.start.correlation_id for draft in owners],
        "step_trace_id": [draft.start.trace_id for draft in owners],
        "step_owner": [draft.start.owner for draft in owners],
        "is_marked": [draft.start.idempotency is not None for draft in owners] if has_marks else [],
        "starts": list(reservation.starts) if reservation else [],
        "node_id": reservation.node_id if reservation else None,
        "claim_id": reservation.claim_id if reservation else None,
        "lock_ms": ENQUEUE_PART_LOCK_MS if has_marks else None,
    }


def _row(draft: _Draft, made: Record) -> Mapping[str, Any]:
    """As execution_list has it. From now on its facts are known here."""
    start, facts = draft.start, replace(draft.facts, created_at=made["created_at"])
    keep(facts, draft.input)
    return {
        "id": facts.execution_id,
        "workflow": facts.workflow,
        "version": facts.version,
        "state": "pending",
        "counts": "{}",
        "input": draft.input,
        "output": None,
        "error": None,
        "created_at": facts.created_at,
        "started_at": None,
        "finished_at": None,
        "deadline": made["deadline"],
        "parent_job_id": None,
        "parent_execution_id": None,
        "depth": facts.depth,
        "priority": facts.priority,
        "concurrency_key": None,
        "concurrency_limit": None,
        "correlation_id": start.correlation_id,
        "trace_id": start.trace_id,
        "tags": list(start.tags),
        "paused_at": None,
        "cancel_requested_at": None,
        "refreshed_at": facts.created_at,
        "doom": None,
    }
