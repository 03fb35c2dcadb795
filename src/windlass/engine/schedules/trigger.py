"""Trigger a schedule: fire it once, now, whatever its rule says."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from windlass import ids
from windlass.engine.audit.record import Entry, record
from windlass.engine.audit.record import shown_id as shown_id_of
from windlass.engine.schedules.decide import (
    Fired,
    FireOptions,
    plan_decisions,
    shown_id,
    unfinished_of,
)
from windlass.engine.schedules.fire import enter_in_ledger
from windlass.engine.schedules.make import make
from windlass.engine.schedules.schedule import Firing
from windlass.engine.schedules.schedules import database_time, lock_schedule, schedule_not_found
from windlass.limits import FIRE_ASKED_LOCK_SECONDS
from windlass.model.schedule.decision import Policy, decide
from windlass.store.database import Connection, Database, Record


async def trigger(
    database: Database, ref: UUID | str, *, options: FireOptions | None = None
) -> tuple[Firing, Fired]:
    """One firing at this very instant, `is_asked`; of a paused schedule too. Raises NotFound.

    Its overlap holds: what that forbids is answered as a skipped firing, with the reason. Its
    next instant is as it was. The caller hands its effects to `follower.follow`.
    """

    async def work(connection: Connection[Record]) -> tuple[Firing, Fired]:
        row = await lock_schedule(connection, ref)
        if row is None:
            raise schedule_not_found(ref)
        now = await database_time(connection)
        left = (await unfinished_of(connection, [row])).get(row["id"], [])
        names = [shown_id(found) for found in left]
        decisions = decide([now], now, Policy(overlap=row["overlap"]), unfinished=names)
        [one] = plan_decisions(row, decisions, left, iter([ids.uuid7()]))
        await enter_in_ledger(connection, [one], is_asked=True)
        while not one.is_entered:  # this very microsecond has a row
            now = await database_time(connection)
            one.decision = replace(one.decision, instant=now)
            await enter_in_ledger(connection, [one], is_asked=True)
        fired = await make(connection, [one], now, options or FireOptions())
        fired.late_seconds.clear()  # nobody waited for it
        firing = Firing(
            schedule_id=row["id"],
            instant=now,
            state=one.state,
            fired_at=now,
            job_id=one.job_id,
            execution_id=one.execution_id,
            is_asked=True,
            reason=one.decision.reason,
        )
        if one.refusal is not None:
            firing = replace(firing, job_id=None, execution_id=None, reason=one.refusal.reason)
        await record(connection, _entry(row, firing))
        return firing, fired

    return await database.ask(work, lock_seconds=FIRE_ASKED_LOCK_SECONDS)


def _entry(row: Record, firing: Firing) -> Entry:
    made = {
        "job_id": shown_id_of("job", firing.job_id),
        "execution_id": shown_id_of("execution", firing.execution_id),
    }
    shown = ids.show("schedule", row["id"])
    after = {"state": firing.state, **{name: one for name, one in made.items() if one}}
    return Entry(
        action="schedule.trigger", id=shown, name=row["name"], after=after, note=firing.reason
    )
