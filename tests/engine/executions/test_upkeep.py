"""Background rounds of workflows: one that cannot be looked after keeps nobody else waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest

from tests.engine.execution_rows import put
from tests.engine.executions.flow import Flow, noop
from tests.engine.hands import sql, value
from windlass.engine import isolated_round
from windlass.engine.announce import Announcer
from windlass.engine.executions.start import Start, Started, start_many
from windlass.engine.executions.upkeep import find_neglected, run_upkeep
from windlass.engine.executions.workflows import publish
from windlass.engine.follow import Follower
from windlass.engine.isolated_round import ItemBackoff
from windlass.fastlane.lane import FastLane
from windlass.model.workflow.read import trust_definition
from windlass.store.database import Database

CHILD: Mapping[str, Any] = {"name": "child", "steps": [noop("work")]}
PARENT: Mapping[str, Any] = {
    "name": "parent",
    "steps": [
        {
            "id": "call",
            "kind": "workflow",
            "input": {
                "workflow": "${inputs.workflow}",
                "version": "${inputs.version}",
                "input": "${inputs.given}",
            },
        }
    ],
}
ASKING: Mapping[str, Any] = {
    "name": "asking",
    "steps": [
        {"id": "decide", "kind": "approval", "input": {"title": "ok?", "form": "${inputs.form}"}},
        {"id": "hear", "kind": "signal", "input": {"name": "${inputs.name}"}},
    ],
}


def call(workflow: Any = "child", version: Any = 1, given: Any = None) -> Start:
    said = {"workflow": workflow, "version": version, "given": {} if given is None else given}
    return Start(workflow="parent", input=said)


def question(name: Any = "go", form: Any = None) -> Start:
    return Start(workflow="asking", input={"name": name, "form": form})


GOOD = [call(), question()]
WRONG = [
    call(version="first"),
    call(version=2**40),
    call(version=99),
    call(version=True),
    call(given=[1, 2]),
    call(given="all"),
    call(workflow=7),
    call(workflow="no such"),
]


async def begin(database: Database, starts: Sequence[Start]) -> Started:
    for definition in (CHILD, PARENT, ASKING):
        await publish(database, trust_definition(dict(definition)), by=None)
    return await start_many(database, starts)


async def states(database: Database, execution_id: UUID) -> dict[str, str]:
    return await Flow(database, execution_id, execution_id).states()


async def error(database: Database, execution_id: UUID, step: str) -> Any:
    return await Flow(database, execution_id, execution_id).error(step)


async def spoil(database: Database, execution_id: UUID, step: str) -> UUID:
    """Make its job one that nothing here was written for: its input is no object."""
    rows = await sql(
        database,
        "UPDATE windlass.job SET input = '[]' WHERE execution_id = $1 AND step = $2 RETURNING id",
        execution_id,
        step,
    )
    job_id: UUID = rows[0]["id"]
    return job_id


async def overdue(database: Database) -> None:
    await sql(
        database,
        "UPDATE windlass.job SET started_at = started_at - interval '1 minute' "
        "WHERE started_at IS NOT NULL",
    )


async def test_wrong_children_die_with_the_reason_and_take_nobody_along(
    database: Database,
) -> None:
    starts = [one for wrong in WRONG for one in (wrong, *GOOD)]
    started = await begin(database, starts)
    follower = Follower(database, Announcer(FastLane(None)))
    follower.follow(started.effects)
    await follower.quiet()
    made = dict(zip(started.execution_ids, starts, strict=True))
    for execution_id, start in made.items():
        if any(start is wrong for wrong in WRONG):
            assert await states(database, execution_id) == {"call": "dead"}, start
            said = await error(database, execution_id, "call")
            assert said["cause"] in ("invalid_input", "not_found"), said
            assert said["message"]
    count = "SELECT count(*) FROM windlass.execution WHERE workflow = 'child'"
    assert await value(database, count) == len(WRONG)
    assert await value(database, "SELECT count(*) FROM windlass.approval") == len(WRONG)
    assert (await find_neglected(database)).upkeep.children == set()


async def test_questions_that_nobody_can_answer_end_dead_with_the_reason(
    database: Database,
) -> None:
    started = await begin(
        database, [question(name=7), question(name="${x}" * 99), question(form=[1]), *GOOD]
    )
    await run_upkeep(database, started.effects.upkeep)
    number, long, form, _, good = started.execution_ids
    assert (await states(database, number))["hear"] == "dead"
    assert (await states(database, long))["hear"] == "dead"
    assert (await error(database, number, "hear"))["cause"] == "invalid_input"
    assert (await states(database, form))["decide"] == "dead"
    assert await states(database, good) == {"decide": "running", "hear": "running"}


async def test_what_fails_unforeseen_rests_alone_and_is_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_round, "TROUBLED_REST_SECONDS", 300.0)  # longer than this test
    monkeypatch.setattr(isolated_round, "TROUBLED_REST_SECONDS_MAX", 300.0)
    started = await begin(database, GOOD * 8)
    bad = {
        await spoil(database, started.execution_ids[4], "call"),
        await spoil(database, started.execution_ids[7], "decide"),
        await spoil(database, started.execution_ids[9], "hear"),
    }
    counted: list[str] = []
    backoff = ItemBackoff(counted.append)
    await run_upkeep(database, started.effects.upkeep, backoff)
    assert sorted(counted) == ["ask", "ask", "begin children"]
    assert set(backoff.resting_ids) == bad
    assert await value(database, "SELECT count(*) FROM windlass.execution WHERE depth = 1") == 7
    assert await value(database, "SELECT count(*) FROM windlass.approval") == 7

    # Whoever rests is not looked for; another node, which does not know of it, tries again.
    await overdue(database)
    found = (await find_neglected(database, backoff)).upkeep
    assert not found.children | found.waiting_steps
    found = (await find_neglected(database)).upkeep
    assert found.children | found.waiting_steps <= bad
    assert found.children, "a failed one is tried again, and not given up"


async def test_a_fan_out_that_cannot_go_on_holds_up_no_other(database: Database) -> None:
    each = {"kind": "noop", "input": {"of": "${item}"}}
    await publish(
        database,
        trust_definition(
            {
                "name": "fan",
                "steps": [{"id": "all", "kind": "map", "items": "${inputs.n}", "step": each}],
            }
        ),
        by=None,
    )
    started = await start_many(
        database, [Start(workflow="fan", input={"n": [1, 2]}) for _ in range(5)]
    )
    await spoil(database, started.execution_ids[0], "all")
    counted: list[str] = []
    await run_upkeep(database, started.effects.upkeep, ItemBackoff(counted.append))
    assert counted == ["expand fan-outs"]
    items = "SELECT count(*) FROM windlass.job WHERE item IS NOT NULL"
    assert await value(database, items) == 8


async def test_an_execution_ends_although_the_next_of_its_key_cannot_begin(
    database: Database,
) -> None:
    concurrency = {"key": "${inputs.who}", "limit": 1, "policy": "queue"}
    flow = await Flow.start(database, [noop("a")], {"who": "ada"}, concurrency=concurrency)
    # One of a version whose definition nobody can read waits for its turn.
    await sql(
        database,
        "INSERT INTO windlass.workflow_version (workflow, version, hash, definition) "
        "VALUES ('flow', 99, '\\x00', '{}')",
    )
    await put(
        database,
        workflow="flow",
        version=99,
        concurrency_key="ada",
        concurrency_limit=1,
        begun_at=None,
    )
    assert await flow.run() == {"a": "succeeded"}
    assert (await flow.conclude())["state"] == "succeeded"

    # The net finds the room and cannot use it either; what else it found is looked after.
    await begin(database, GOOD)
    await overdue(database)
    counted: list[str] = []
    found = await find_neglected(database, ItemBackoff(counted.append))
    assert counted == ["begin turns"]
    assert len(found.upkeep.children) == 1
    assert len(found.upkeep.waiting_steps) == 1
