"""Acquire, renew and release a lock with a fencing token, for callers of the API.

A caller waits like a job, under a ticket, and holds the lock for a time that it renews.
The token of its hold is larger than that of every hold before: whatever the lock guards can refuse
the word of an earlier one. Where capacity is free and nobody waits, no ticket is written.

Promises: a hold that has run out is held by nobody, and cannot be renewed (LockLost). Taking with
the same ticket again gives the same hold; giving back twice does no harm, and is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.locks.grant import Change, grant_next
from windlass.errors import LockLost, LockNeverHeld, LockOfJob
from windlass.limits import LOCK_LEAD_SECONDS
from windlass.model.identity.actor import acting
from windlass.model.job.states import PRIORITY_NUMBERS
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

# A ticket of somebody who does not wait is gone before anybody else sees it.
_MOMENT_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LockCall:
    """What a caller asks for."""

    name: str
    ticket: UUID
    ttl_seconds: float
    wait_seconds: float = 0.0
    capacity: int | None = None  # when the lock is made by this; None: 1
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHold:
    name: str
    token: int
    expires_at: datetime
    capacity: int
    is_replayed: bool = False  # True: the ticket held it before


async def acquire(database: Database, call: LockCall) -> tuple[LockHold | None, Effects]:
    """None: it is taken. Whoever waits then has its ticket there (see engine.locks.waiters)."""
    columns = call.name, call.ticket, call.owner, call.ttl_seconds
    for row in await database.ask_at_once("lock_take", *columns):
        return hold_from_row(row), Effects(look_seconds=call.ttl_seconds)
    return await _acquire_in_turn(database, call)


async def _acquire_in_turn(database: Database, call: LockCall) -> tuple[LockHold | None, Effects]:
    async def work(connection: Connection[Record]) -> tuple[LockHold | None, Effects]:
        if known := await _held(connection, call.ticket, is_replayed=True):
            return known, Effects()
        if call.capacity is not None:
            await connection.fetch(statement("lock_make_many"), [call.name], [call.capacity])
        await connection.fetch(
            statement("lock_ticket_enter"),
            call.name,
            call.ticket,
            call.owner,
            call.ttl_seconds,
            call.wait_seconds or _MOMENT_SECONDS,
            PRIORITY_NUMBERS["normal"] * LOCK_LEAD_SECONDS,
        )
        one = [call.name]
        effects = Effects()
        await grant_next(connection, Change(freed=one, entered=one, lapsed=one), effects)
        held = await _held(connection, call.ticket)
        if held is not None or not call.wait_seconds:
            # Also if it was granted: another call of this ticket may have been first, and a ticket
            # that waits beside a hold would become a hold that nobody knows of.
            await _leave(connection, call)
        # Somebody has to look when it runs out, or when the caller's patience does.
        effects.look_in(call.wait_seconds if held is None else call.ttl_seconds)
        return held, effects

    return await database.ask(work, about=("lock", call.name))


async def give_up(database: Database, call: LockCall) -> tuple[LockHold | None, Effects]:
    """The caller waits no longer. It may have got the lock at the last moment."""

    async def work(connection: Connection[Record]) -> tuple[LockHold | None, Effects]:
        # Whoever it kept waiting may go now.
        effects = Effects()
        await grant_next(connection, Change(freed=[call.name], leaving=[call.ticket]), effects)
        return await _held(connection, call.ticket), effects

    return await database.ask(work, about=("lock", call.name))


async def renew(database: Database, name: str, token: int, ttl_seconds: float) -> datetime:
    """Hold it so long from now on; returns until when. Raises LockLost."""

    async def work(connection: Connection[Record]) -> list[Record]:
        await connection.fetch(statement("lock_hold_many"), [], [name], 0)
        return await connection.fetch(statement("lock_renew"), name, token, ttl_seconds)

    for row in await database.ask(work, about=("lock", name)):
        until: datetime = row["expires_at"]
        return until
    raise LockLost(name, token)


async def give_back(database: Database, name: str, token: int) -> Effects:
    """Raises LockOfJob; LockLost of what is held no longer, LockNeverHeld of what never was."""
    if await _give_back_at_once(database, name, token):
        return Effects()

    async def work(connection: Connection[Record]) -> Effects:
        (row,) = await connection.fetch(statement("lock_token_get"), name, token)
        if row["job_id"] is not None:
            raise LockOfJob(name, ids.show("job", row["job_id"]))
        if not row["is_held"]:
            raise LockLost(name, token) if row["was_given"] else LockNeverHeld(name, token)
        effects = Effects()
        change = Change(freed=[name], tokens=[token], lapsed=[name])
        await grant_next(connection, change, effects)
        await _record_release(connection, name, row)
        return effects

    return await database.ask(work, about=("lock", name))


async def _give_back_at_once(database: Database, name: str, token: int) -> bool:
    """Whether it is done: nobody waits for the lock, or has it in hand."""

    async def work(connection: Connection[Record]) -> bool:
        if not await connection.fetch(statement("lock_row_take"), name):
            return False
        gone = await connection.fetch(statement("lock_give_back"), name, token)
        if gone:
            await _record_release(connection, name, gone[0])
        return bool(gone)

    return await database.ask_together_at_once(work)


async def _record_release(connection: Connection[Record], name: str, row: Record) -> None:
    """Who gives back what he took himself does what everybody does all day."""
    if row["owner"] != acting().id:
        before = {"owner": row["owner"]}
        await record(connection, Entry(action="lock.release", name=name, before=before))


async def _held(
    connection: Connection[Record], ticket: UUID, *, is_replayed: bool = False
) -> LockHold | None:
    rows = await connection.fetch(statement("lock_ticket_get_many"), [ticket])
    return hold_from_row(rows[0], is_replayed=is_replayed) if rows else None


def hold_from_row(row: Record, *, is_replayed: bool = False) -> LockHold:
    """From a row of lock_ticket_get_many."""
    return LockHold(
        name=row["lock"],
        token=row["token"],
        expires_at=row["expires_at"],
        capacity=row["capacity"],
        is_replayed=is_replayed,
    )


async def _leave(connection: Connection[Record], call: LockCall) -> None:
    """The rows are held: it came and goes in one transaction, and nobody has seen it."""
    none: tuple[list[object], ...] = ([], [], [])
    await connection.fetch(statement("lock_leave_many"), [call.name], [call.ticket], *none)
