"""Executions over HTTP: started once, listed, waited for, and shown with their jobs."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.api.executions.flows import bring_up_to_date, by_hand, publish, read, start
from tests.api.served import Served
from tests.engine.evaluate.stopped import stopped_evaluator
from tests.engine.executions.flow import FAILS, noop
from tests.until import until
from windlass.engine.executions import decide_apart as decide_apart

CHAIN = [noop("first"), noop("second", "first")]
SHOWN = {
    *("id", "workflow", "version", "state", "counts", "input", "output", "error", "created_at"),
    *("started_at", "finished_at", "deadline", "parent", "depth", "priority", "concurrency_key"),
    *("correlation_id", "trace_id", "tags", "paused_at", "cancel_requested_at", "refreshed_at"),
}


async def test_an_execution_is_started_run_and_shown_with_its_output(api: Served) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer", "default": 7}}}
    await publish(api, CHAIN, inputs=schema, timeout="1h", output={"n": "${inputs.n}"})
    made = await start(api, priority="high", correlation_id="c-1", tags=["a", "b"])
    assert made.keys() == SHOWN
    assert made["state"] == "pending"
    assert (made["workflow"], made["version"], made["input"]) == ("flow", 1, {"n": 7})
    assert (made["priority"], made["correlation_id"], made["tags"]) == ("high", "c-1", ["a", "b"])
    assert made["deadline"] is not None
    assert made["parent"] is None
    await (await by_hand(api, made)).run()
    ended = await bring_up_to_date(api, made)
    assert (ended["state"], ended["output"]) == ("succeeded", {"n": 7})
    assert ended["counts"] == {"succeeded": 2}
    assert ended["started_at"] < ended["finished_at"] <= ended["refreshed_at"]


async def test_nothing_need_be_said_to_start_one(api: Served) -> None:
    await publish(api, CHAIN)
    await api.call("POST", "/v1/workflows/flow/executions", 201)
    await api.post("/v1/workflows/flow/executions", {}, 201)
    await api.post("/v1/workflows/flow/executions", {"input": None, "tags": None}, 201)


async def test_the_same_key_starts_one_execution(api: Served) -> None:
    await publish(api, CHAIN)
    path, key = "/v1/workflows/flow/executions", {"Idempotency-Key": "once"}
    first = await api.post(path, {"input": {"a": 1}}, 201, headers=key)
    async with api.client.post(api.url + path, json={"input": {"a": 1}}, headers=key) as again:
        assert again.status == 200
        assert again.headers["Idempotent-Replayed"] == "true"
        assert (await again.json())["id"] == first["id"]
    refused = await api.post(path, {"input": {"a": 2}}, 422, headers=key)
    assert refused["code"] == "idempotency_mismatch"
    assert len((await api.get("/v1/executions"))["data"]) == 1


async def test_an_older_version_can_be_started(api: Served) -> None:
    await publish(api, [noop("first")])
    await publish(api, CHAIN)
    assert (await start(api))["version"] == 2
    assert (await start(api, version=1))["version"] == 1
    await api.post("/v1/workflows/flow/executions", {"version": 3}, 404)


async def test_every_mistake_in_a_start_is_told_with_its_pointer(api: Served) -> None:
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    await publish(api, CHAIN, inputs=schema)
    body = {"version": 0, "priority": "soon", "correlation_id": "", "tags": ["x", 1], "odd": 1}
    refused = await api.post("/v1/workflows/flow/executions", body, 422)
    pointers = {error["pointer"] for error in refused["errors"]}
    assert pointers == {"/version", "/priority", "/correlation_id", "/tags/1", "/odd"}
    refused = await api.post("/v1/workflows/flow/executions", {"input": {"n": "x"}}, 422)
    assert [error["pointer"] for error in refused["errors"]] == ["/input/n"]
    odd: tuple[Any, ...] = ([], "x", {"input": []})
    for body_of_another_shape in odd:
        await api.post("/v1/workflows/flow/executions", body_of_another_shape, 422)
    await api.post("/v1/workflows/nobody/executions", {}, 404)


async def test_a_list_is_newest_first_and_goes_on_where_a_page_ended(api: Served) -> None:
    await publish(api, CHAIN)
    made = [(await start(api))["id"] for _ in range(5)]
    seen: list[str] = []
    path = "/v1/executions?limit=2"
    while path:
        found = await api.get(path)
        assert found.keys() == {"data", "next_cursor"}
        seen += [execution["id"] for execution in found["data"]]
        cursor = found["next_cursor"]
        path = f"/v1/executions?limit=2&cursor={cursor}" if cursor else ""
    assert seen == made[::-1]
    await api.get("/v1/executions?cursor=j_" + "0" * 32, 422)


async def test_a_list_shows_only_what_was_asked_for(api: Served) -> None:
    await publish(api, CHAIN)
    await publish(api, CHAIN, "other")
    before = datetime.now(UTC) - timedelta(minutes=1)
    one = await start(api, tags=["red"], correlation_id="c-1")
    two = await start(api, "other", tags=["red", "blue"])
    await (await by_hand(api, one)).run()
    await bring_up_to_date(api, one)

    async def found(query: str) -> list[str]:
        return [execution["id"] for execution in (await api.get(f"/v1/executions?{query}"))["data"]]

    assert await found("workflow=flow") == [one["id"]]
    assert await found("tag=red") == [two["id"], one["id"]]
    assert await found("tag=blue") == [two["id"]]
    assert await found("correlation_id=c-1") == [one["id"]]
    assert await found("state=succeeded") == [one["id"]]
    assert await found("state=succeeded&state=running,pending") == [two["id"], one["id"]]
    assert len(await found("state=running,pending")) == 1
    instant = before.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert len(await found(f"created_after={instant}")) == 2
    assert await found(f"created_before={instant}") == []
    made = (await api.get(f"/v1/executions/{two['id']}"))["created_at"]
    assert await found(f"created_after={made}") == [two["id"]]
    assert await found(f"created_before={made}") == [one["id"]]
    ended = (await api.get(f"/v1/executions/{one['id']}"))["finished_at"]
    assert await found(f"finished_after={ended}") == [one["id"]]
    assert await found(f"finished_before={ended}") == []


async def test_what_is_no_execution_is_refused_clearly(api: Served) -> None:
    unknown = "exe_" + "0" * 32
    for word in ("", "/jobs", "/events", "/graph", "/why"):
        assert (await api.get(f"/v1/executions/{unknown}{word}", 404))["code"] == "not_found"
        refused = await api.get(f"/v1/executions/job_123{word}", 422)
        assert "exe_<32 hex digits>" in refused["errors"][0]["detail"]
    for query in ("state=dead", "limit=0", "odd=1", "created_after=soon"):
        await api.get(f"/v1/executions?{query}", 422)


async def test_who_waits_is_answered_when_the_execution_has_ended(api: Served) -> None:
    await publish(api, CHAIN, output="${steps.second.output}")
    made = await start(api)
    waiting = asyncio.create_task(api.get(f"/v1/executions/{made['id']}?wait=30s"))
    await until(lambda: bool(api.parts.waiters._waiting), within_seconds=10)
    await (await by_hand(api, made)).run()
    assert not waiting.done()
    await bring_up_to_date(api, made)
    answered = await waiting
    assert (answered["state"], answered["output"]) == ("succeeded", "second")
    assert await api.get(f"/v1/executions/{made['id']}?wait=30s") == answered


async def test_who_waits_too_shortly_gets_it_as_it_is(api: Served) -> None:
    await publish(api, CHAIN)
    made = await start(api)
    assert (await api.get(f"/v1/executions/{made['id']}?wait=10ms"))["state"] == "pending"


async def test_jobs_are_listed_by_step_and_item_page_by_page(api: Served) -> None:
    each: dict[str, Any] = {"kind": "noop"}
    steps = [
        {"id": "b", "kind": "map", "items": "${inputs.items}", "step": each},
        noop("a"),
        noop("c", "b"),
    ]
    await publish(api, steps)
    made = await start(api, input={"items": list(range(7))})
    flow = await by_hand(api, made)
    first = (await flow.database.read("execution_open_jobs", flow.execution_id, 100))[0]
    assert first["item"] is None
    await flow.turn()
    await flow.run()
    seen: list[tuple[str, int | None]] = []
    path = f"/v1/executions/{made['id']}/jobs?limit=3"
    cursor: str | None = ""
    while cursor is not None:
        found = await api.get(path + (f"&cursor={cursor}" if cursor else ""))
        seen += [(job["step"], job["item"]) for job in found["data"]]
        assert {job["execution_id"] for job in found["data"]} <= {made["id"]}
        cursor = found["next_cursor"]
    assert seen == [("a", None), *(("b", n) for n in range(7)), ("b", None), ("c", None)]


async def test_a_child_names_the_step_that_waits_for_it(api: Served) -> None:
    await publish(api, [noop("inside")], "child")
    await publish(api, [{"id": "call", "kind": "workflow", "input": {"workflow": "child"}}])
    made = await start(api)
    [child] = (await api.get("/v1/executions?workflow=child"))["data"]
    [job] = (await read(api, made, "jobs"))["data"]
    assert child["parent"] == {"execution_id": made["id"], "job_id": job["id"]}
    assert child["depth"] == 1
    await (await by_hand(api, child)).run(inside=FAILS)
    await bring_up_to_date(api, child)
    ended = await bring_up_to_date(api, made)
    assert ended["state"] == "failed"
    assert ended["error"]["cause"] == "child_failed"
    [child] = (await api.get("/v1/executions?workflow=child"))["data"]
    assert child["parent"]["execution_id"] == made["id"]


async def test_a_job_says_which_step_it_is(api: Served) -> None:
    await publish(api, CHAIN)
    made = await start(api)
    [job] = (await api.get(f"/v1/jobs?execution_id={made['id']}"))["data"]
    assert (job["step"], job["item"], job["execution_id"]) == ("first", None, made["id"])
    assert (await api.submit())["step"] is None


async def test_who_finds_no_room_for_a_heavy_start_is_told_when_to_come_again(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decide_apart, "EVALUATIONS_OF_ONE_MAX", 1)
    await publish(api, CHAIN, inputs={"properties": {"list": {"uniqueItems": True}}})
    path, heavy = "/v1/workflows/flow/executions", {"input": {"list": list(range(20_000))}}
    async with stopped_evaluator():
        first = asyncio.create_task(api.post(path, heavy, 201))
        await until(lambda: len(decide_apart.WAITING) == 1, within_seconds=60)
        key = {"Idempotency-Key": "again"}
        async with api.client.post(api.url + path, json=heavy, headers=key) as answer:
            assert answer.status == 503
            assert answer.headers["Retry-After"] == "1"
            assert (await answer.json(content_type=None))["code"] == "evaluations_full"
        await api.post(path, {"input": {"list": [1, 2]}}, 201)
        await api.get("/health/live")
    await first
    await api.post(path, heavy, 201, headers=key)
