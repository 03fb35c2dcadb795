"""One batch of a bulk operation, by whichever node comes first.

    take the operation's row (SKIP LOCKED) -> find the next jobs -> lock those that are free
    -> the verb on them -> where it is now, and what it has counted
    '------------------------- one transaction --------------------------'

The row is the claim: a node that dies in the middle of a batch has done nothing of it, and whoever
takes the row next finds the cursor before it. There is no lease to lapse and nothing to clean up.

Jobs that somebody else holds are passed by and put on a list (`bulk_job`), which is gone through
again at the end, BULK_ROUNDS_MAX times. Where the verb itself has to wait for what somebody holds
(a child, an execution), nothing was done, and the batch is tried again without those that are held,
if that can be said, and else in smaller ones, down to the one job that it is about.

Promises: each job is done once, or counted with a reason; nobody is waited for longer than a
moment; a paced operation begins no batch before the rate has room for the one before.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final, assert_never
from uuid import UUID

import structlog

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.executions.replay_steps import SeenEnd
from windlass.engine.jobs.bulk import (
    BulkConditions,
    conditions_of,
    filled_in,
    filter_from,
    table_of,
)
from windlass.engine.jobs.cancel import cancel_in
from windlass.engine.jobs.replay import delete_in, promote_in, replay_in
from windlass.errors import Unavailable
from windlass.limits import (
    BULK_BATCH_MAX,
    BULK_FAILED_SECONDS,
    BULK_LEFT_SHOWN_MAX,
    BULK_OPEN_MAX,
    BULK_PACE_SECONDS,
    BULK_REST_SECONDS,
    BULK_REST_SECONDS_MAX,
    BULK_ROUNDS_MAX,
    BULK_WINDOW_MAX,
    BULK_WINDOW_MIN,
    CHILDREN_TOLD_MAX,
)
from windlass.model.job.bulk import BulkOperation, BulkPhase, bulk_from
from windlass.store.database import Connection, Database, Record, RowLocked, TooSlow
from windlass.store.statements import bind, statement

log = structlog.get_logger()

HELD: Final = "somebody else held it for as long as it was tried; do it again later"
ENOUGH: Final = "it has done as many as were asked for"


@dataclass(slots=True)
class Pace:
    """How this node goes about one operation; another finds out for itself."""

    size: int = field(default_factory=lambda: BULK_BATCH_MAX)
    window: int = field(default_factory=lambda: BULK_WINDOW_MIN)
    held: set[UUID] = field(default_factory=set)  # their end or return needs what somebody holds
    failing: dict[UUID, str] = field(default_factory=dict)  # and of these it fails, for this reason
    tried: list[UUID] = field(default_factory=list)  # the last batch, done or not

    def went_well(self, *, is_full: bool) -> None:
        self.size = min(self.size * 2, BULK_BATCH_MAX)
        grown = self.window // 2 if is_full else self.window * 4
        self.window = max(BULK_WINDOW_MIN, min(grown, BULK_WINDOW_MAX))
        self.held.clear()
        self.failing.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The next jobs that it comes to."""

    job_ids: list[UUID]
    looked: int
    cursor: UUID | None  # behind them
    is_last: bool  # there are no more in this round


@dataclass(slots=True, kw_only=True)
class Outcomes:
    """What became of the jobs of a batch."""

    done: set[UUID] = field(default_factory=set)
    refused: dict[UUID, str] = field(default_factory=dict)
    gone: set[UUID] = field(default_factory=set)
    held: set[UUID] = field(default_factory=set)
    effects: Effects = field(default_factory=Effects)


