"""Verbs on executions through the API: what they answer, and what they refuse."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from tests.api.executions.flows import bring_up_to_date, by_hand, publish, read, start
from tests.api.served import Served
from tests.engine.executions.flow import FAILS, noop
from tests.engine.hands import sql, take_one
from windlass import ids
from windlass.limits import NAME_CHARS_MAX, RESULT_BYTES_MAX, SIGNALS_KEPT_MAX

SIGNAL = {"id": "go", "kind": "signal", "input": {"name": "go"}}


def path(execution: dict[str, Any], verb: str) -> str:
    return f"/v1/executions/{execution['id']}/{verb}"


def nobody() -> dict[str, Any]:
    return {"id": ids.show("execution", uuid4())}


async def test_cancel_asks_what_runs_and_ends_the_rest(api: Served) -> None:
    await publish(api, [noop("a"), noop("b")])
    execution = await start(api)
    flow = await by_hand(api, execution)
    attempt = await take_one(api.database, flow.node_id)
    said = await api.post(path(execution, "cancel"), status=202)
    assert said["cancel_requested_at"] is not None
    await api.post(path(execution, "cancel"), status=202)
    await flow.end(attempt)
    assert (await bring_up_to_date(api, execution))["state"] == "cancelled"
    assert (await api.post(path(execution, "cancel")))["state"] == "cancelled"


async def test_what_has_ended_is_not_cancelled_paused_or_signalled(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    await (await by_hand(api, execution)).run()
    assert (await bring_up_to_date(api, execution))["state"] == "succeeded"
    for verb in ("cancel", "pause", "resume", "signals/go"):
        said = await api.post(path(execution, verb), status=409)
        assert said["code"] == "execution_ended", verb
        assert "rerun" in said["detail"]


@pytest.mark.parametrize("verb", ["cancel", "pause", "resume", "rerun", "signals/go"])
async def test_who_is_not_there_is_not_found(door: Served, verb: str) -> None:
    await door.post(path(nobody(), verb), status=404)
    said = await door.post(f"/v1/executions/exe_1/{verb}", status=422)
    assert said["errors"][0]["pointer"] == "{execution_id}"


async def test_pause_and_resume(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    assert (await api.post(path(execution, "pause")))["paused_at"] is not None
    assert (await bring_up_to_date(api, execution))["state"] == "paused"
    assert (await api.post(path(execution, "resume")))["paused_at"] is None
    assert (await (await by_hand(api, execution)).run())["a"] == "succeeded"


async def test_rerun(api: Served) -> None:
    await publish(api, [noop("a"), noop("b", "a")])
    execution = await start(api)
    assert (await api.post(path(execution, "rerun"), status=409))["code"] == "execution_open"
    flow = await by_hand(api, execution)
    await flow.run(b=FAILS)
    assert (await bring_up_to_date(api, execution))["state"] == "failed"
    said = await api.post(path(execution, "rerun"), {"from_step": "x"}, 422)
    assert said["errors"] == [
        {"pointer": "/from_step", "detail": "'x' is no step of it; known are a b"}
    ]
    said = await api.post(path(execution, "rerun"))
    assert (said["state"], said["finished_at"], said["error"]) == ("running", None, None)
    flow.outcomes.clear()
    await flow.run()
    assert (await bring_up_to_date(api, execution))["state"] == "succeeded"
    assert (await api.post(path(execution, "rerun"), status=409))["code"] == "nothing_to_rerun"
    assert (await api.post(path(execution, "rerun"), {"from_step": "b"}))["state"] == "running"
    types = [event["type"] for event in (await read(api, execution, "events"))["data"]]
    assert types.count("rerun") == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([], ""),
        ({"from": "a"}, "/from"),
        ({"from_step": 1}, "/from_step"),
        ({"from_step": ""}, "/from_step"),
    ],
)
async def test_bad_reruns_are_told(door: Served, body: Any, pointer: str) -> None:
    said = await door.post(path(nobody(), "rerun"), body, 422)
    assert [problem["pointer"] for problem in said["errors"]] == [pointer]


async def test_a_signal_ends_the_step_that_waits_for_it(api: Served) -> None:
    await publish(api, [SIGNAL], output="${steps.go.output}")
    execution = await start(api)
    said = await api.post(path(execution, "signals/go"), {"payload": {"n": [1]}}, 201)
    assert said["id"].startswith("sig_")
    assert said["taken_by"].startswith("job_")
    done = await bring_up_to_date(api, execution)
    assert (done["state"], done["output"]) == ("succeeded", {"n": [1]})


async def test_an_early_signal_is_kept_and_a_repeated_one_counts_once(api: Served) -> None:
    await publish(
        api, [noop("a"), {**SIGNAL, "needs": ["a"]}, {**SIGNAL, "id": "more", "needs": ["go"]}]
    )
    execution = await start(api)
    key = {"headers": {"Idempotency-Key": "once"}}
    first = await api.post(path(execution, "signals/go"), {"payload": 1}, 201, **key)
    assert first["taken_by"] is None
    again = await api.post(path(execution, "signals/go"), {"payload": 1}, 200, **key)
    assert again["id"] == first["id"]
    await api.post(path(execution, "signals/go"), {"payload": 2}, 422, **key)
    flow = await by_hand(api, execution)
    states = await flow.run()
    assert (states["go"], states["more"]) == ("succeeded", "running")
    again = await api.post(path(execution, "signals/go"), {"payload": 1}, 200, **key)
    assert again["taken_by"] is not None


async def test_bad_signals_are_told(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    bad: list[tuple[str, Any, str]] = [
        ("x" * (NAME_CHARS_MAX + 1), {}, "{name}"),
        ("%07", {}, "{name}"),
        ("go", {"paylod": 1}, "/paylod"),
        ("go", [1], ""),
        ("go", {"payload": "\0"}, "/payload"),
    ]
    for name, body, pointer in bad:
        said = await api.post(path(execution, f"signals/{name}"), body, 422)
        assert [problem["pointer"] for problem in said["errors"]] == [pointer]


async def test_a_payload_that_no_step_could_hold_is_told(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    body = io.BytesIO(msgspec.json.encode({"payload": "x" * RESULT_BYTES_MAX}))
    headers = {"Content-Type": "application/json"}
    where = path(execution, "signals/go")
    said = await api.call("POST", where, 422, data=body, headers=headers)
    assert said["errors"][0]["pointer"] == "/payload"


async def test_signals_that_nobody_asks_for_come_to_an_end(api: Served) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    await sql(
        api.database,
        "INSERT INTO windlass.execution_signal (id, execution_id, name)"
        " SELECT gen_random_uuid(), $1, 'go' FROM generate_series(1, $2)",
        ids.parse("execution", execution["id"]),
        SIGNALS_KEPT_MAX,
    )
    said = await api.post(path(execution, "signals/go"), status=429)
    assert (said["code"], said["limit"]) == ("signals_full", SIGNALS_KEPT_MAX)


async def test_a_policy_that_refuses_is_told_with_the_one_that_runs(api: Served) -> None:
    await publish(api, [noop("a")], concurrency={"key": "one", "policy": "fail"})
    first = await start(api)
    said = await api.post("/v1/workflows/flow/executions", {}, 409)
    assert (said["code"], said["execution_id"]) == ("concurrency_limit", first["id"])


async def test_a_dead_steps_job_is_retried_and_its_execution_goes_on(api: Served) -> None:
    await publish(
        api, [noop("a"), noop("b", "a"), {"id": "no", "kind": "fail", "input": {"message": "x"}}]
    )
    execution = await start(api)
    flow = await by_hand(api, execution)
    await flow.run(a=FAILS)
    assert (await bring_up_to_date(api, execution))["state"] == "failed"
    jobs = {job["step"]: job for job in (await read(api, execution, "jobs"))["data"]}
    said = await api.post(f"/v1/jobs/{jobs['no']['id']}/retry", status=409)
    assert said["code"] == "not_replayable"
    await api.call("DELETE", f"/v1/jobs/{jobs['b']['id']}", 204)
    said = await api.post(f"/v1/jobs/{jobs['a']['id']}/retry")
    assert said["state"] == "queued"
    assert (await read(api, execution))["state"] == "running"
    await api.call("DELETE", f"/v1/jobs/{jobs['no']['id']}", 409)
    for body in ({"ids": [jobs["no"]["id"]]}, {"filter": {"cause": "failed_by_definition"}}):
        said = await api.post("/v1/dead-letters/replay", body)
        assert (said["replayed"], said["left"]) == (0, 1)
        assert said["left_jobs"][0]["id"] == jobs["no"]["id"]
        assert "step" in said["left_jobs"][0]["reason"]
