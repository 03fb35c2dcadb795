"""Backfill a stretch of the past: count first, then fire what has made nothing.

An instant that has made something is left alone, so that a backfill may be done again, or be cut
off and done again. Instants that are still to be decided are the leader's: only what lies before
the schedule's next instant is filled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.effects import Effects
from windlass.engine.schedules.decide import Fired, FireOptions, PlannedFiring
from windlass.engine.schedules.known_rules import KnownRule, rule_of
from windlass.engine.schedules.make import make
from windlass.engine.schedules.schedules import database_time, lock_schedule, schedule_not_found
from windlass.errors import InvalidInput, WindlassError
from windlass.limits import BACKFILL_MAX, FIRE_ASKED_LOCK_SECONDS, FIRE_BATCH
from windlass.model.schedule.decision import Decision
from windlass.model.schedule.ledger import LedgerRow, split_rows
from windlass.model.schedule.next import between, count_between
from windlass.store.database import Connection, Database, Record
from windlass.store.statements import statement

_MICROSECOND = timedelta(microseconds=1)
# Each is what became of an outage of days.
STANDING_LOOKED_AT: Final = 100


class BackfillTooLarge(WindlassError):
    """More instants than one backfill may have."""

    code = "backfill_too_large"
    status = 422

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"the stretch has {count} instants, and one backfill may have {BACKFILL_MAX}; ask for "
            "less at a time"
        )

    @property
    def facts(self) -> dict[str, Any]:
        return {"count": self.count, "limit": BACKFILL_MAX, "unit": "instants"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillCount:
    instants: int  # of the rule in the stretch
    made: int | None  # of these, fired before: they are left alone. None: too many to look at
    most: int = BACKFILL_MAX


@dataclass(slots=True, kw_only=True)
class Backfilled:
    fired: int = 0
    skipped: int = 0  # its queue was full, or its workflow is gone
    effects: Effects = field(default_factory=Effects)


async def count_backfill(
    database: Database, ref: UUID | str, since: datetime, until: datetime
) -> BackfillCount:
    """since <= instant < until. Raises NotFound, InvalidInput."""
    rows = await database.run("schedule_get", *((None, ref) if isinstance(ref, str) else (ref, "")))
    if not rows:
        raise schedule_not_found(ref)
    [clock] = await database.run("database_now")
    known = _rule(rows[0])
    first, last = _stretch(rows[0], since, until, clock["now"])
    count = _count(known, first, last)
    if count > BACKFILL_MAX:
        return BackfillCount(instants=count, made=None)
    instants = list(between(known.rule, first, last, count))
    made = await database.read("firing_made_of", rows[0]["id"], instants)
    return BackfillCount(instants=count, made=len(made))


async def backfill(
    database: Database,
    ref: UUID | str,
    since: datetime,
    until: datetime,
    *,
    options: FireOptions | None = None,
) -> Backfilled:
    """Fire each instant that has made nothing, oldest first, a batch in each transaction.

    Overlap does not hold: whoever asks for a year of days wants each of them. Raises NotFound,
    InvalidInput, BackfillTooLarge.
    """
    done = Backfilled()
    after: datetime | None = None
    while True:
        found = await _batch(database, ref, since, until, after, options or FireOptions())
        if found is None:
            return done
        after, fired = found
        done.effects.add(fired.effects)
        done.fired += fired.states["late"]
        done.skipped += fired.states["skipped"] + fired.states["coalesced"]


async def _batch(
    database: Database,
    ref: UUID | str,
    since: datetime,
    until: datetime,
    after: datetime | None,
    options: FireOptions,
) -> tuple[datetime, Fired] | None:
    """The newest instant of the batch; None: there is no more."""

    async def work(connection: Connection[Record]) -> tuple[datetime, Fired] | None:
        row = await lock_schedule(connection, ref)
        if row is None:
            raise schedule_not_found(ref)
        now = await database_time(connection)
        first, last = _stretch(row, since, until, now)
        known = _rule(row)
        if after is None and (count := _count(known, first, last)) > BACKFILL_MAX:
            raise BackfillTooLarge(count)
        instants = list(between(known.rule, max(first, after or first), last, FIRE_BATCH))
        if not instants:
            return None
        await _stand_apart(connection, row, known, instants)
        fired = await make(connection, await _enter(connection, row, instants), now, options)
        fired.late_seconds.clear()  # nobody waited for them
        await record(connection, _entry(row, instants, fired))
        return instants[-1], fired

    return await database.ask(work, lock_seconds=FIRE_ASKED_LOCK_SECONDS)


def _entry(row: Record, instants: list[datetime], fired: Fired) -> Entry:
    """Of a batch, as that is what is committed."""
    return Entry(
        action="schedule.backfill",
        id=ids.show("schedule", row["id"]),
        name=row["name"],
        after={"since": instants[0], "until": instants[-1], "states": dict(fired.states)},
        count=len(instants),
    )


async def _stand_apart(
    connection: Connection[Record], row: Record, known: KnownRule, instants: list[datetime]
) -> None:
    """Rows that stand for some of these instants do so no longer: each gets a row of its own."""
    # Of a rule that has changed since nobody knows which instants they stand for.
    since = max(instants[0], row["changed_at"])
    rows = await connection.fetch(
        statement("firing_standing"), row["id"], since, STANDING_LOOKED_AT
    )
    changed = split_rows(known.rule, instants, [LedgerRow(**one) for one in rows])
    if changed:
        await connection.fetch(
            statement("firing_stand_many"),
            row["id"],
            [one.instant for one in changed],
            [one.stands_for for one in changed],
            [one.state for one in changed],
            [one.reason for one in changed],
        )


async def _enter(
    connection: Connection[Record], row: Record, instants: list[datetime]
) -> list[PlannedFiring]:
    made = dict(zip(instants, ids.uuid7_many(len(instants)), strict=True))
    planned = {
        instant: PlannedFiring(
            row=row,
            decision=Decision(instant=instant, state="late"),
            made_id=made_id,
            is_entered=True,
        )
        for instant, made_id in made.items()
    }
    columns = [list(made.values()), []] if row["workflow"] is None else [[], list(made.values())]
    entered = await connection.fetch(
        statement("firing_backfill_many"), row["id"], instants, *columns
    )
    return sorted((planned[one["instant"]] for one in entered), key=lambda m: m.decision.instant)


def _stretch(
    row: Record, since: datetime, until: datetime, now: datetime
) -> tuple[datetime, datetime]:
    """After which instant, and up to which: past, and decided."""
    if until <= since:
        raise InvalidInput.at("/until", "must lie after since")
    last = min(until - _MICROSECOND, now)
    if row["next_at"] is not None:
        last = min(last, row["next_at"] - _MICROSECOND)
    return since - _MICROSECOND, last


def _rule(row: Record) -> KnownRule:
    return rule_of(row["rule"], row["name"], row["created_at"])


def _count(known: KnownRule, first: datetime, last: datetime) -> int:
    try:
        return count_between(known.rule, first, last) if first < last else 0
    except ValueError as trouble:
        raise InvalidInput.at("/since", str(trouble)) from None
