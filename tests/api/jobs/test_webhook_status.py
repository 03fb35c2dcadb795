"""A webhook's deliveries over HTTP: what was sent, what came back, and when the next one goes."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from windlass.engine.jobs.claim import park
from windlass.model.job.outcome import Awaited, Failed, Outcome, Succeeded

RECORD = {
    "method": "POST",
    "status_code": 503,
    "request_headers": {"webhook-id": "job_1", "authorization": "…"},
    "response_headers": {"content-type": "text/plain"},
    "response_excerpt": "come back later",
    "timings_ms": {"dns": 1.25, "connect": 0.5, "first_byte": 10.125, "total": 12.0},
    "address": "203.0.113.7",
    "is_reused": False,
}


async def webhook(api: Served, **fields: Any) -> str:
    url = {"url": "https://shop.example/hooks"}
    made = await api.submit(kind="http", input=url, **fields)
    assert made["target"] == "shop.example"
    return str(made["id"])


async def deliver(node: ActingNode, outcome: Outcome, detail: dict[str, Any] | None = None) -> None:
    [attempt] = await node.claim()
    attempt.detail = detail
    await node.settle(attempt, outcome)


async def status(api: Served, job_id: str) -> dict[str, Any]:
    found: dict[str, Any] = await api.get(f"/v1/jobs/{job_id}/webhook-status")
    return found


async def test_every_delivery_is_shown_as_it_went_over_the_wire(
    api: Served, node: ActingNode
) -> None:
    job_id = await webhook(api, retry={"initial": 0, "jitter": False})
    assert await status(api, job_id) == {
        "state": "queued",
        "deliveries": [],
        "next_attempt_at": (await api.get(f"/v1/jobs/{job_id}"))["run_at"],
        "target": {"host": "shop.example", "breaker": "closed"},
    }
    answer = {"status_code": 503, "body": "come back later"}
    await deliver(node, Failed("http 503", "the receiver answered 503", answer), RECORD)
    good = {**RECORD, "status_code": 200, "response_excerpt": "thanks", "is_reused": True}
    await deliver(node, Succeeded(b'{"status_code": 200, "body": "thanks"}'), good)
    found = await status(api, job_id)
    assert (found["state"], found["next_attempt_at"]) == ("succeeded", None)
    first, last = found["deliveries"]
    assert {name: first[name] for name in RECORD} == RECORD
    assert (first["attempt"], first["fence"], first["outcome"]) == (1, 1, "failed")
    assert first["error"]["cause"] == "http 503"
    assert first["duration_ms"] >= 0
    assert first["node_id"] == f"node_{node.node_id.hex}"
    assert {name: last[name] for name in good} == good
    assert (last["attempt"], last["outcome"], last["error"]) == (2, "succeeded", None)
    attempts = (await api.get(f"/v1/jobs/{job_id}/attempts"))["data"]
    assert [attempt["detail"] for attempt in attempts] == [RECORD, good]


async def test_a_replay_keeps_the_deliveries_that_were(api: Served, node: ActingNode) -> None:
    job_id = await webhook(api)
    await deliver(node, Failed("http 404", "not there", {}, is_final=True), RECORD)
    before = (await status(api, job_id))["deliveries"]
    await api.post(f"/v1/jobs/{job_id}/retry")
    found = await status(api, job_id)
    assert (found["state"], found["deliveries"]) == ("queued", before)
    assert (await api.get(f"/v1/jobs/{job_id}"))["target"] == "shop.example"


async def test_a_delivery_without_a_record_shows_what_its_answer_tells(
    api: Served, node: ActingNode
) -> None:
    job_id = await webhook(api, retry={"initial": 0, "jitter": False})
    await deliver(node, Failed("http 500", "broke", {"status_code": 500, "body": "oh no"}))
    await deliver(node, Succeeded(b'{"status_code": 202, "body": {"ok": true}}'))
    failed, done = (await status(api, job_id))["deliveries"]
    assert (failed["status_code"], failed["response_excerpt"]) == (500, "oh no")
    assert (done["status_code"], done["response_excerpt"]) == (202, '{"ok": true}')
    assert (failed["request_headers"], failed["response_headers"]) == ({}, {})
    assert (failed["timings_ms"], failed["address"]) == ({}, None)


async def test_a_delivery_under_way_has_no_outcome_yet(api: Served, node: ActingNode) -> None:
    job_id = await webhook(api, retry={"initial": 0, "jitter": False})
    await deliver(node, Failed("http 500", "broke", {"status_code": 500}), RECORD)
    await node.claim()
    found = await status(api, job_id)
    assert (found["state"], found["next_attempt_at"]) == ("running", None)
    under_way = found["deliveries"][1]
    assert (under_way["attempt"], under_way["outcome"], under_way["duration_ms"]) == (2, None, None)
    assert (under_way["error"], under_way["status_code"]) == (None, None)


async def test_a_delivery_that_its_receiver_has_taken_is_shown_as_it_was_answered(
    api: Served, node: ActingNode
) -> None:
    job_id = await webhook(api)
    taken = {**RECORD, "status_code": 202}
    await deliver(node, Awaited(sha256(b"token").digest(), 60.0), taken)
    found = await status(api, job_id)
    assert (found["state"], found["next_attempt_at"]) == ("running", None)
    [delivery] = found["deliveries"]
    assert (delivery["outcome"], delivery["duration_ms"]) == (None, None)
    assert {name: delivery[name] for name in taken} == taken


async def test_a_parked_webhook_goes_when_its_target_may(api: Served, node: ActingNode) -> None:
    job_id = await webhook(api)
    await park(api.database, await node.claim(), ["breaker"])
    assert (await status(api, job_id))["next_attempt_at"] is None
    await api.database.run("target_open", "shop.example", "http 503", 0.0)
    found = await status(api, job_id)
    target = await api.get("/v1/targets/shop.example")
    assert found["target"] == {"host": "shop.example", "breaker": "open"}
    assert found["next_attempt_at"] == target["breaker"]["open_until"]
    assert (found["state"], found["deliveries"]) == ("queued", [])


async def test_a_job_of_another_kind_is_no_webhook(api: Served) -> None:
    made = await api.submit()
    assert made["target"] is None
    refused = await api.get(f"/v1/jobs/{made['id']}/webhook-status", 409)
    assert refused["code"] == "not_a_webhook"
    await api.get(f"/v1/jobs/job_{'0' * 32}/webhook-status", 404)


async def test_jobs_are_listed_by_whom_they_call(api: Served) -> None:
    job_id = await webhook(api)
    await api.submit(kind="http", input={"url": "http://shop.example/"})
    await api.submit()
    found = (await api.get("/v1/jobs?target=Shop.example:443"))["data"]
    assert [job["id"] for job in found] == [job_id]
    assert len((await api.get("/v1/jobs?target=shop.example:80"))["data"]) == 1
    await api.get("/v1/jobs?target=a%20b", 422)
