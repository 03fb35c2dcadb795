"""Signals meet steps that end at the same moment."""

from __future__ import annotations

import asyncio

from tests.engine.executions.flow import Flow
from tests.engine.hands import patiently, sql, until_sql, value
from windlass.engine.executions.signals import answer_waiting_steps, send_signal
from windlass.engine.jobs.end import end_awaited
from windlass.model.job.outcome import TimedOut
from windlass.store.database import Database

WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE wait_event_type = 'Lock' AND datname = current_database()"
)
TAKEN = "SELECT taken_by FROM windlass.execution_signal"


def hears(step: str) -> dict[str, object]:
    return {"id": step, "kind": "signal", "input": {"name": "go"}, "timeout": "1h"}


async def test_a_signal_to_a_step_that_times_out_at_that_moment_goes_to_the_next(
    database: Database,
) -> None:
    flow = await Flow.start(database, [hears("first"), hears("second")])
    jobs = {row["step"]: row["id"] for row in await flow.rows()}
    waits_longest = await value(
        database, "SELECT id FROM windlass.job ORDER BY started_at, id LIMIT 1"
    )
    (other,) = set(jobs.values()) - {waits_longest}
    async with database.side() as holder:
        change = holder.transaction()
        await change.start()
        await end_awaited(holder, {waits_longest: TimedOut(1.0)})
        sending = asyncio.create_task(
            patiently(lambda: send_signal(database, flow.execution_id, "go", "7", sent_by=None))
        )
        await until_sql(database, WAITING)
        await change.commit()
        sent = await sending
    assert sent.taken_by == other
    assert await value(database, TAKEN) == other
    states = {row["id"]: row["state"] for row in await flow.rows()}
    assert states[other] == "succeeded"
    assert states[waits_longest] == "dead"


async def test_a_kept_signal_is_not_taken_along_by_a_step_that_times_out(
    database: Database,
) -> None:
    flow = await Flow.start(database, [hears("only")])
    [job] = await flow.rows()
    await sql(
        database,
        "INSERT INTO windlass.execution_signal (id, execution_id, name, payload) "
        "VALUES (gen_random_uuid(), $1, 'go', '7')",
        flow.execution_id,
    )
    async with database.side() as holder:
        change = holder.transaction()
        await change.start()
        await end_awaited(holder, {job["id"]: TimedOut(1.0)})
        asking = asyncio.create_task(patiently(lambda: answer_waiting_steps(database, [job["id"]])))
        await until_sql(database, WAITING)
        await change.commit()
        await asking
    assert await value(database, TAKEN) is None, "it is there for whoever asks next"