class BulkBatches:
    """A node's part in all bulk operations."""

    def __init__(self, database: Database, tell: Callable[[Effects], None]) -> None:
        self._database = database
        self._tell = tell  # hears what came of each batch, after its commit
        self._paces: OrderedDict[UUID, Pace] = OrderedDict()

    async def due_seconds(self) -> float | None:
        """Until the next batch of any operation is due. None: none is open."""
        rows = await self._database.settle("bulk_due")
        return rows[0]["seconds"] if rows else None

    async def work(self) -> bool:
        """One batch of the operation that has waited for longest. False: none was to be had."""
        taken: list[BulkOperation] = []  # of each try; the last counts
        try:
            effects = await self._database.settle_asked(partial(self._batch, taken))
        except Exception as trouble:
            is_held = isinstance(trouble, RowLocked | TooSlow)
            if not taken or (isinstance(trouble, Unavailable) and not is_held):
                raise
            await self._take_apart(taken[-1], trouble, is_held=is_held)
            return True
        if effects is None:
            return False
        self._tell(effects)
        return True

    def _pace(self, operation_id: UUID) -> Pace:
        pace = self._paces.setdefault(operation_id, Pace())
        self._paces.move_to_end(operation_id)
        while len(self._paces) > BULK_OPEN_MAX:
            self._paces.popitem(last=False)
        return pace

    async def _take_apart(
        self, operation: BulkOperation, trouble: Exception, *, is_held: bool
    ) -> None:
        """The batch came to nothing: do it again without those who are the trouble, or in parts."""
        pace = self._pace(operation.id)
        if not pace.tried:  # it is nobody's: the others have their turn
            await self._database.settle("bulk_put_off", operation.id, BULK_FAILED_SECONDS)
            raise trouble
        if is_held and (more := await self._held_of(operation, pace.tried) - pace.held):
            pace.held |= more
        elif len(pace.tried) > 1:
            pace.size = max(1, len(pace.tried) // 4)
        elif is_held:
            pace.held |= set(pace.tried)
        else:
            job, shown = ids.show("job", pace.tried[0]), ids.show("operation", operation.id)
            log.error("bulk_job_failed", operation=shown, job=job, exc_info=trouble)
            pace.failing[pace.tried[0]] = str(trouble) or type(trouble).__name__

    async def _held_of(self, operation: BulkOperation, job_ids: list[UUID]) -> set[UUID]:
        if operation.rule.is_of_ended:
            rows = await self._database.settle("bulk_held_steps", job_ids)
        else:
            rows = await self._database.settle("job_end_held_many", job_ids, CHILDREN_TOLD_MAX)
        return {row["id"] for row in rows}

    # -- in the transaction ----------------------------------------------------------------------

    async def _batch(
        self, taken: list[BulkOperation], connection: Connection[Record]
    ) -> Effects | None:
        rows = await connection.fetch(statement("bulk_take"))
        if not rows:
            return None
        operation = bulk_from(rows[0])
        taken.append(operation)
        pace = self._pace(operation.id)
        pace.tried = []
        size = _size(operation, pace.size)
        found = await _find(connection, operation, size, pace.window)
        outcomes = await _do(connection, operation, found.job_ids, pace)
        await _say(connection, operation, found, outcomes, rows[0]["taken_at"])
        pace.went_well(is_full=len(found.job_ids) >= size)
        return outcomes.effects


def _size(operation: BulkOperation, size: int) -> int:
    if operation.rate is not None:
        size = min(size, max(1, int(operation.rate * BULK_PACE_SECONDS)))
    if operation.most is not None:
        size = min(size, operation.most - operation.done)
    return size


def _conditions(operation: BulkOperation, own: int, after: UUID | None = None) -> BulkConditions:
    which = filter_from(operation.filter)
    return conditions_of(operation.verb, which, operation.asked_at, own=own, after=after)


async def _find(
    connection: Connection[Record], operation: BulkOperation, size: int, window: int
) -> Found:
    if operation.round > 0:
        columns = operation.id, operation.cursor, size
        rows = await connection.fetch(statement("bulk_listed"), *columns)
        listed = [row["job_id"] for row in rows]
        return Found(
            job_ids=listed,
            looked=len(listed) if operation.round == 1 and operation.named is not None else 0,
            cursor=listed[-1] if listed else operation.cursor,
            is_last=len(listed) < size,
        )
    conditions = _conditions(operation, 2, operation.cursor)
    sql = filled_in(f"bulk_find_{table_of(operation.verb)}", conditions)
    window = max(window, size)
    [row] = await connection.fetch(sql, window, size, *conditions.values)
    if len(row["ids"]) == size:  # there may be more that match behind it in this window
        return Found(job_ids=row["ids"], looked=size, cursor=row["ids"][-1], is_last=False)
    return Found(
        job_ids=row["ids"],
        looked=row["looked"],
        cursor=row["last_id"] or operation.cursor,
        is_last=row["looked"] < window,
    )


async def _do(
    connection: Connection[Record], operation: BulkOperation, job_ids: list[UUID], pace: Pace
) -> Outcomes:
    outcomes = Outcomes()
    if not job_ids:
        return outcomes
    outcomes.held |= pace.held & set(job_ids)
    outcomes.refused |= {one: pace.failing[one] for one in job_ids if one in pace.failing}
    asked = [one for one in job_ids if one not in outcomes.held and one not in outcomes.refused]
    conditions = _conditions(operation, 1)
    table, values = table_of(operation.verb), conditions.where_values
    rows = await connection.fetch(filled_in(f"bulk_hold_{table}", conditions), asked, *values)
    free = [row["id"] for row in rows]
    if missed := set(asked).difference(free):
        sql = filled_in(f"bulk_match_{table}", conditions)
        match = {row["id"] for row in await connection.fetch(sql, sorted(missed), *values)}
        outcomes.held |= match
        outcomes.gone |= missed - match
    pace.tried = free
    if free:
        await _verb(connection, operation, free, outcomes)
        outcomes.gone |= set(free) - outcomes.done - outcomes.refused.keys()
    if operation.round >= BULK_ROUNDS_MAX:
        outcomes.refused |= dict.fromkeys(outcomes.held, HELD)
        outcomes.held.clear()
    return outcomes


async def _verb(
    connection: Connection[Record],
    operation: BulkOperation,
    job_ids: Sequence[UUID],
    outcomes: Outcomes,
) -> None:
    """On jobs that this transaction holds."""
    effects = outcomes.effects
    seen = SeenEnd(by=operation.asked_at)
    match operation.verb:
        case "cancel":
            effects.add(await cancel_in(connection, job_ids))
            cancelled = {one for one, state in effects.ended.items() if state == "cancelled"}
            outcomes.done |= set(job_ids) & (cancelled | effects.stopping.keys())
        case "promote":
            effects.due += await promote_in(connection, job_ids)
            outcomes.done |= {row["id"] for row in effects.due}
        case "retry" | "replay":
            rows, refused = await replay_in(connection, job_ids, seen)
            effects.due += rows
            effects.urgent_marks |= {row["execution_id"] for row in rows if row["execution_id"]}
            outcomes.done |= {row["id"] for row in rows}
            outcomes.refused |= {one: str(why) for one, why in refused.items()}
        case "delete" | "discard":
            rows = await delete_in(connection, job_ids, seen)
            outcomes.done |= {row["id"] for row in rows}
            why = "it is a step of an execution that goes on"
            outcomes.refused |= {one: why for one in job_ids if one not in outcomes.done}
        case _ as never:
            assert_never(never)


async def _say(
    connection: Connection[Record],
    operation: BulkOperation,
    found: Found,
    outcomes: Outcomes,
    taken_at: datetime,
) -> None:
    held = operation.held + len(outcomes.held)
    off_list: list[UUID] = []
    if operation.round > 0:
        off_list = [one for one in found.job_ids if one not in outcomes.held]
        if operation.round > 1 or operation.named is None:  # all of the list were held before
            held = operation.held - len(off_list)
    phase: BulkPhase = "working"
    round_, cursor, rest, reason = operation.round, found.cursor, 0.0, None
    done = len(outcomes.done)
    if operation.most is not None and operation.done + done >= operation.most:
        phase, reason = "done", ENOUGH
    elif found.is_last and held == 0:
        phase = "done"
    elif found.is_last:
        round_, cursor = operation.round + 1, None
        rest = min(BULK_REST_SECONDS * 2.0**operation.round, BULK_REST_SECONDS_MAX)
    spent = done + len(outcomes.refused)
    values = {
        "id": operation.id,
        "phase": phase,
        "round": round_,
        "cursor": cursor,
        "looked": found.looked,
        "done": done,
        "refused": len(outcomes.refused),
        "gone": len(outcomes.gone),
        "held": held,
        "left_jobs": _left_jobs(operation, outcomes),
        "reason": reason,
        "next_at": taken_at + timedelta(seconds=spent / operation.rate if operation.rate else 0.0),
        "rest": rest,
        "off_list": off_list,
        "on_list": sorted(outcomes.held) if operation.round == 0 else [],
    }
    await connection.fetch(statement("bulk_step"), *bind("bulk_step", values))
    if phase == "done":
        await record(connection, _ended(operation, outcomes, reason))


def _ended(operation: BulkOperation, outcomes: Outcomes, reason: str | None) -> Entry:
    """What came of it, beside the entry of who asked for it."""
    done = operation.done + len(outcomes.done)
    return Entry(
        action="bulk.end",
        id=ids.show("operation", operation.id),
        name=operation.verb,
        after={
            "asked_by": operation.asked_by,
            "filter": operation.filter,
            "done": done,
            "refused": operation.refused + len(outcomes.refused),
            "gone": operation.gone + len(outcomes.gone),
        },
        note=reason,
        count=done,
    )


def _left_jobs(operation: BulkOperation, outcomes: Outcomes) -> str:
    """The first that were refused."""
    room = BULK_LEFT_SHOWN_MAX - len(operation.left_jobs)
    more = [
        {"id": ids.show("job", one), "reason": why}
        for one, why in islice(outcomes.refused.items(), max(room, 0))
    ]
    return json.dumps([*operation.left_jobs, *more])
