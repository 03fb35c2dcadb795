"""Make what was decided: room first, then jobs and executions; and say what could not be made."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from windlass.engine.finished import Finished
from windlass.engine.jobs.ask_cancel import ask_cancel
from windlass.engine.jobs.cancel import cancel_in
from windlass.engine.schedules.fire_jobs import insert_jobs
from windlass.engine.schedules.fired import Fired, FireRules
from windlass.engine.schedules.make_executions import start_executions
from windlass.engine.schedules.making import Making
from windlass.store.database import Connection, Record
from windlass.store.statements import statement


async def make(
    connection: Connection[Record], makings: Sequence[Making], now: datetime, rules: FireRules
) -> Fired:
    """All of it in the caller's transaction, which has entered them in the ledger."""
    fired = Fired()
    wanted = [one for one in makings if one.decision.is_made]
    fired.finished.add(await _make_room(connection, wanted))
    jobs = [one for one in wanted if one.job_id is not None]
    if jobs:
        await insert_jobs(connection, jobs, fired, now, rules)
    executions = [one for one in wanted if one.execution_id is not None]
    if executions:
        await start_executions(connection, executions, fired)
    await _correct(connection, [one for one in wanted if one.refusal is not None])
    for one in makings:
        fired.states[one.state] += one.decision.stands_for
        if one.is_made:
            late = (now - one.decision.instant).total_seconds() - one.jitter_seconds
            fired.late_seconds.append(max(0.0, late))
    return fired


async def _make_room(connection: Connection[Record], wanted: Sequence[Making]) -> Finished:
    """Ask what is unfinished to stop. It may take a moment to: nobody waits for it."""
    left = [found for one in wanted if one.decision.cancels for found in one.beside]
    finished = Finished()
    if jobs := [found["job_id"] for found in left if found["job_id"] is not None]:
        cancelled = await cancel_in(connection, jobs)
        finished.ended |= cancelled.ended
        finished.stopping |= cancelled.asked
        finished.ready += cancelled.ready
        finished.progressed.add(cancelled.progressed)
    executions = [found["execution_id"] for found in left if found["execution_id"] is not None]
    finished.add(
        await ask_cancel(
            connection, executions, cause="superseded", message="its schedule fired again"
        )
    )
    return finished


async def _correct(connection: Connection[Record], refused: Sequence[Making]) -> None:
    if not refused:
        return
    refusals = [one.refusal for one in refused if one.refusal is not None]
    await connection.fetch(
        statement("firing_refuse_many"),
        [one.row["id"] for one in refused],
        [one.decision.instant for one in refused],
        [refusal.state for refusal in refusals],
        [refusal.reason for refusal in refusals],
    )
