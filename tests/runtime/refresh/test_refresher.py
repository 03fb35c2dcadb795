"""A node's refresher: executions that cannot be concluded just now keep no others waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from tests.engine.execution_rows import job, put_many
from tests.engine.hands import until_sql, value
from windlass.engine.announce import Announcer
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.workflows import publish
from windlass.engine.follow import Follower
from windlass.fastlane.lane import FastLane
from windlass.fastlane.marks import Marks
from windlass.limits import ROW_WAIT_SECONDS, SIFT_WAITS_MAX
from windlass.model.workflow.read import trust_definition
from windlass.runtime.refresh.refresher import Refresher
from windlass.store.database import Database
from windlass.telemetry.metrics import Metrics

MANY = 400
ENDED = """SELECT count(*) = $2 FROM windlass.execution
           WHERE id = ANY ($1) AND state = 'succeeded' AND output IS NOT NULL"""
IS_ANY_DONE = "SELECT bool_or(output IS NOT NULL) FROM windlass.execution WHERE id = ANY ($1)"
# As turn_hold_of does.
HOLD_KEYS = """
SELECT pg_advisory_xact_lock(hashtextextended(workflow || ':' || concurrency_key, 5))
FROM windlass.execution WHERE id = ANY ($1)
"""
# Something that the end of an execution needs and that nobody can ask about beforehand.
UNFORESEEN = """
CREATE FUNCTION public.unforeseen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(4711, 1);
    RETURN NEW;
END $$;
CREATE TRIGGER unforeseen BEFORE UPDATE ON windlass.execution FOR EACH ROW
WHEN (NEW.finished_at IS NOT NULL AND NEW.correlation_id = 'stuck')
EXECUTE FUNCTION public.unforeseen();
"""
WAITS = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
# What all of them would take, one after the other, is far more.
SOON_SECONDS = SIFT_WAITS_MAX * ROW_WAIT_SECONDS + 10.0
assert 2 * SOON_SECONDS < MANY * ROW_WAIT_SECONDS


class Node:
    """What refreshes executions in a process without Redis."""

    def __init__(self, database: Database) -> None:
        lane = FastLane(None)
        self.announcer = Announcer(lane)
        self.metrics = Metrics()
        self.refresher = Refresher(
            database=database,
            announcer=self.announcer,
            marks=Marks(lane),
            metrics=self.metrics,
            interval_seconds=3600,  # it is not the net that makes anything right
            lease_seconds=15,
            conclude=partial(conclude, is_patient=False),
            follow=Follower(database, self.announcer).follow,
        )

    def mark(self, execution_ids: list[UUID]) -> None:
        self.announcer.marks(execution_ids, is_urgent=True)


@pytest.fixture
async def node(database: Database) -> AsyncIterator[Node]:
    steps = [{"id": "s", "kind": "noop"}]
    read = trust_definition({"name": "flow", "steps": steps, "output": {"all": "is well"}})
    await publish(database, read, by=None)
    made = Node(database)
    made.refresher.start()
    yield made
    await made.refresher.stop()


async def at_their_end(database: Database, count: int, **fields: Any) -> list[UUID]:
    """Executions that nobody has concluded yet; a field may have a {} for their numbers."""
    usual = {
        "workflow": "flow",
        "has_conclusion": True,
        "state": "running",
        "created_at": datetime.now(UTC) - timedelta(minutes=1),
    }
    rows = [{k: v.format(n) for k, v in fields.items()} for n in range(count)]
    return await put_many(database, [([job("succeeded")], {**usual, **row}) for row in rows])


@asynccontextmanager
async def users(database: Database, query: str, *args: Any) -> AsyncIterator[None]:
    """A user's transaction that has done this, and is open."""
    connection = await asyncpg.connect(database.url)
    try:
        async with connection.transaction():
            await connection.execute(query, *args)
            yield
    finally:
        await connection.close(timeout=5)


async def test_executions_whose_keys_somebody_holds_keep_no_other_from_its_end(
    database: Database, node: Node
) -> None:
    held = await at_their_end(database, MANY, concurrency_key="key {}")
    free = await at_their_end(database, 20, concurrency_key="free {}")
    async with users(database, HOLD_KEYS, held):
        node.mark(held[:200] + free + held[200:])
        await until_sql(database, ENDED, free, len(free), seconds=SOON_SECONDS)
        assert not await value(database, IS_ANY_DONE, held)
    await until_sql(database, ENDED, held, len(held), seconds=SOON_SECONDS)


async def test_executions_that_wait_for_what_nobody_can_name_keep_no_other_from_its_end(
    database: Database, node: Node
) -> None:
    async with database.side() as connection:
        await connection.execute(UNFORESEEN)
    stuck = await at_their_end(database, MANY, correlation_id="stuck")
    async with users(database, "SELECT pg_advisory_xact_lock(4711, 1)"):
        node.mark(stuck)
        await until_sql(database, WAITS, seconds=SOON_SECONDS)
        for _ in range(3):
            free = await at_their_end(database, 20, correlation_id="free")
            node.mark(free)
            await until_sql(database, ENDED, free, len(free), seconds=SOON_SECONDS)
        assert not await value(database, IS_ANY_DONE, stuck)
    await until_sql(database, ENDED, stuck, len(stuck), seconds=4 * SOON_SECONDS)
