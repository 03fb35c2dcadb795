"""Trees of executions: bounded, and a cancel catches up with what is being born."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tests.engine import hands
from tests.engine.executions.flow import Flow
from tests.engine.hands import patiently, sql, value
from tests.until import until
from windlass import ids
from windlass.engine.announce import Announcer
from windlass.engine.executions.conclude import conclude
from windlass.engine.executions.control import cancel_execution
from windlass.engine.executions.start import Start, start_many
from windlass.engine.executions.tree import AncestorEnded, TreeFull
from windlass.engine.executions.why import explain_execution
from windlass.engine.executions.workflows import publish
from windlass.engine.follow import Follower
from windlass.fastlane.lane import FastLane
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

COUNT = "SELECT count(*) FROM windlass.execution"


async def fork_bomb(database: Database) -> Start:
    """Three steps, each of which starts the same workflow."""
    steps = [{"id": f"s{n}", "kind": "workflow", "input": {"workflow": "fork"}} for n in range(3)]
    await publish(database, trust_definition({"name": "fork", "steps": steps}), by=None)
    return Start(workflow="fork")


async def begin(database: Database, follower: Follower, start: Start) -> UUID:
    started = await start_many(database, [start])
    follower.follow(started.effects)
    return started.execution_ids[0]


def followers(database: Database, count: int, **kwargs: Any) -> list[Follower]:
    """Nodes, as far as trees are concerned."""
    return [Follower(database, Announcer(FastLane(None)), **kwargs) for _ in range(count)]


async def until_there_are(database: Database, count: int) -> None:
    async def are_there() -> bool:
        return bool(await value(database, COUNT) >= count)

    await until(are_there, what=f"the tree grows to {count} by itself")


async def test_a_tree_has_no_more_executions_than_it_may(database: Database) -> None:
    start = await fork_bomb(database)
    one, other = followers(database, 2, tree_max=30)
    first, second = [await begin(database, node, start) for node in (one, other)]
    await asyncio.gather(one.quiet(), other.quiet())
    below = "SELECT count(*) FROM windlass.execution WHERE root_id = $1"
    for root in (first, second):
        # Each node begins children one by one, so nothing else was being born.
        assert await value(database, below, root) == 30
    [row] = await sql(
        database,
        "SELECT DISTINCT error ->> 'cause' AS cause, error ->> 'message' AS message, state "
        "FROM windlass.job_history WHERE error::text LIKE '%' || $1 || '%'",
        ids.show("execution", first),
    )
    assert (row["state"], row["cause"]) == ("dead", "tree_full")
    assert "30 executions" in row["message"]
    assert "execution_tree_max" in row["message"]
    why = await explain_execution(database, first, 30)
    assert "tree_full" in {reason.gate for reason in why.reasons}


async def test_a_cancel_of_the_root_stops_a_tree_that_forks_as_fast_as_it_can(
    database: Database,
) -> None:
    one, other = followers(database, 2)
    root = await begin(database, one, await fork_bomb(database))
    await until_there_are(database, 40)
    other.follow(await patiently(lambda: cancel_execution(database, root)))
    born = await value(database, COUNT)
    await asyncio.gather(one.quiet(), other.quiet())
    # What was in flight when the cancel was answered, and nothing of what those would have had.
    assert await value(database, COUNT) <= born + 2
    # A cancel that somebody's row put off is tried again a moment later.
    await hands.until_sql(database, "SELECT count(*) = 0 FROM windlass.job", seconds=60)
    while open_ := [row["id"] for row in await sql(database, OPEN)]:
        one.follow(await conclude(database, open_))
        await one.quiet()
    states = await sql(database, "SELECT DISTINCT state FROM windlass.execution")
    assert [row["state"] for row in states] == ["cancelled"]


OPEN = "SELECT id FROM windlass.execution WHERE finished_at IS NULL ORDER BY depth DESC"


async def test_nothing_is_begun_below_one_that_was_cancelled_at_any_height(
    database: Database,
) -> None:
    inner = {"id": "in", "kind": "workflow", "input": {"workflow": "inner"}}
    wait = {"id": "go", "kind": "signal", "input": {"name": "go"}}
    late = {"id": "late", "kind": "workflow", "needs": ["go"], "input": {"workflow": "leaf"}}
    for name, steps in (("leaf", [wait]), ("inner", [wait, late])):
        await publish(database, trust_definition({"name": name, "steps": steps}), by=None)
    flow = await Flow.start(database, [inner])
    [middle] = await sql(database, "SELECT id, root_id FROM windlass.execution WHERE depth = 1")
    assert middle["root_id"] == flow.execution_id
    [step] = await sql(database, "SELECT * FROM windlass.job WHERE step = 'in'")

    # The root was asked to cancel, and nobody below has heard of it yet.
    await sql(
        database,
        "UPDATE windlass.execution SET cancel_requested_at = now() WHERE id = $1",
        flow.execution_id,
    )
    below = Start(workflow="leaf", parent_id=middle["id"], depth=2)
    with pytest.raises(AncestorEnded, match="was asked to cancel") as refused:
        await start_many(database, [below])
    assert refused.value.execution_id == ids.show("execution", flow.execution_id)
    why = await explain_execution(database, middle["id"])
    assert "ancestor_ended" in {reason.gate for reason in why.reasons}
    assert step["state"] == "running"


async def test_a_birth_beyond_the_bound_leaves_nothing_behind(database: Database) -> None:
    root = (await start_many(database, [await fork_bomb(database)])).execution_ids[0]
    child = Start(workflow="fork", parent_id=root, depth=1, tree_max=1)
    await start_many(database, [child])
    with pytest.raises(TreeFull):
        await start_many(database, [child])
    assert await value(database, "SELECT sum(born) FROM windlass.execution_tree") == 1
    assert await value(database, COUNT) == 2
