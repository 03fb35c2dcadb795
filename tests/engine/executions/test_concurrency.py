"""Concurrency keys: who runs, who waits, who is turned away, and that a limit is never exceeded."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.engine.executions.flow import Flow, noop
from tests.engine.hands import several, sql, value
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.concurrency import ConcurrencyLimit
from windlass.engine.executions.control import cancel_execution
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.upkeep import find_neglected
from windlass.engine.executions.workflows import publish
from windlass.errors import InvalidInput
from windlass.limits import KEY_CHARS_MAX
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

STEPS = [noop("a"), noop("b", "a")]
CANCELLED = {"a": "cancelled", "b": "skipped"}


def concurrency(policy: str, limit: int = 1) -> dict[str, Any]:
    return {"concurrency": {"key": "${inputs.who}", "limit": limit, "policy": policy}}


async def flow(database: Database, policy: str, limit: int = 1, who: str = "ada") -> Flow:
    return await Flow.start(database, STEPS, {"who": who}, **concurrency(policy, limit))


async def begun(database: Database) -> set[UUID]:
    rows = await sql(
        database,
        "SELECT id FROM windlass.execution WHERE begun_at IS NOT NULL AND finished_at IS NULL",
    )
    return {row["id"] for row in rows}


async def shown(database: Database, one: Flow) -> tuple[str, Any]:
    [row] = await sql(
        database,
        "SELECT state, error::text AS error FROM windlass.execution WHERE id = $1",
        one.execution_id,
    )
    return row["state"], None if row["error"] is None else msgspec.json.decode(row["error"])


async def test_one_waits_while_another_with_its_key_runs(database: Database) -> None:
    first, second = await flow(database, "queue"), await flow(database, "queue")
    other = await flow(database, "queue", who="bob")
    assert await begun(database) == {first.execution_id, other.execution_id}
    assert await second.states() == {}, "it has no jobs while it waits"
    assert (await shown(database, second))[0] == "pending"


async def test_the_oldest_that_waits_begins_in_the_transaction_that_ends_the_one_before(
    database: Database,
) -> None:
    flows = [await flow(database, "queue") for _ in range(3)]
    await flows[0].run()
    await flows[0].conclude()
    assert await begun(database) == {flows[1].execution_id}
    assert await flows[1].states() == {"a": "queued"}
    await flows[1].run()
    await flows[1].conclude()
    assert await begun(database) == {flows[2].execution_id}


async def test_as_many_run_as_the_limit_says(database: Database) -> None:
    flows = [await flow(database, "queue", limit=3) for _ in range(5)]
    assert await begun(database) == {one.execution_id for one in flows[:3]}
    await flows[0].run()
    ended = await conclude(database, [one.execution_id for one in flows[:2]])
    assert set(ended.ended) == {one.execution_id for one in flows[:2]}
    assert await begun(database) == {one.execution_id for one in flows[2:]}


async def test_a_limit_holds_when_many_nodes_start_and_end_at_once(
    database: Database, database_url: str
) -> None:
    read = trust_definition({"name": "flow", "steps": [noop("a")], **concurrency("queue", 2)})
    await publish(database, read, by=None)
    start = Start(workflow="flow", input={"who": "ada"})
    async with several(database_url, 4) as databases:
        await asyncio.gather(*(start_many(databases[n % 4], [start]) for n in range(24)))
        seen = 0
        driver = await flow(database, "queue", who="bob")
        while running := await begun(database) - {driver.execution_id}:
            seen = max(seen, len(running))
            await driver.turn()
            await asyncio.gather(
                *(conclude(one, list(running)) for one in databases),
                *(start_many(one, [start]) for one in databases[: 2 * (seen < 2)]),
            )
    assert seen == 2
    assert (
        await value(database, "SELECT count(*) FROM windlass.execution WHERE begun_at IS NULL") == 0
    )


async def test_the_time_of_one_that_waits_runs_from_when_it_begins(database: Database) -> None:
    first = await Flow.start(database, STEPS, {"who": "ada"}, timeout="1h", **concurrency("queue"))
    second = await Flow.start(database, STEPS, {"who": "ada"}, timeout="1h", **concurrency("queue"))
    deadline = "SELECT deadline - clock_timestamp() > interval '59 minutes' FROM windlass.execution"
    assert await value(database, f"{deadline} WHERE id = $1", first.execution_id)
    assert await value(database, f"{deadline} WHERE id = $1", second.execution_id) is None
    await first.run()
    await first.conclude()
    assert await value(database, f"{deadline} WHERE id = $1", second.execution_id)


async def test_skip_leaves_a_trace_and_runs_nothing(database: Database) -> None:
    first, second = await flow(database, "skip"), await flow(database, "skip")
    state, error = await shown(database, second)
    assert state == "cancelled"
    assert error["cause"] == "skipped"
    assert error["execution_id"] == f"exe_{first.execution_id.hex}"
    assert await second.states() == {}
    await first.run()
    await first.conclude()
    assert (await shown(database, await flow(database, "skip")))[0] == "pending"


async def test_fail_names_the_one_that_runs(database: Database) -> None:
    first = await flow(database, "fail")
    with pytest.raises(ConcurrencyLimit, match=f"exe_{first.execution_id.hex}") as refusal:
        await flow(database, "fail")
    assert (refusal.value.status, refusal.value.code) == (409, "concurrency_limit")
    assert refusal.value.facts["execution_id"] == f"exe_{first.execution_id.hex}"
    assert await value(database, "SELECT count(*) FROM windlass.execution") == 1


async def test_cancel_running_makes_room_for_the_newest(database: Database) -> None:
    first = await flow(database, "cancel_running")
    second, third = [await flow(database, "cancel_running") for _ in range(2)]
    assert await first.states() == CANCELLED
    state, error = await shown(database, second)
    assert (state, error["cause"]) == ("cancelled", "superseded"), "it waited, and is dropped"
    assert await third.states() == {}, "it waits for the first to end"
    assert (await first.conclude())["state"] == "cancelled"
    assert await third.states() == {"a": "queued"}


async def test_cancel_running_keeps_as_many_as_may_run(database: Database) -> None:
    flows = [await flow(database, "cancel_running", limit=2) for _ in range(4)]
    assert [await one.states() for one in flows] == [CANCELLED] * 2 + [{}] * 2
    for one in flows[:2]:
        assert (await one.conclude())["state"] == "cancelled"
    assert [await one.states() for one in flows[2:]] == [{"a": "queued"}] * 2


async def test_one_that_waits_is_cancelled_at_once_and_never_begins(database: Database) -> None:
    first, second = await flow(database, "queue"), await flow(database, "queue")
    effects = await cancel_execution(database, second.execution_id)
    assert effects.ended == {second.execution_id: "cancelled"}
    await first.run()
    await first.conclude()
    assert await begun(database) == set()


async def test_room_that_nobody_used_is_found(database: Database) -> None:
    first, second = await flow(database, "queue"), await flow(database, "queue")
    third = await flow(database, "queue", who="bob")
    assert (await find_neglected(database)).due == []
    await sql(
        database,
        "UPDATE windlass.execution SET state = 'failed', finished_at = now() WHERE id = ANY ($1)",
        [first.execution_id, third.execution_id],
    )
    assert len((await find_neglected(database)).due) == 1
    assert await second.states() == {"a": "queued"}


async def test_a_key_without_measure_is_refused(database: Database) -> None:
    with pytest.raises(InvalidInput, match="concurrency key"):
        await flow(database, "queue", who="x" * (KEY_CHARS_MAX + 1))
    await flow(database, "queue", who="x" * KEY_CHARS_MAX)
