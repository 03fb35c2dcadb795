"""Grant locks: every change of who holds a lock, who waits for it, and whose turn comes next.

Owns: the rows of locks, holds and waiters, in the caller's transaction.

    hold the locks' rows -> take away what is over -> read capacity and waiters -> turns -> grant

Three occasions lead to `grant_next`:
  release    jobs have ended, and others come to want their locks. Both at once, because a
             transaction that ends one step of an execution often inserts the next: rows of locks
             are asked for by one statement, in one order. Costs nothing where nobody has locks.
  acquire    a caller of the API takes or gives back a lock (engine.locks.acquire).
  grant_due  time has brought something about: holds that expire, callers that give up, jobs that
             are due later, and whoever could not be given its turn because somebody had its row in
             hand. Idempotent; any node may do it at any time. A node does when it knows of
             something (runtime.duties), and along with its rescue (engine.jobs.rescue), which is
             how it comes to know.

Promises: never more holds than capacity, whoever asks at once: they are counted under the lock's
row, and rows are asked for in one order. What a job held goes to the next waiter in the very
transaction that ends it. Nobody whose turn it is waits once the transaction commits, or
`Effects.look_seconds` says by when somebody has to look. A lock whose row somebody holds keeps
neither the others nor the rescue waiting: a round waits for SIFT_WAITS_MAX of them at most, and the
next one begins behind the last that was looked at.
Never: waits for the row of a job. Rows of locks are the last that a transaction asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog

from windlass.engine.effects import Effects
from windlass.limits import (
    HELD_REST_SECONDS_MAX,
    LIMIT_LOOK_SECONDS_MIN,
    LOCK_AGAIN_SECONDS,
    LOCK_LEAD_SECONDS,
    LOCK_LOOK_SECONDS,
    LOCK_PATIENCE_SECONDS,
    LOCK_WAITERS_READ_MAX,
    LOCKS_LATE_MAX,
    SIFT_WAITS_MAX,
)
from windlass.model.job.limit import PREFIX as LIMIT_PREFIX
from windlass.model.job.lock import Grants, Waiter, decide_grants
from windlass.store.database import Connection, Database, Record, RowLocked
from windlass.store.statements import statement

log = structlog.get_logger()

# The lock that was looked at last, where they are looked at one by one.
_last: Final[WeakKeyDictionary[Database, str]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to locks."""

    freed: Collection[str] = ()  # of these more may be free than was
    entered: Collection[str] = ()  # somebody came who may go at once
    leaving: Sequence[UUID] = ()  # jobs that have ended, tickets that are given up
    tokens: Sequence[int] = ()  # holds that callers give back
    lapsed: Sequence[str] = ()  # holds of these may have run out of time
    late: Sequence[UUID] = ()  # waiters that somebody had to look at
    newcomers: Sequence[UUID] = ()  # jobs that may be the first to wait: what their limits allow
    waiters_max: int = LOCK_WAITERS_READ_MAX  # how many of each wait list are read at a time


async def release(
    connection: Connection[Record], ended: Sequence[Record], effects: Effects
) -> None:
    """Give on what jobs held that have ended (rows with id and locks), and let those take their
    turn that were parked for `lock`. The last that a transaction does.
    """
    leaving = [row for row in ended if row["locks"]]
    entering, effects.parked_for_lock = effects.parked_for_lock, []
    if not leaving and not entering:
        return
    entered = await enter_wait_lists(connection, entering)
    change = Change(
        freed={name for row in leaving for name in row["locks"]},
        entered=entered.due,
        leaving=[row["id"] for row in leaving],
        newcomers=entering,
        waiters_max=LOCK_WAITERS_READ_MAX + len(leaving) + len(entering),
    )
    await grant_next(connection, change, effects)
    effects.look_in(entered.look_seconds)


async def take_locks(connection: Connection[Record], effects: Effects) -> None:
    """The same where no job has ended."""
    await release(connection, [], effects)


async def enter_wait_lists(
    connection: Connection[Record], job_ids: Sequence[UUID]
) -> WaitListEntry:
    """Put jobs that are parked for their locks into the wait lists of these. Their turn comes with
    `grant_next`, which the caller sees to.
    """
    entered = WaitListEntry()
    if not job_ids:
        return entered
    rows = await connection.fetch(
        statement("lock_enter_many"), list(job_ids), LOCK_LEAD_SECONDS, False
    )
    entered.due = {row["lock"] for row in rows if row["due_seconds"] is None}
    later = [row["due_seconds"] for row in rows if row["due_seconds"] is not None]
    entered.look_seconds = min(later, default=None)
    return entered


async def queue_for_limits(connection: Connection[Record], job_ids: Sequence[UUID]) -> Effects:
    """The same for jobs that want nothing but limits, and their turn comes with the next look: the
    row of a limit that many share is waited for by nobody who submits a job.
    """
    rows = await connection.fetch(
        statement("lock_enter_many"), list(job_ids), LOCK_LEAD_SECONDS, True
    )
    effects = Effects()
    for row in rows:
        effects.look_in(None if row["due_seconds"] is None else max(0.0, row["due_seconds"]))
    return effects


@dataclass(slots=True)
class WaitListEntry:
    due: set[str] = field(default_factory=set)  # locks for which somebody may go at once
    look_seconds: float | None = None  # until the first of the others is due; None: all are


async def grant_due(database: Database) -> Effects:
    """One round, in transactions of its own."""
    try:
        return await database.settle_together(grant_due_in, lock_seconds=LOCK_LOOK_SECONDS)
    except RowLocked:
        return await _grant_due_one_by_one(database)


