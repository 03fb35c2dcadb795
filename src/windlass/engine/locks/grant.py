"""Pass locks on: from those who leave them to those whose turn it is.

Owns: every change of who holds a lock and who waits for it, in the caller's transaction.

    hold the locks' rows -> take away what is over -> read places and lines -> turns -> grant

Promises: never more holds than places, whoever asks at once: they are counted under the lock's row,
and rows are asked for in one order. Nobody whose turn it is waits once the transaction commits, or
`look_at` says that somebody has to look (engine.locks.look).
Never: waits for the row of a job. Rows of locks are the last that a transaction asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from windlass.engine.lock_passed import Passed
from windlass.limits import LOCK_AGAIN_SECONDS, LOCK_LINE_MAX, LOCK_PATIENCE_SECONDS
from windlass.model.job.lock import Turns, Waiter, take_turns
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to locks."""

    freed: Collection[str] = ()  # a place may be free that was not
    entered: Collection[str] = ()  # somebody came who may go at once
    leaving: Sequence[UUID] = ()  # jobs that have ended, tickets that are given up
    tokens: Sequence[int] = ()  # holds that callers give back
    lapsed: Sequence[str] = ()  # holds of these may have run out of time
    late: Sequence[UUID] = ()  # waiters that somebody had to look at
    line: int = LOCK_LINE_MAX  # how far to look in each line at a time


async def pass_on(connection: Connection[Record], change: Change) -> Passed:
    held = await _hold(connection, change)
    passed = Passed()
    if not held:
        return passed
    over = change.leaving, change.tokens, change.lapsed, change.late
    if any(over):
        await connection.fetch(statement("lock_leave_many"), held, *map(list, over))
    while True:
        lines = await connection.fetch(
            statement("lock_line_many"), held, change.line, LOCK_PATIENCE_SECONDS
        )
        turns = take_turns(_waiters(lines), {row["name"]: row["free"] for row in lines})
        count = await _grant(connection, turns.granted, passed)
        if not count or not _goes_on(lines, turns, change.line):
            break
    if again := _unsure(lines, turns, {*change.freed, *change.entered}):
        await connection.fetch(statement("lock_look_again_many"), held, again, LOCK_AGAIN_SECONDS)
        passed.look_in(LOCK_AGAIN_SECONDS)
    return passed


async def _hold(connection: Connection[Record], change: Change) -> list[str]:
    columns = list(change.freed), list(change.entered), change.line
    rows = await connection.fetch(statement("lock_hold_many"), *columns)
    missing = set(change.entered).difference(row["name"] for row in rows)
    if missing:
        # New ones; or one was forgotten just as somebody came for it again.
        await connection.fetch(statement("lock_make_many"), sorted(missing), [])
        rows = await connection.fetch(statement("lock_hold_many"), *columns)
    return [row["name"] for row in rows]


def _waiters(lines: Iterable[Record]) -> list[Waiter]:
    """Each once, in however many lines it stands."""
    found = {
        row["waiter"]: Waiter(
            id=row["waiter"],
            locks=tuple(row["locks"]),
            rank=row["rank"],
            keeps_places=row["keeps_places"],
        )
        for row in lines
        if row["waiter"] is not None
    }
    return list(found.values())


async def _grant(connection: Connection[Record], granted: Sequence[Waiter], passed: Passed) -> int:
    """How many went: a job that somebody has in hand is left where it is."""
    if not granted:
        return 0
    wanted = [waiter.id for waiter in granted]
    rows = await connection.fetch(statement("lock_grant_many"), wanted, LOCK_AGAIN_SECONDS)
    passed.ready += [r for r in rows if r["queue"] is not None and r["parked_for"] is None]
    passed.taken |= {row["lock"] for row in rows if row["lock"] is not None}
    if len(rows) < len(wanted):
        passed.look_in(LOCK_AGAIN_SECONDS)
    return len(rows)


def _goes_on(lines: Sequence[Record], turns: Turns, line: int) -> bool:
    """Is a place left in a lock whose line is longer than what was looked at?"""
    stood = Counter(row["name"] for row in lines if row["waiter"] is not None)
    return any(count == line and turns.left[name] > 0 for name, count in stood.items())


def _unsure(lines: Sequence[Record], turns: Turns, asked: set[str]) -> list[UUID]:
    """Those who came just now: one of their locks was not held here. In the lines of other locks
    nothing has changed, and whoever stands there stays.
    """
    near = {row["waiter"] for row in lines if row["name"] in asked}
    return [waiter.id for waiter in turns.unsure if waiter.id in near]
