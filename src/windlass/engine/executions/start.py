"""Start executions of workflows, many at a time: prepare (definition, input, key), then begin.

Promises: an answer means committed: the execution and the jobs of its first steps, or that it waits
for its turn (G1). A new execution runs the newest version that PostgreSQL knows: that a definition
is cached decides nothing here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias
from uuid import UUID

from windlass import ids
from windlass.engine.effects import Effects
from windlass.engine.executions.board import Board
from windlass.engine.executions.concurrency import Turn, take_turns
from windlass.engine.executions.decide_apart import HeavyStarts, checked_apart
from windlass.engine.executions.facts import learn, plan_known, remember
from windlass.engine.executions.progress import decide_boards
from windlass.engine.executions.tree import check_ancestors, count_descendant
from windlass.engine.idempotency import recall
from windlass.engine.jobs.end import child_cancelled_early, end_awaited
from windlass.engine.jobs.request import Idempotency
from windlass.engine.locks.grant import take_locks
from windlass.errors import InvalidInput, NotFound, WindlassError
from windlass.limits import (
    ENQUEUE_LOCK_MS,
    EXECUTION_TREE_MAX,
    EXPRESSION_KEY_WORK_MAX,
    EXPRESSION_QUICK_WORK_MAX,
    KEY_CHARS_MAX,
    SCHEMA_QUICK_WORK_MAX,
)
from windlass.model.expression import Run, Unanswerable
from windlass.model.identity.quota import SubjectQuota
from windlass.model.json import strict as strict_json
from windlass.model.json.schema import Allowance, TooMuchToCheck
from windlass.model.workflow.definition import Concurrency
from windlass.model.workflow.execution import complete_input, filled_input, refuse
from windlass.model.workflow.plan import Plan
from windlass.model.workflow.refresh import shard_of
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(slots=True, kw_only=True)
class Start:
    """An execution that somebody asked for."""

    workflow: str
    version: int | None = None  # None: the newest
    input: Mapping[str, Any] = field(default_factory=dict)
    priority: int | None = None  # None: the definition's
    parent_job_id: UUID | None = None  # the step that waits for it
    parent_id: UUID | None = None  # the execution of that step
    depth: int = 0
    tree_max: int = EXECUTION_TREE_MAX  # executions below one root
    correlation_id: str | None = None
    trace_id: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    idempotency: Idempotency | None = None
    # Of jobs a day, that whoever asks is held to; asked where starts come one by one
    quotas: tuple[SubjectQuota, ...] = ()
    execution_id: UUID | None = None  # None: a fresh one
    # One at a time of this key, the next waits; where the definition has none. None: as that says
    concurrency_key: str | None = None


class Weight(Enum):
    """Whether what users wrote may take longer than the loop can be held up (see decide_apart)."""

    ANY = "any"
    LIGHT = "light"  # who takes longer is refused, and waits among its like
    HEAVY = "heavy"  # it is known to; nothing but paths is evaluated on the loop


# Runs a statement by name.
Fetch: TypeAlias = Callable[..., Awaitable[list[Record]]]


@dataclass(slots=True, kw_only=True)
class Started:
    execution_ids: list[UUID]  # of one whose step has its child, or waits no more: none
    effects: Effects = field(default_factory=Effects)
    is_replayed: bool = False  # the same Idempotency-Key was answered before


@dataclass(slots=True, kw_only=True)
class Prepared:
    """A start with everything that is decided before the transaction."""

    start: Start
    execution_id: UUID
    version: int
    digest: bytes
    plan: Plan
    input: str
    key: str | None  # of its concurrency; None: it waits for no other
    concurrency: Concurrency | None
    root_id: UUID | None = None  # known when its ancestors were asked; None: it has none


async def start_many(
    database: Database, starts: Sequence[Start], *, is_patient: bool = True
) -> Started:
    """Start them all or none. Raises NotFound, InvalidInput, what its policy refuses, and of a
    child TreeFull and AncestorEnded. One that `is_patient` waits for rows that others hold; who is
    not raises RowLocked.
    """
    drafts = []
    for found in await prepare(database.run, starts):
        if isinstance(found, WindlassError):
            raise found
        drafts.append(found)
    queues = sorted({queue for draft in drafts for queue in draft.plan.queues})
    await database.run("queue_ensure_many", queues, ENQUEUE_LOCK_MS)

    async def work(connection: Connection[Record]) -> Started:
        mark = starts[0].idempotency if starts else None
        replayed = await recall(connection, mark, [draft.execution_id for draft in drafts])
        if replayed is not None:
            return Started(execution_ids=replayed, is_replayed=True)
        return await begin(connection, drafts)

    return await (database.together if is_patient else database.settle_together)(work)


async def prepare(
    fetch: Fetch,
    starts: Sequence[Start],
    *,
    is_batch: bool = True,
    weight: Weight = Weight.ANY,
) -> list[Prepared | WindlassError]:
    """Each with its definition, or why it cannot be started: NotFound, InvalidInput; of those that
    must be light HeavyStarts.

    `is_batch`: a problem names the place of its start among them.
    """
    named = sorted({(start.workflow, start.version or 0) for start in starts})
    rows = await fetch(
        "workflow_version_find", [name for name, _ in named], [version for _, version in named]
    )
    found = {(row["workflow"], row["asked"]): row for row in rows}
    plans = {row["hash"]: plan for row in rows if (plan := plan_known(row["hash"])) is not None}
    missing = [(row["workflow"], row["version"]) for row in rows if row["hash"] not in plans]
    if missing:
        columns = [name for name, _ in missing], [version for _, version in missing]
        for row in await fetch("definition_get_many", *columns):
            plans[row["hash"]] = await learn(row["hash"], row["definition"])
    drafts: list[Prepared | WindlassError] = []
    held = 0
    for place, start in enumerate(starts):
        asked = (start.workflow, start.version or 0)
        if asked not in found:
            said = start.workflow if start.version is None else f"{start.workflow} {start.version}"
            drafts.append(NotFound("workflow", said))
            continue
        row = found[asked]
        at = f"/{place}" if is_batch and len(starts) > 1 else ""
        allowance = Allowance(0 if weight is Weight.HEAVY else SCHEMA_QUICK_WORK_MAX)
        try:
            given = await _checked(plans[row["hash"]], start, at, allowance, weight)
            drafts.append(_drafted(start, row, plans[row["hash"]], given, at))
        except (InvalidInput, HeavyStarts) as trouble:
            drafts.append(trouble)
        held += SCHEMA_QUICK_WORK_MAX - allowance.left
        if held >= SCHEMA_QUICK_WORK_MAX:
            held = 0
            await asyncio.sleep(0)  # everybody else on the loop
    return drafts


async def _checked(plan: Plan, start: Start, at: str, allowance: Allowance, weight: Weight) -> Any:
    """Its input, whole. Raises InvalidInput, HeavyStarts."""
    try:
        return complete_input(plan.definition, start.input, at, allowance)
    except TooMuchToCheck:
        if weight is Weight.LIGHT:
            raise HeavyStarts(set()) from None
    given = filled_input(plan.definition, start.input)
    refuse(await checked_apart(given, plan.definition.inputs), at)
    return given


def _drafted(start: Start, row: Record, plan: Plan, given: Any, at: str) -> Prepared:
    try:
        text = strict_json.write(given)
    except ValueError as trouble:
        raise InvalidInput.at(f"{at}/input", str(trouble)) from None
    key, concurrency = _key(plan, given, at), plan.definition.concurrency
    if key is None and start.concurrency_key is not None:
        key, concurrency = start.concurrency_key, Concurrency(key=start.concurrency_key)
    return Prepared(
        start=start,
        execution_id=start.execution_id or ids.uuid7(),
        version=row["version"],
        digest=row["hash"],
        plan=plan,
        input=text,
        key=key,
        concurrency=concurrency,
    )


def _key(plan: Plan, given: Mapping[str, Any], at: str) -> str | None:
    if plan.concurrency_key is None:
        return None
    try:
        scope = {"inputs": given, "vars": plan.vars}
        said = plan.concurrency_key.fill(scope, Run(scope, EXPRESSION_KEY_WORK_MAX))
    except Unanswerable as trouble:
        raise InvalidInput.at(f"{at}/input", f"gives no concurrency key: {trouble}") from None
    key = said if isinstance(said, str) else strict_json.write(said)
    if len(key) > KEY_CHARS_MAX:
        said = f"gives a concurrency key of {len(key)} letters; at most {KEY_CHARS_MAX} are allowed"
        raise InvalidInput.at(f"{at}/input", said)
    return key


async def begin(
    connection: Connection[Record],
    drafts: Sequence[Prepared],
    *,
    is_divisible: bool = False,
    weight: Weight = Weight.ANY,
) -> Started:
    """In the caller's transaction. For `is_divisible` see progress.decide_boards. Raises
    HeavyStarts of those that must be light.
    """
    decided = await take_turns(
        connection,
        [(draft.start.workflow, draft.key, draft.concurrency) for draft in drafts],
    )
    effects = decided.effects
    wanted = await _wanted(connection, drafts)
    chosen = [
        (draft, turn)
        for draft, turn in zip(drafts, decided.turns, strict=True)
        if draft.execution_id in wanted
    ]
    for draft, _ in chosen:
        if draft.start.parent_id is not None:
            draft.root_id = await check_ancestors(connection, draft.start.parent_id)
    inserted = await connection.fetch(statement("execution_insert_many"), *_columns(chosen))
    made = {row["id"]: row["created_at"] for row in inserted}
    for draft, _ in chosen:
        if draft.root_id is not None and draft.execution_id in made:
            await count_descendant(connection, draft.root_id, draft.start.tree_max)
    boards: dict[UUID, Board] = {}
    quick = 0 if weight is Weight.HEAVY else EXPRESSION_QUICK_WORK_MAX
    for draft, turn in chosen:
        if draft.execution_id not in made:
            continue
        if turn.word == "begin":
            board = Board(_facts(draft, made[draft.execution_id]), quick)
            board.begin()
            boards[draft.execution_id] = board
        elif turn.word == "skip":
            effects.add(await _skipped(connection, draft))
    # Even one that ends as it begins, all its steps being skipped, gets refreshed.
    effects.urgent_marks |= set(boards)
    is_light = weight is Weight.LIGHT
    await decide_boards(connection, boards, effects, is_divisible=is_divisible, is_light=is_light)
    await take_locks(connection, effects)
    return Started(execution_ids=list(made), effects=effects)


async def _wanted(connection: Connection[Record], drafts: Sequence[Prepared]) -> set[UUID]:
    """Those that nobody waits for, and those that somebody still does."""
    steps = [draft.start.parent_job_id for draft in drafts if draft.start.parent_job_id is not None]
    waiting: set[UUID | None] = {None}
    if steps:
        rows = await connection.fetch(statement("step_hold_waiting"), steps)
        waiting |= {row["id"] for row in rows}
    return {draft.execution_id for draft in drafts if draft.start.parent_job_id in waiting}


async def _skipped(connection: Connection[Record], draft: Prepared) -> Effects:
    effects = Effects(ended={draft.execution_id: "cancelled"})
    if draft.start.parent_job_id is not None:
        outcome = child_cancelled_early(draft.execution_id, "skipped")
        effects.add(await end_awaited(connection, {draft.start.parent_job_id: outcome}))
    return effects


def _facts(draft: Prepared, created_at: Any) -> Any:
    row = {
        "id": draft.execution_id,
        "workflow": draft.start.workflow,
        "version": draft.version,
        "created_at": created_at,
        "depth": draft.start.depth,
        "priority": _priority(draft),
        "input": draft.input,
    }
    return remember(row, draft.plan)


def _columns(chosen: Sequence[tuple[Prepared, Turn]]) -> list[list[Any]]:
    drafts = [draft for draft, _ in chosen]
    starts = [draft.start for draft in drafts]
    definitions = [draft.plan.definition for draft in drafts]
    return [
        [draft.execution_id for draft in drafts],
        [start.workflow for start in starts],
        [draft.version for draft in drafts],
        [draft.input for draft in drafts],
        [_priority(draft) for draft in drafts],
        [shard_of(draft.execution_id) for draft in drafts],
        [start.depth for start in starts],
        [has_conclusion(draft.plan, draft.start) for draft in drafts],
        [known.timeout_seconds for known in definitions],
        [draft.key for draft in drafts],
        [draft.concurrency.limit if draft.concurrency else None for draft in drafts],
        [start.parent_job_id for start in starts],
        [start.correlation_id for start in starts],
        [start.trace_id for start in starts],
        [start.owner for start in starts],
        [strict_json.write(list(start.tags)) if start.tags else None for start in starts],
        [turn.word == "begin" for _, turn in chosen],
        [_why_skipped(turn) for _, turn in chosen],
        [draft.root_id for draft in drafts],
    ]


def _priority(draft: Prepared) -> int:
    own = draft.start.priority
    return draft.plan.definition.priority if own is None else own


def _why_skipped(turn: Turn) -> str | None:
    if turn.word != "skip":
        return None
    running = None if turn.behind is None else ids.show("execution", turn.behind)
    said = "as many as may run with its concurrency key did"
    return strict_json.write({"cause": "skipped", "message": said, "execution_id": running})


def has_conclusion(plan: Plan, start: Start) -> bool:
    """Is there more to its end than a state?"""
    return (
        plan.output is not None
        or plan.has_undo
        or plan.concurrency_key is not None
        or start.parent_job_id is not None
        or start.concurrency_key is not None
    )
