"""Jobs over HTTP: submitted, read, listed, waited for, cancelled, retried, deleted."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Any

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from tests.until import until
from windlass.limits import HINT_JOBS_MAX
from windlass.model.job.outcome import Failed
from windlass.model.job.submission import FIELDS

# Shown by the node's clock when answered, by the database's when read.
MOVING = {"created_at", "run_at"}


async def test_a_submitted_job_is_answered_as_it_is_read_later(api: Served) -> None:
    made = await api.submit(
        input={"n": 1}, tags=["a"], timeout="30s", correlation_id="c", key="k", delay="1h"
    )
    read = await api.get(f"/v1/jobs/{made['id']}")
    assert list(made) == list(read)
    assert {k: v for k, v in made.items() if k not in MOVING} == {
        k: v for k, v in read.items() if k not in MOVING
    }
    assert read["state"] == "queued"
    assert read["timeout"] == 30
    assert read["created_at"].endswith("Z")


async def test_every_text_of_a_caller_is_shown_at_once_and_later(api: Served) -> None:
    texts = {name: f"a {name}" for name, field in FIELDS.items() if field.chars_max is not None}
    made = await api.submit(**texts)
    read = await api.get(f"/v1/jobs/{made['id']}")
    assert {"key", "correlation_id"} <= texts.keys()
    assert {name: made[name] for name in texts} == texts
    assert {name: read[name] for name in texts} == texts


async def test_the_same_idempotency_key_is_answered_with_the_same_job(api: Served) -> None:
    headers = {"Idempotency-Key": "order-1"}
    body = {"kind": "noop", "input": {"n": 1}}
    made = await api.post("/v1/jobs", body, 201, headers=headers)
    async with api.client.post(api.url + "/v1/jobs", json=body, headers=headers) as again:
        assert again.status == 200
        assert again.headers["Idempotent-Replayed"] == "true"
        assert (await again.json())["id"] == made["id"]
    other = await api.post("/v1/jobs", {"kind": "noop"}, 422, headers=headers)
    assert other["code"] == "idempotency_mismatch"


async def test_a_batch_is_idempotent_too(api: Served) -> None:
    headers = {"Idempotency-Key": "batch-1"}
    body = {"jobs": [{"kind": "noop"}, {"kind": "noop"}]}
    made = await api.post("/v1/jobs/batch", body, 201, headers=headers)
    again = await api.post("/v1/jobs/batch", body, 200, headers=headers)
    assert made == again
    assert len(set(made["ids"])) == 2


async def test_a_unique_key_that_is_taken_is_answered_with_the_job_that_has_it(
    api: Served,
) -> None:
    made = await api.submit(key="order-42")
    body = {"kind": "noop", "key": "order-42", "input": {"other": True}}
    async with api.client.post(api.url + "/v1/jobs", json=body) as again:
        assert again.status == 200
        assert again.headers["Windlass-Existing"] == "true"
        assert (await again.json())["id"] == made["id"]
    assert [job["id"] for job in (await api.get("/v1/jobs?key=order-42"))["data"]] == [made["id"]]


async def test_a_full_queue_refuses_with_its_figures(api: Served) -> None:
    await api.call("PUT", "/v1/queues/small", 200, json={"max_jobs": 1})
    await api.submit(queue="small")
    async with api.client.post(
        api.url + "/v1/jobs", json={"kind": "noop", "queue": "small"}
    ) as refused:
        assert refused.status == 429
        assert int(refused.headers["Retry-After"]) > 0
        problem = await refused.json(content_type="application/problem+json")
    facts = {name: problem[name] for name in ("code", "limit", "current", "requested", "unit")}
    assert facts == {
        "code": "queue_full",
        "limit": 1,
        "current": 1,
        "requested": 1,
        "unit": "jobs",
    }


async def test_a_trace_is_taken_over_when_it_is_well_formed(api: Served) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    assert (await api.post("/v1/jobs", {"kind": "noop"}, 201, headers=headers))["trace_id"] == trace
    headers = {"traceparent": f"00-{'0' * 32}-00f067aa0ba902b7-01"}
    made = await api.post("/v1/jobs", {"kind": "noop"}, 201, headers=headers)
    assert len(made["trace_id"]) == 32
    assert made["trace_id"].strip("0")


async def test_a_list_pages_through_everything_once_newest_first(
    api: Served, node: ActingNode
) -> None:
    await api.post("/v1/jobs/batch", {"jobs": [{"kind": "noop"}] * 7}, 201)
    await node.run()
    await api.post("/v1/jobs/batch", {"jobs": [{"kind": "noop"}] * 6}, 201)
    seen: list[str] = []
    path = "/v1/jobs?limit=5"
    while True:
        page = await api.get(path)
        seen += [job["id"] for job in page["data"]]
        if page["next_cursor"] is None:
            break
        path = f"/v1/jobs?limit=5&cursor={page['next_cursor']}"
    assert len(seen) == 13
    assert seen == sorted(set(seen), reverse=True)


async def test_a_list_answers_what_was_asked_for(api: Served, node: ActingNode) -> None:
    mail = await api.submit(queue="mail", tags=["red", "blue"], correlation_id="c1")
    await node.bury()
    wait = await api.submit(kind="wait", input={"seconds": 1}, tags=["blue"])

    async def found(query: str) -> list[str]:
        return [job["id"] for job in (await api.get(f"/v1/jobs?{query}"))["data"]]

    assert await found("queue=mail") == [mail["id"]]
    assert await found("kind=wait") == [wait["id"]]
    assert await found("tag=red") == [mail["id"]]
    assert await found("tag=blue") == [wait["id"], mail["id"]]
    assert await found("correlation_id=c1") == [mail["id"]]
    assert await found("state=dead") == [mail["id"]]
    assert await found("state=queued") == [wait["id"]]
    assert await found("state=queued&state=dead") == [wait["id"], mail["id"]]
    assert await found("state=queued,dead&tag=red") == [mail["id"]]
    assert await found(f"execution_id=exe_{'0' * 32}") == []
    read = await api.get(f"/v1/jobs/{wait['id']}")
    assert await found(f"created_after={read['created_at']}") == [wait["id"]]
    assert await found(f"created_before={read['created_at']}") == [mail["id"]]


async def test_a_caller_that_waits_is_answered_as_soon_as_the_job_ends(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit()
    waiting = asyncio.create_task(api.get(f"/v1/jobs/{made['id']}?wait=20s"))
    # The request has reached them.
    await until(lambda: bool(api.parts.waiters._waiting), within_seconds=10)
    [attempt] = await node.claim()
    settled = await node.settle(attempt, Failed("x", "y", is_final=True))
    assert not waiting.done()
    api.parts.announcer.ends(settled.effects.ended)
    ended = await asyncio.wait_for(waiting, 10)
    assert ended["state"] == "dead"
    assert ended["error"] == {"cause": "x", "message": "y"}


async def test_a_wait_that_is_over_answers_the_job_as_it_is(api: Served) -> None:
    made = await api.submit()
    assert (await api.get(f"/v1/jobs/{made['id']}?wait=10ms"))["state"] == "queued"


async def test_a_waiting_job_is_cancelled_at_once(api: Served) -> None:
    made = await api.submit()
    path = f"/v1/jobs/{made['id']}/cancel"
    assert (await api.post(path))["state"] == "cancelled"
    assert (await api.post(path))["state"] == "cancelled"  # and saying it again does no harm


async def test_a_running_job_is_asked_to_stop_and_cannot_succeed(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit()
    heard: list[Any] = []
    api.parts.announcer.on_cancel(heard.append)
    [attempt] = await node.claim()
    asked = await api.post(f"/v1/jobs/{made['id']}/cancel", status=202)
    assert asked["state"] == "running"
    assert asked["cancel_requested_at"] is not None
    assert attempt.job_id in heard
    await api.post(f"/v1/jobs/{made['id']}/cancel", status=202)
    await node.settle(attempt, Failed("late", "too late", is_final=True))
    assert (await api.get(f"/v1/jobs/{made['id']}"))["state"] == "cancelled"


async def test_what_has_ended_is_retried_deleted_and_not_cancelled(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit()
    path = f"/v1/jobs/{made['id']}"
    await api.post(f"{path}/retry", status=409)
    await node.bury()
    await api.post(f"{path}/cancel", status=409)
    await api.post(f"{path}/promote", status=409)
    again = await api.post(f"{path}/retry")
    assert (again["state"], again["replays"], again["attempt"]) == ("queued", 1, 1)
    await api.call("DELETE", path, 409)
    await node.run()
    await api.call("DELETE", path, 204)
    await api.get(path, 404)


async def test_a_job_that_rests_before_its_next_try_is_due_now_when_retried(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit(retry={"max_attempts": 3, "initial": "1h", "max": "1h"})
    await node.run(Failed("x", "y"))
    path = f"/v1/jobs/{made['id']}"
    assert await node.claim() == []
    assert (await api.post(f"{path}/retry"))["state"] == "queued"
    assert len(await node.claim()) == 1
    await api.post(f"{path}/retry", status=409)


async def test_promoting_a_job_that_is_due_tells_the_nodes_of_it(api: Served) -> None:
    """What came by SQL was committed by somebody who cannot."""
    heard: list[tuple[str, int]] = []
    api.parts.announcer.on_line(lambda line, _: heard.append(line))
    async with api.database.side() as connection:
        job = '{"kind": "noop", "queue": "quiet"}'
        made = await connection.fetchval("SELECT windlass.enqueue($1::text::jsonb)", job)
    assert ("quiet", 1) not in heard
    before = await api.get(f"/v1/jobs/{made}")
    assert (await api.post(f"/v1/jobs/{made}/promote"))["run_at"] == before["run_at"]
    assert ("quiet", 1) in heard


async def test_a_hint_names_the_lines_of_jobs_that_came_by_sql_and_changes_nothing(
    api: Served,
) -> None:
    heard: dict[tuple[str, int], datetime] = {}
    api.parts.announcer.on_line(heard.__setitem__)
    jobs = [
        {"kind": "noop", "queue": "hinted"},
        {"kind": "noop", "queue": "hinted", "priority": "high", "delay": "1h"},
    ]
    async with api.database.side() as connection:
        made = [
            await connection.fetchval("SELECT windlass.enqueue($1::text::jsonb)", json.dumps(job))
            for job in jobs
        ]
    await api.post("/v1/jobs/hint", {"ids": [*made, "job_" + "0" * 32]}, 204)
    shown = [await api.get(f"/v1/jobs/{job_id}") for job_id in made]
    due = [datetime.fromisoformat(job["run_at"]) for job in shown]
    assert heard == {("hinted", 1): due[0], ("hinted", 2): due[1]}
    assert [job["state"] for job in shown] == ["queued", "queued"]
    looks: list[float] = []
    api.parts.announcer.on_lock_due(looks.append)
    await api.post("/v1/jobs/hint", {"ids": made}, 204)
    assert looks == []
    async with api.database.side() as connection:
        limited = {"kind": "noop", "limits": [{"name": "hinted", "max_running": 1}]}
        call = "SELECT windlass.enqueue($1::text::jsonb)"
        waiting = await connection.fetchval(call, json.dumps(limited))
    await api.post("/v1/jobs/hint", {"ids": [waiting]}, 204)
    assert looks == [0.0], "it waits for somebody who looks at its limit"
    refused: list[Any] = [{}, [], *({"ids": wrong} for wrong in ([], made[0], [1], None))]
    for wrong in [*refused, {"ids": made, "of": 1}]:
        await api.post("/v1/jobs/hint", wrong, 422)
    many = ["job_" + "0" * 32] * (HINT_JOBS_MAX + 1)
    await api.post("/v1/jobs/hint", {"ids": many}, 422)


async def test_a_delayed_job_is_promoted(api: Served, node: ActingNode) -> None:
    made = await api.submit(delay="1h")
    assert await node.claim() == []
    await api.post(f"/v1/jobs/{made['id']}/promote")
    assert len(await node.claim()) == 1


async def test_a_job_of_a_batch_waits_for_its_parents(api: Served, node: ActingNode) -> None:
    jobs = [{"kind": "noop"}, {"kind": "noop", "depends_on": ["#0"]}]
    parent, child = (await api.post("/v1/jobs/batch", {"jobs": jobs}, 201))["ids"]
    read = await api.get(f"/v1/jobs/{child}")
    assert (read["state"], read["depends_on"]) == ("blocked", [parent])
    other = await api.submit(depends_on=[parent])
    assert other["state"] == "blocked"
    await node.run()
    assert (await api.get(f"/v1/jobs/{child}"))["state"] == "queued"
    late = await api.submit(depends_on=[parent])
    assert late["state"] == "queued"


async def test_attempts_are_shown_in_order_with_how_each_ended(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit(retry={"max_attempts": 3, "initial": 0})
    await node.run(Failed("x", "first"))
    await node.run(Failed("x", "second"))
    [attempt] = await node.claim()
    tried = (await api.get(f"/v1/jobs/{made['id']}/attempts"))["data"]
    assert [(one["attempt"], one["outcome"]) for one in tried] == [
        (1, "failed"),
        (2, "failed"),
        (3, None),
    ]
    assert tried[0]["error"]["message"] == "first"
    await node.settle(attempt, Failed("x", "third"))
    last = (await api.get(f"/v1/jobs/{made['id']}/attempts"))["data"][-1]
    assert (last["outcome"], last["error"]["message"]) == ("failed", "third")
    assert last["node_id"] == f"node_{node.node_id.hex}"


@pytest.mark.parametrize("word", ["", "/attempts", "/events", "/why"])
async def test_a_job_that_is_not_known_is_not_found(api: Served, word: str) -> None:
    problem = await api.get(f"/v1/jobs/job_{'0' * 32}{word}", 404)
    assert problem["code"] == "not_found"
