"""Schedules by hand: put, pushed into the past, fired a round at a time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from tests.engine.hands import end, register, sql, take
from windlass.engine.executions.conclude import conclude
from windlass.engine.schedules.decide import Fired, FireOptions
from windlass.engine.schedules.fire import fire_due
from windlass.engine.schedules.ledger import list_firings
from windlass.engine.schedules.schedule import Firing, Schedule, ScheduleDraft
from windlass.engine.schedules.schedules import put_schedule, read_schedule
from windlass.store.database import Database

EVERY_MINUTE = {"cron": "* * * * *"}
NOOP = {"kind": "noop"}


def draft(
    name: str = "minutely", rule: dict[str, Any] | None = None, **fields: Any
) -> ScheduleDraft:
    job = fields.pop("job", None if "workflow" in fields else NOOP)
    workflow = fields.pop("workflow", None)
    return ScheduleDraft(
        name=name,
        rule_json=_json(rule or EVERY_MINUTE),
        job=None if job is None else _json(job),
        workflow=None if workflow is None else _json(workflow),
        **fields,
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


async def put(
    database: Database, name: str = "minutely", rule: dict[str, Any] | None = None, **fields: Any
) -> Schedule:
    schedule, _, _ = await put_schedule(database, draft(name, rule, **fields))
    return schedule


async def rewind(database: Database, name: str = "minutely", *, instants: int = 1) -> datetime:
    """As if nobody had fired it for so many minutes; returns the first instant that is due.

    `name` may stand for several (LIKE). The rule is one of whole minutes. An instant that comes in
    a moment would be one more: it is let pass, but not once another was rewound, for which it is.
    """
    row, *_ = await sql(
        database,
        """
        WITH chosen AS (
            SELECT CASE WHEN extract(second FROM clock_timestamp()) > 55
                             AND NOT EXISTS (SELECT FROM windlass.schedule
                                             WHERE created_at < now() - interval '6 months')
                        THEN pg_sleep(61 - extract(second FROM clock_timestamp())) END
        )
        UPDATE windlass.schedule
        SET next_at = date_trunc('minute', clock_timestamp()) - ($2 - 1) * interval '1 minute',
            fire_at = date_trunc('minute', clock_timestamp()) - ($2 - 1) * interval '1 minute',
            changed_at = created_at - interval '1 year', created_at = created_at - interval '1 year'
        FROM chosen WHERE name LIKE $1
        RETURNING next_at
        """,
        name,
        instants,
    )
    first: datetime = row["next_at"]
    return first


async def pass_a_minute(database: Database) -> None:
    """Everything that was lies a minute further back, and the next instant has come."""
    # By way of a time far away: instants that follow each other must not meet on the way.
    for shift in ("1000 days", "-1000 days -1 minute"):
        await sql(database, f"UPDATE windlass.firing SET instant = instant + interval '{shift}'")
    await sql(
        database,
        "UPDATE windlass.schedule SET next_at = next_at - interval '1 minute',"
        " fire_at = fire_at - interval '1 minute', last_at = last_at - interval '1 minute'",
    )


async def fire(database: Database, **limits: Any) -> Fired:
    return await fire_due(database, FireOptions(**limits))


async def ledger(database: Database, name: str = "minutely") -> list[Firing]:
    """Oldest first."""
    schedule = await read_schedule(database, name)
    return (await list_firings(database, schedule.id, 10_000))[::-1]


async def states(database: Database, name: str = "minutely") -> list[str]:
    return [firing.state for firing in await ledger(database, name)]


async def jobs(database: Database) -> list[Any]:
    rows = await sql(
        database,
        "SELECT id, state, depends_on FROM windlass.job "
        "UNION ALL SELECT id, state, NULL FROM windlass.job_history ORDER BY 1",
    )
    return list(rows)


async def finish_one(database: Database) -> set[UUID]:
    """One job that is due is performed, and the execution ends whose last step it was."""
    node_id = await register(database)
    [attempt, *_] = await take(database, node_id)
    settled = await end(database, node_id, attempt)
    concluded = await conclude(database, sorted(settled.effects.urgent_marks))
    return {*settled.effects.ended, *concluded.ended}


def minutes(first: datetime, count: int) -> list[datetime]:
    return [first + timedelta(minutes=n) for n in range(count)]
