"""Numbers that no door takes today and that an earlier build may have stored: they can be read."""

from __future__ import annotations

import json
from typing import Any

import asyncpg
import pytest

from tests.api.acting_node import ActingNode
from tests.api.executions.flows import bring_up_to_date, by_hand, publish, start
from tests.api.served import Served
from tests.engine.executions.flow import FAILS, noop
from windlass.model.job.outcome import Failed, Outcome, Succeeded

# As it was written, and as jsonb writes it: Python makes an int of neither.
HUGE = {"exponent": "1e100000", "digits": "1" + "0" * 100_000}
# Columns that hold values of users, and what can be read of them.
COLUMNS = {
    "job": ["input", "error"],
    "job_history": ["input", "result", "error", "detail"],
    "attempt": ["error", "detail"],
    "event": ["data"],
    "execution": ["input", "output", "error"],
    "approval": ["answer"],
    "schedule": ["job"],
}
# {{}} alone is no object to put a comma into.
PUT_IN = """
UPDATE windlass.{table} SET {column} = CASE json_typeof({column})
    WHEN 'object' THEN (left({column}::text, -1) || CASE WHEN {column}::text ~ '[^{{}}\\s]'
                        THEN ',' ELSE '' END || '"huge":' || $1::text || '}}')::json
    ELSE $1::text::json END
WHERE {column} IS NOT NULL
"""
ABOUT = {
    "/v1/jobs": ["", "/attempts", "/events", "/logs", "/why"],
    "/v1/executions": ["", "/jobs", "/events", "/graph", "/why"],
    "/v1/schedules": ["", "/next", "/firings"],
    "/v1/dead-letters": [],
    "/v1/dead-letters/groups": [],
    "/v1/approvals": [],
    "/v1/events": [],
}
HOOK = {"kind": "http", "input": {"url": "https://shop.example/hook"}}


async def store(api: Served, number: str) -> None:
    """As an earlier build would have left it: past the doors, and past the triggers."""
    connection = await asyncpg.connect(api.database.url)
    try:
        await connection.execute("SET session_replication_role = replica")
        for table, columns in COLUMNS.items():
            for column in columns:
                put_in = PUT_IN.format(table=table, column=column)
                assert await connection.execute(put_in, number) != "UPDATE 0", f"{table}.{column}"
    finally:
        await connection.close()


async def read(api: Served, path: str) -> Any:
    """As somebody reads it who minds no number."""
    async with api.client.get(api.url + path) as answer:
        text = await answer.text()
        assert answer.status == 200, f"{path}: {answer.status} {text[:300]}"
        return json.loads(text, parse_int=str)


async def try_once(node: ActingNode, outcome: Outcome) -> None:
    for attempt in await node.claim():
        attempt.detail = {"address": "192.0.2.1"}
        await node.settle(attempt, outcome)


@pytest.mark.parametrize("number", HUGE.values(), ids=HUGE)
async def test_numbers_that_an_earlier_build_stored_can_be_read(
    api: Served, node: ActingNode, number: str
) -> None:
    hooks = []
    for outcome in (Succeeded(b"1"), FAILS, Failed("boom", "it broke")):
        hooks.append(await api.submit(**HOOK))
        await try_once(node, outcome)
    await publish(api, [noop("a"), noop("b", "a")], output={"all": "is well"})
    question = {"id": "ask", "kind": "approval", "needs": ["a"], "input": {"title": "may it?"}}
    await publish(api, [noop("a"), question], name="asks")
    for name, outcomes in (("flow", {}), ("flow", {"b": FAILS}), ("asks", {})):
        execution = await start(api, name, input={"who": "ada"})
        await (await by_hand(api, execution)).run(**outcomes)
        await bring_up_to_date(api, execution)
    [asked] = (await api.get("/v1/approvals"))["data"]
    await api.post(f"/v1/approvals/{asked['id']}/approve", {"answer": {"amount": 1}})
    await api.post("/v1/schedules", {"name": "s", "every": "1h", "job": {"kind": "noop"}}, 201)
    await store(api, number)
    for path, words in ABOUT.items():
        found = (await read(api, path))["data"]
        assert found, path
        for thing in found:
            for word in words:
                await read(api, f"{path}/{thing['id']}{word}")
    for hook in hooks:
        await read(api, f"/v1/jobs/{hook['id']}/webhook-status")
