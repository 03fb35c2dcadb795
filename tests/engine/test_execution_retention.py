"""Executions that ended long ago go, and what belongs to them; the others stay."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.engine.executions import job, put, read
from tests.engine.flow import Flow, noop
from tests.engine.hands import sql, value
from windlass.engine import retain as retaining
from windlass.engine.refresh import refresh
from windlass.engine.retain import retain
from windlass.engine.signal_execution import send_signal
from windlass.store.database import Database

AGED = """UPDATE windlass.execution
          SET state = 'failed', finished_at = now() - $2 * interval '1 day' WHERE id = $1"""


async def test_they_go_with_their_signals_and_questions(database: Database) -> None:
    steps = [{"id": "ok", "kind": "approval", "input": {"title": "May I?"}}]
    old, new = [await Flow.start(database, steps) for _ in range(2)]
    for flow, days in ((old, 9), (new, 1)):
        await send_signal(database, flow.execution_id, "later", "1", None)
        await sql(database, AGED, flow.execution_id, days)
    done = await retain(database, 7)
    assert done.forgotten_executions == 1
    for table in ("execution", "execution_signal", "approval"):
        column = "id" if table == "execution" else "execution_id"
        left = await sql(database, f"SELECT {column} AS it FROM windlass.{table}")
        assert [row["it"] for row in left] == [new.execution_id], table


async def test_one_that_has_not_ended_stays_however_old_it_is(database: Database) -> None:
    flow = await Flow.start(database, [noop("a")])
    await sql(database, "UPDATE windlass.execution SET created_at = now() - interval '1 year'")
    assert (await retain(database, 7)).forgotten_executions == 0
    assert await flow.run() == {"a": "succeeded"}


async def test_many_go_in_bounded_batches(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retaining, "EXECUTIONS_BATCH", 2)
    made = [await put(database, [job("succeeded")]) for _ in range(5)]
    await refresh(database, made)
    for execution_id in made:
        await sql(database, AGED, execution_id, 30)
    kept = await put(database, [job("succeeded")], correlation_id=str(uuid4()))
    assert (await retain(database, 7)).forgotten_executions == 5
    assert await value(database, "SELECT count(*) FROM windlass.execution") == 1
    assert (await read(database, kept))["id"] == kept
