"""What the database thinks a node runs and it does not goes back, whatever else it is busy with."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from tests.engine.hands import noop, register, sql, submit, value
from tests.until import until
from windlass import App
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.announce import Announcer
from windlass.engine.follow import Follower
from windlass.fastlane.lane import FastLane
from windlass.limits import RESCUE_INTERVAL_SECONDS, RESCUE_SPREAD_SECONDS
from windlass.model.job.draft import Draft
from windlass.runtime.duties import RECONCILE_AGE_SECONDS, Duties
from windlass.runtime.worker.worker import Worker
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

OLD = f"now() - interval '{2 * RECONCILE_AGE_SECONDS} seconds'"
# As if a claim had taken it whose answer nobody got.
ORPHAN = f"""
UPDATE windlass.job SET state = 'running', attempt = 1, node_id = $2, claim_id = gen_random_uuid(),
    run_at = now() + interval '1 hour', started_at = {OLD}
WHERE id = $1
"""


app = App("reconciled")
gates: dict[str, threading.Event] = {}


@app.task
def hold(name: str) -> None:
    assert gates[name].wait(300)


@pytest.fixture
async def worker(database_url: str) -> AsyncIterator[Worker]:
    started = await compose.start(
        Settings(roles=("worker",)),
        database_url=database_url,
        redis_url=None,
        serving=None,
        app=app,
    )
    assert started.node._now is not None
    yield started.node._now.worker
    for gate in gates.values():
        gate.set()
    await started.stop_now()


async def orphan(database: Database, worker: Worker) -> UUID:
    [job_id] = await submit(database, noop(delay_seconds=3600))
    await sql(database, ORPHAN, job_id, worker.node_id)
    return job_id


async def runs(database: Database, name: str) -> UUID:
    """A job that runs, and has done so for long as far as the database knows."""
    gates[name] = threading.Event()
    work = json.dumps({"task": "hold", "args": [name]})
    [job_id] = await submit(database, Draft(kind="python", input=work))

    async def is_running() -> bool:
        return await state_of(database, job_id) == "running"

    await until(is_running, what="it runs")
    await sql(database, f"UPDATE windlass.job SET started_at = {OLD} WHERE id = $1", job_id)
    return job_id


async def state_of(database: Database, job_id: UUID) -> object:
    return await value(database, "SELECT state FROM windlass.job WHERE id = $1", job_id)


async def test_a_claim_that_nobody_runs_goes_back_while_others_are_being_settled(
    database: Database, worker: Worker
) -> None:
    runner, ending = await runs(database, "runner"), await runs(database, "ending")
    async with database.side(readonly=False) as somebody, somebody.transaction():
        await somebody.execute("SELECT FROM windlass.job WHERE id = $1 FOR UPDATE", ending)
        gates["ending"].set()

        async def is_ending() -> bool:
            return worker.executing == 1

        await until(is_ending, what="one has ended, and its row is held")
        lost = await orphan(database, worker)
        assert await worker.reconcile(RECONCILE_AGE_SECONDS) == 1
        assert await state_of(database, lost) == "queued"
        assert await state_of(database, runner) == "running"
        assert await state_of(database, ending) == "running"
    assert await value(database, "SELECT attempt FROM windlass.job WHERE id = $1", lost) == 0

    async def has_ended() -> bool:
        ended = "SELECT count(*) FROM windlass.job_history WHERE id = $1 AND state = 'succeeded'"
        return bool(await value(database, ended, ending))

    await until(has_ended, what="the other is settled as it was meant to be")


async def test_a_lease_that_is_about_to_lapse_is_looked_at_when_it_does(
    database: Database, worker: Worker
) -> None:
    follower = Follower(database, Announcer(FastLane(None)))
    duties = Duties(
        database=database, follower=follower, worker=worker, metrics=Metrics(), retention_days=1
    )
    assert await duties.recover() > RESCUE_INTERVAL_SECONDS / 2
    await register(database, lease_seconds=3.0)
    assert await duties.recover() <= 3.0 + RESCUE_SPREAD_SECONDS


async def test_another_claim_of_a_job_that_runs_here_goes_back(
    database: Database, worker: Worker
) -> None:
    """By its claim a job is known and not by its name."""
    job_id = await runs(database, "runner")
    changed = "UPDATE windlass.job SET claim_id = gen_random_uuid() WHERE id = $1"
    await sql(database, changed, job_id)
    assert await worker.reconcile(RECONCILE_AGE_SECONDS) == 1
