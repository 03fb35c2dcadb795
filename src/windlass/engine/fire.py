"""Fire what is due, many schedules at a time.

    lock the due -> which instants? -> what is unfinished? -> decide
        -> enter in the ledger -> make jobs and executions -> move the schedules on

Owns: the statements that make something of a due instant.
Promises: a due instant is decided exactly once, whoever believes that it leads (G6): the schedule
is locked, (schedule, instant) is unique in the ledger, and ledger, job and next instant are one
commit. What cannot be made, because a queue is full or a workflow is gone, is a skipped row with
the reason; it never holds up its neighbours.
Never: asks a node's clock. The database's decides what is due, and how late it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from windlass import ids
from windlass.engine.fire_make import make
from windlass.engine.fired import Fired, FireRules
from windlass.engine.making import Making
from windlass.engine.rules import KnownRule, rule_of
from windlass.limits import (
    FIRE_BATCH,
    FIRE_DECISIONS_MAX,
    OVERLAP_LOOK_MAX,
    POLICIES_KEPT_MAX,
)
from windlass.model.fire_decision import Decision, Misfire, Overlap, Policy, decide
from windlass.model.fire_pending import Pending
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement


@dataclass(slots=True, kw_only=True)
class _Due:
    """A schedule that is locked, and what is due of it."""

    row: Record
    rule: KnownRule
    pending: Pending


async def fire_due(database: Database, rules: FireRules, most: int = FIRE_BATCH) -> Fired:
    """One round. `is_full` says that there may be more."""

    async def work(connection: Connection[Record]) -> Fired:
        rows = await connection.fetch(statement("schedule_due_lock"), most)
        if not rows:
            return Fired()
        fired = await fire_rows(connection, rows, rows[0]["now"], rules)
        fired.is_full = fired.is_full or len(rows) >= most
        return fired

    return await database.together(work)


async def fire_rows(
    connection: Connection[Record],
    rows: Sequence[Record],
    now: datetime,
    rules: FireRules,
    *,
    is_hasty: bool = False,
) -> Fired:
    """Decide all that is due of these schedules, which the caller has locked.

    `is_hasty`: an instant that has come is due now, whatever its jitter.
    """
    due = _due(rows, now, is_hasty)
    beside = await unfinished_of(connection, [one.row for one in due])
    decided = [(one, _decide(one, now, beside.get(one.row["id"], []))) for one in due]
    made = sum(decision.is_made for _, decisions in decided for decision in decisions)
    fresh = iter(ids.uuid7_many(made))
    makings: list[Making] = []
    for one, decisions in decided:
        makings += _makings(one, decisions, beside.get(one.row["id"], []), fresh)
    await enter(connection, makings)
    fired = await make(connection, [one for one in makings if one.is_entered], now, rules)
    await _move_on(connection, due)
    fired.schedules = len(due)
    fired.is_full = len(due) < len(rows)
    return fired


def _due(rows: Sequence[Record], now: datetime, is_hasty: bool) -> list[_Due]:
    """Up to what one transaction decides; the rest of the schedules wait for the next."""
    due: list[_Due] = []
    decisions = 0
    for row in rows:
        known = rule_of(row["rule"], row["name"], row["created_at"])
        found = known.pending(row["id"], row["next_at"], now, is_hasty)
        decisions += len(found.instants)
        if due and decisions > FIRE_DECISIONS_MAX:
            break
        due.append(_Due(row=row, rule=known, pending=found))
    return due


def _makings(
    one: _Due, decisions: Sequence[Decision], left: Sequence[Record], fresh: Iterator[UUID]
) -> list[Making]:
    makings = arranged(one.row, decisions, left, fresh)
    if one.rule.rule.jitter_seconds:
        for making in makings:
            instant = making.decision.instant
            goes_at = one.rule.fire_at(one.row["id"], instant)
            making.jitter_seconds = (goes_at - instant).total_seconds()
    return makings


def _decide(one: _Due, now: datetime, left: Sequence[Record]) -> list[Decision]:
    row = one.row
    jitter = one.rule.rule.jitter_seconds
    policy = _policy(row["overlap"], row["misfire"], row["catchup"], jitter, row["resumed_at"])
    names = [shown(found) for found in left]
    return decide(one.pending.instants, now, policy, older=one.pending.older, unfinished=names)


@lru_cache(maxsize=POLICIES_KEPT_MAX)
def _policy(
    overlap: Overlap,
    misfire: Misfire,
    catchup_seconds: float | None,
    jitter_seconds: float,
    resumed_at: datetime | None,
) -> Policy:
    return Policy(
        overlap=overlap,
        misfire=misfire,
        catchup_seconds=catchup_seconds,
        jitter_seconds=jitter_seconds,
        resumed_at=resumed_at,
    )


def arranged(
    row: Record, decisions: Sequence[Decision], left: Sequence[Record], fresh: Iterator[UUID]
) -> list[Making]:
    """The decisions of one schedule, each with a fresh id and what it waits for."""
    before = (left[0]["job_id"] or left[0]["execution_id"]) if left else None
    makings = []
    for decision in decisions:
        one = Making(row=row, decision=decision, beside=left)
        if decision.is_made:
            one.made_id = next(fresh)
            one.behind = before if decision.waits else None
            before = one.made_id
        makings.append(one)
    return makings


async def unfinished_of(
    connection: Connection[Record], rows: Sequence[Record]
) -> dict[UUID, list[Record]]:
    """What schedules that mind have made and what has not ended, newest first."""
    minding = [row["id"] for row in rows if row["overlap"] != "allow"]
    found: dict[UUID, list[Record]] = {}
    if minding:
        for left in await connection.fetch(
            statement("schedule_unfinished_many"), minding, OVERLAP_LOOK_MAX
        ):
            found.setdefault(left["schedule_id"], []).append(left)
    return found


def shown(left: Record) -> str:
    if left["job_id"] is not None:
        return ids.show("job", left["job_id"])
    return ids.show("execution", left["execution_id"])


async def enter(
    connection: Connection[Record], makings: Sequence[Making], *, is_asked: bool = False
) -> None:
    """Into the ledger, all of them, under the ids that their jobs and executions will have."""
    decisions = [one.decision for one in makings]
    entered = await connection.fetch(
        statement("firing_insert_many"),
        [one.row["id"] for one in makings],
        [decision.instant for decision in decisions],
        [one.job_id for one in makings],
        _some([one.execution_id for one in makings]),
        [decision.state for decision in decisions],
        _some([decision.reason for decision in decisions]),
        [d.stands_for for d in decisions] if any(d.stands_for > 1 for d in decisions) else [],
        is_asked,
    )
    there = {(row["schedule_id"], row["instant"]) for row in entered}
    is_all = len(there) == len(makings)  # nearly always
    for one in makings:
        one.is_entered = is_all or (one.row["id"], one.decision.instant) in there


async def _move_on(connection: Connection[Record], due: Sequence[_Due]) -> None:
    nexts = [one.pending.next_at for one in due]
    await connection.fetch(
        statement("schedule_fired_many"),
        [one.row["id"] for one in due],
        [one.pending.instants[-1] for one in due],
        nexts,
        [
            None if next_at is None else one.rule.fire_at(one.row["id"], next_at)
            for one, next_at in zip(due, nexts, strict=True)
        ],
    )


def _some(column: list[Any]) -> list[Any]:
    """A column that says nothing is sent empty."""
    return column if any(value is not None for value in column) else []