async def _grant_due_one_by_one(database: Database) -> Effects:
    """Somebody holds one of them: the others by themselves."""
    late = await database.settle("lock_late_names", _last.get(database, ""), LOCKS_LATE_MAX)
    effects, held = Effects(), 0
    for name in [row["lock"] for row in late]:
        _last[database] = name
        try:
            work = partial(grant_due_in, name=name)
            effects.add(await database.settle_together(work, lock_seconds=LOCK_LOOK_SECONDS))
        except RowLocked:
            held += 1
            if held == SIFT_WAITS_MAX:
                break
    log.debug("locks_held", count=held)
    effects.look_in(HELD_REST_SECONDS_MAX)
    return effects


async def grant_due_in(connection: Connection[Record], name: str | None = None) -> Effects:
    """In the caller's transaction; with a name, of this lock alone. `look_seconds` of the answer
    says when there is something to see again; None: never.
    """
    (late,) = await connection.fetch(statement("lock_late"), LOCKS_LATE_MAX, name)
    lapsed, locks = late["lapsed"], late["locks"]
    effects = Effects()
    if lapsed or locks:
        change = Change(
            freed={*lapsed, *locks},
            entered=locks,
            lapsed=lapsed,
            late=late["waiters"],
            newcomers=late["waiters"],
            waiters_max=LOCK_WAITERS_READ_MAX + len(late["waiters"]),
        )
        await grant_next(connection, change, effects)
    effects.look_in(late["next_seconds"])
    return effects


async def grant_next(connection: Connection[Record], change: Change, effects: Effects) -> None:
    """Apply the change, then grant what is free to those whose turn it is, until none can go."""
    held = await _hold(connection, change)
    if not held:
        return
    over = change.leaving, change.tokens, change.lapsed, change.late
    if any(over):
        rows = await connection.fetch(statement("lock_leave_many"), held, *map(list, over))
        for row in rows:
            effects.look_in(row["seconds"])
    limits = [name for name in held if name.startswith(LIMIT_PREFIX)]
    if limits and change.newcomers:
        await connection.fetch(statement("limit_put_many"), limits, list(change.newcomers))
    in_hand: set[UUID] = set()
    while True:
        rows = await connection.fetch(
            statement("lock_waiters_many"), held, change.waiters_max, LOCK_PATIENCE_SECONDS
        )
        waiters = [waiter for waiter in _waiters(rows) if waiter.id not in in_hand]
        free = {row["name"]: row["free"] for row in rows}
        grants = decide_grants(waiters, free, {row["name"] for row in rows if row["by_rate"]})
        missed = await _grant(connection, grants.granted, effects)
        in_hand |= missed
        gone = len(grants.granted) - len(missed)
        # What was meant for somebody who is in hand goes to the next, however long that lasts.
        if not missed and not (gone and _goes_on(rows, grants, change.waiters_max)):
            break
    if again := _unsure(rows, grants, {*change.freed, *change.entered}):
        await connection.fetch(statement("lock_look_again_many"), held, again, LOCK_AGAIN_SECONDS)
        effects.look_in(LOCK_AGAIN_SECONDS)
    if limits:
        columns = limits, LIMIT_LOOK_SECONDS_MIN, LOCK_AGAIN_SECONDS
        for row in await connection.fetch(statement("limit_look_many"), *columns):
            effects.look_in(max(0.0, row["seconds"]))


async def _hold(connection: Connection[Record], change: Change) -> list[str]:
    columns = list(change.freed), list(change.entered), change.waiters_max
    rows = await connection.fetch(statement("lock_hold_many"), *columns)
    missing = set(change.entered).difference(row["name"] for row in rows)
    if missing:
        # New ones; or one was forgotten just as somebody came for it again.
        await connection.fetch(statement("lock_make_waited_many"), sorted(missing))
        rows = await connection.fetch(statement("lock_hold_many"), *columns)
    return [row["name"] for row in rows]


def _waiters(rows: Iterable[Record]) -> list[Waiter]:
    """Each once, however many locks it waits for."""
    found = {
        row["waiter"]: Waiter(
            id=row["waiter"],
            locks=tuple(row["locks"]),
            rank=row["rank"],
            keeps_capacity=row["keeps_capacity"],
        )
        for row in rows
        if row["waiter"] is not None
    }
    return list(found.values())


async def _grant(
    connection: Connection[Record], granted: Sequence[Waiter], effects: Effects
) -> set[UUID]:
    """Who did not go: a job that somebody has in hand is left where it is."""
    if not granted:
        return set()
    wanted = [waiter.id for waiter in granted]
    rows = await connection.fetch(statement("lock_grant_many"), wanted, LOCK_AGAIN_SECONDS)
    effects.due += [r for r in rows if r["queue"] is not None and r["parked_for"] is None]
    effects.locks_granted |= {row["lock"] for row in rows if row["lock"] is not None}
    # What a step of a paused execution leaves of its limits is for the next one, too.
    missed = set(wanted).difference(r["id"] for r in rows if r["parked_for"] is None)
    if missed:
        effects.look_in(LOCK_AGAIN_SECONDS)
    return missed


def _goes_on(rows: Sequence[Record], grants: Grants, waiters_max: int) -> bool:
    """Is capacity left in a lock for which more wait than were looked at?"""
    stood = Counter(row["name"] for row in rows if row["waiter"] is not None)
    return any(count == waiters_max and grants.left[name] > 0 for name, count in stood.items())


def _unsure(rows: Sequence[Record], grants: Grants, asked: set[str]) -> list[UUID]:
    """Those who came just now: one of their locks was not held here. In the wait lists of other
    locks nothing has changed, and whoever waits there stays.
    """
    near = {row["waiter"] for row in rows if row["name"] in asked}
    return [waiter.id for waiter in grants.unsure if waiter.id in near]
