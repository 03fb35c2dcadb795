"""Refusals of a real node, as the classes and with the facts that it raised them by."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from tests.cli.peer import Peer, problem
from tests.sdk.conftest import Server
from windlass.errors import (
    Conflict,
    IdempotencyMismatch,
    InvalidInput,
    LockHeld,
    LockLost,
    MalformedBody,
    NotAWebhook,
    NotFound,
    QueueFull,
    QueueRate,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    WindlassError,
)
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.problems import ApiError, error_of

MISSING = "job_" + "0" * 32


async def test_what_is_not_there_is_named(async_client: AsyncClient) -> None:
    with pytest.raises(NotFound) as refused:
        await async_client.jobs.get(MISSING)
    assert (refused.value.noun, refused.value.name) == ("job", MISSING)
    assert refused.value.problem is not None
    assert refused.value.problem["request_id"]


async def test_every_problem_of_an_input_is_told(async_client: AsyncClient) -> None:
    with pytest.raises(InvalidInput) as refused:
        await async_client.request(
            "POST", "/v1/jobs", json={"kind": "noop", "priority": "urgent", "dealy": 3}
        )
    assert {found.pointer for found in refused.value.problems} == {"/priority", "/dealy"}
    assert "must be one of: low normal high critical" in str(refused.value)


async def test_what_json_cannot_say_is_refused_before_it_is_sent(
    async_client: AsyncClient,
) -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(InvalidInput) as refused:
            await async_client.jobs.submit("noop", {"deep": [1, {"er": number}]})
        assert refused.value.problems[0].pointer == "/input/deep/1/er"
    with pytest.raises(TypeError, match="unsupported"):
        await async_client.jobs.submit("noop", {"what": object()})


async def test_a_full_queue_says_how_full(server: Server) -> None:
    queue = f"full-{uuid4().hex[:8]}"
    async with AsyncClient(server.url, server.token, patience_seconds=0) as client:
        await client.queues.put(queue, max_jobs=1)
        await client.queues.pause(queue)
        await client.jobs.submit("noop", queue=queue)
        with pytest.raises(QueueFull) as refused:
            await client.jobs.submit("noop", queue=queue)
    full = refused.value
    assert (full.queue, full.limit, full.current, full.requested, full.unit) == (
        queue,
        1,
        1,
        1,
        "jobs",
    )
    assert full.retry_after == 5
    assert "try again later or raise its limit" in str(full)
    assert "wait_for_room" in full.__notes__[0]


async def test_a_conflict_is_one(async_client: AsyncClient) -> None:
    job = await async_client.jobs.submit("noop", delay="1h")
    with pytest.raises(NotAWebhook) as other:
        await async_client.jobs.webhook_status(job["id"])
    assert (other.value.job_id, other.value.kind) == (job["id"], "noop")
    with pytest.raises(Conflict, match="only what has ended can be deleted"):
        await async_client.jobs.delete(job["id"])
    await async_client.jobs.cancel(job["id"])


async def test_a_conflict_of_a_code_without_a_class_is_still_one(
    async_client: AsyncClient,
) -> None:
    name = f"s-{uuid4().hex[:8]}"
    body = {"name": name, "every": "1h", "job": {"kind": "noop"}}
    await async_client.schedules.create(body)
    with pytest.raises(Conflict) as refused:
        await async_client.schedules.create(body | {"every": "2h"})
    assert refused.value.code != Conflict.code
    assert refused.value.status == 409
    await async_client.schedules.delete(name)


async def test_a_key_used_for_something_else_is_refused(async_client: AsyncClient) -> None:
    key = uuid4().hex
    first = await async_client.jobs.submit("noop", idempotency_key=key)
    again = await async_client.jobs.submit("noop", idempotency_key=key)
    assert first["id"] == again["id"]
    with pytest.raises(IdempotencyMismatch) as refused:
        await async_client.jobs.submit("noop", tags=["other"], idempotency_key=key)
    assert refused.value.key == key


async def test_a_lock_that_is_held_says_by_whom(async_client: AsyncClient) -> None:
    name = f"door-{uuid4().hex[:8]}"
    hold = await async_client.locks.acquire(name, ttl="1m")
    with pytest.raises(LockHeld) as held:
        await async_client.locks.acquire(name, wait="10ms")
    assert held.value.capacity == 1
    assert len(held.value.holders) == 1
    await async_client.locks.release(name, hold["token"])
    with pytest.raises(LockLost) as lost:
        await async_client.locks.renew(name, hold["token"])
    assert (lost.value.name, lost.value.token) == (name, hold["token"])


@pytest.mark.parametrize("token", [None, "wlk_wrong"])
async def test_a_wrong_token_is_unauthorized(server: Server, token: str | None) -> None:
    async with AsyncClient(server.url, token) as client:
        with pytest.raises(Unauthorized):
            await client.queues.list()


async def test_a_code_without_a_class_keeps_its_document(peer: Peer) -> None:
    peer.answer(problem(418, code="teapot", detail="short and stout", spout=1))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(ApiError, match="short and stout") as refused:
            await client.system.stats()
    assert (refused.value.code, refused.value.status) == ("teapot", 418)
    assert refused.value.problem is not None
    assert refused.value.problem["spout"] == 1


def test_a_document_that_is_none_is_shown() -> None:
    error = error_of(500, {"content-type": "text/html"}, b"<h1>Oh\n no</h1>")
    assert isinstance(error, ApiError)
    assert str(error) == "the server answered 500 Internal Server Error: <h1>Oh no</h1>"
    assert isinstance(error_of(401, {}, b""), Unauthorized)
    body = b'{"code": "malformed_body", "errors": [{"pointer": "", "detail": "not JSON"}]}'
    malformed = error_of(400, {"content-type": "application/problem+json"}, body)
    assert isinstance(malformed, MalformedBody)
    assert str(malformed) == "/: not JSON"


@pytest.mark.parametrize(
    "raised",
    [
        RateLimited(subject="key_1", limit=2.5, burst=5, wait_seconds=0.2, reset_seconds=1.5),
        QuotaExceeded(
            subject="user_1",
            quota="jobs_per_day",
            limit=5,
            current=4,
            requested=2,
            wait_seconds=3600.0,
        ),
        QueueRate(queue="mail", limit=0.5, current=1, requested=3, wait_seconds=7.0),
    ],
    ids=["requests", "jobs", "queue"],
)
def test_what_a_quota_refuses_has_its_facts_and_says_when(raised: WindlassError) -> None:
    wait = str(raised.retry_after)
    headers = {"content-type": "application/problem+json", "retry-after": wait}
    body = json.dumps({"code": raised.code, "detail": str(raised), **raised.facts}).encode()
    told = error_of(429, headers, body)
    assert type(told) is type(raised)
    assert (told.facts, told.retry_after) == (raised.facts, float(wait))
    assert str(told) == str(raised)
