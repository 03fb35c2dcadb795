"""A node that has work which nobody else can do takes few jobs at a time, but it takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.engine.hands import sql
from tests.until import until
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.limits import SPARED_BATCH_MAX
from windlass.store.database import Database

JOBS = 5 * SPARED_BATCH_MAX
INSERT = """
INSERT INTO windlass.job
    (id, queue, kind, priority, state, run_at, max_attempts, input, input_bytes)
SELECT gen_random_uuid(), 'default', 'noop', 1, 'queued', now(), 5, '{}', 2
FROM generate_series(1, $1::int)
"""
# Each claim has an id.
CLAIMED = "SELECT count(*) AS together FROM windlass.job_history GROUP BY claim_id"


@pytest.fixture
async def node(database_url: str) -> AsyncIterator[compose.Windlass]:
    started = await compose.start(
        Settings(roles=("worker",)), database_url=database_url, redis_url=None, serving=None
    )
    yield started
    await started.stop_now()


@pytest.mark.parametrize("is_spared", [True, False])
async def test_who_is_spared_claims_few_at_a_time_until_all_is_done(
    database: Database, node: compose.Windlass, is_spared: bool
) -> None:
    assert node.node._now is not None
    node.node._now.worker.spare(is_spared)
    await database.run("queue_ensure_many", ["default"], None)
    await sql(database, INSERT, JOBS)

    async def together() -> list[int]:
        return [row["together"] for row in await sql(database, CLAIMED)]

    async def is_done() -> bool:
        return sum(await together()) == JOBS

    await until(is_done, what="all jobs have ended")
    assert (max(await together()) <= SPARED_BATCH_MAX) == is_spared
