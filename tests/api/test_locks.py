"""Locks over HTTP: take, wait, renew, give back, and look at them."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

import pytest

from tests.api.acting_node import ActingNode
from tests.api.served import Served
from tests.until import until
from windlass.model.job.outcome import Succeeded

A = "/v1/locks/a"


async def take(api: Served, name: str = "a", status: int = 201, **body: Any) -> dict[str, Any]:
    answer: dict[str, Any] = await api.post(f"/v1/locks/{name}", body, status)
    return answer


async def give_back(api: Served, held: dict[str, Any]) -> None:
    await api.call("DELETE", f"/v1/locks/{held['name']}?token={held['token']}", 204)


async def concurrency_key_of(api: Served, count: int) -> None:
    """Wait until so many wait for `a`."""

    async def are_there() -> bool:
        return bool((await api.get(A))["waiting"] == count)

    await until(are_there, what=f"{count} wait", within_seconds=10)


async def test_a_lock_is_taken_renewed_and_given_back(api: Served) -> None:
    held = await take(api, ttl="20s")
    assert (held["name"], held["capacity"]) == ("a", 1)
    renewed = await api.call("PUT", A, 200, json={"token": held["token"], "ttl": "1h"})
    assert renewed["expires_at"] > held["expires_at"]
    lock = await api.get(A)
    assert (lock["held"], lock["waiting"], lock["token"]) == (1, 0, held["token"])
    assert lock["holders"][0]["expires_at"] == renewed["expires_at"]
    assert lock["holders"][0]["job_id"] is None
    await give_back(api, held)
    assert (await api.get(A))["holders"] == []


async def test_a_token_that_holds_nothing_gives_nothing_back_and_is_told_so(api: Served) -> None:
    first = await take(api)
    await give_back(api, first)
    second = await take(api)
    again = await api.call("DELETE", f"{A}?token={first['token']}", 409)
    assert (again["code"], again["token"]) == ("lock_lost", first["token"])
    for path in (f"{A}?token={second['token'] + 1}", "/v1/locks/nobodys?token=1"):
        never = await api.call("DELETE", path, 409)
        assert never["code"] == "lock_never_held"
        assert "answered together" in never["detail"]
    assert (await api.get(A))["token"] == second["token"]
    assert (await api.get(A))["held"] == 1, "its holder is not disturbed"


async def test_a_lock_without_a_body_is_taken_for_the_usual_time(api: Served) -> None:
    held = await api.call("POST", A, 201)
    assert held["token"] > 0


async def test_whoever_comes_second_is_told_who_holds_it(api: Served) -> None:
    held = await take(api)
    refused = await take(api, status=409)
    assert (refused["code"], refused["name"], refused["capacity"]) == ("lock_held", "a", 1)
    assert [holder["token"] for holder in refused["holders"]] == [held["token"]]
    assert (await api.get(A))["waiting"] == 0, "it did not want to wait"
    refused = await take(api, status=409, wait="50ms")
    assert (refused["code"], (await api.get(A))["waiting"]) == ("lock_held", 0)


async def test_tokens_grow_with_every_hold(api: Served) -> None:
    tokens = []
    for name in ("a", "b", "a", "a"):
        held = await take(api, name)
        tokens.append(held["token"])
        await give_back(api, held)
    assert tokens == sorted(set(tokens))


async def test_a_waiting_caller_gets_the_lock_when_it_is_given_back(api: Served) -> None:
    held = await take(api)
    waiting = asyncio.create_task(take(api, wait="30s"))
    await concurrency_key_of(api, 1)
    await give_back(api, held)
    assert (await waiting)["token"] > held["token"]


async def test_callers_get_it_in_the_order_in_which_they_came(api: Served) -> None:
    held = await take(api)
    waiting = []
    for count in range(1, 6):
        waiting.append(asyncio.create_task(take(api, wait="30s")))
        await concurrency_key_of(api, count)
    for task in waiting:
        await give_back(api, held)
        held = await asyncio.wait_for(task, 10)


async def test_a_hold_that_runs_out_wakes_whoever_waits_and_cannot_be_renewed(
    api: Served,
) -> None:
    held = await take(api, ttl="500ms")
    next_one = await take(api, wait="30s")
    assert next_one["token"] > held["token"]
    lost = await api.call("PUT", A, 409, json={"token": held["token"], "ttl": "1h"})
    assert lost["code"] == "lock_lost"
    lost = await api.call("DELETE", f"{A}?token={held['token']}", 409)
    assert lost["code"] == "lock_lost"
    lock = await api.get(A)
    assert [holder["token"] for holder in lock["holders"]] == [next_one["token"]]


async def test_a_hold_that_is_renewed_in_time_does_not_run_out(api: Served) -> None:
    held = await take(api, ttl="8s")
    waiting = asyncio.create_task(take(api, wait="10s", status=409))
    await concurrency_key_of(api, 1)
    while not waiting.done():
        await api.call("PUT", A, 200, json={"token": held["token"], "ttl": "8s"})
        await asyncio.sleep(0.1)
    assert (await waiting)["code"] == "lock_held"


async def test_a_semaphore_has_a_capacity_and_can_get_more(api: Served) -> None:
    holds = [await take(api, capacity=3) for _ in range(3)]
    assert {held["capacity"] for held in holds} == {3}
    await take(api, status=409, capacity=100)
    waiting = asyncio.create_task(take(api, wait="30s"))
    await concurrency_key_of(api, 1)
    lock = await api.call("PATCH", A, 200, json={"capacity": 4})
    assert lock["capacity"] == 4
    await waiting
    lock = await api.call("PATCH", A, 200, json={"capacity": 1})
    assert (lock["capacity"], lock["held"]) == (1, 4), "whoever is inside stays"
    await give_back(api, holds[0])
    await take(api, status=409)


async def test_a_call_that_is_repeated_gets_the_same_hold(api: Served) -> None:
    key = {"Idempotency-Key": "one"}
    first = await api.post(A, {}, 201, headers=key)
    async with api.client.post(api.url + A, json={}, headers=key) as answer:
        assert (answer.status, await answer.json()) == (200, first)
        assert answer.headers["Idempotent-Replayed"] == "true"
    await api.post("/v1/locks/b", {}, 201, headers=key)
    await api.post(A, {}, 409, headers={"Idempotency-Key": "two"})


async def test_a_caller_and_a_job_wait_for_each_other(api: Served, node: ActingNode) -> None:
    held = await take(api)
    job = await api.submit(locks=["a", {"name": "b", "capacity": 2}])
    assert job["locks"] == ["a", "b"]
    assert await node.claim() == []
    why = await api.get(f"/v1/jobs/{job['id']}/why")
    [gate] = [gate for gate in why["gates"] if gate["gate"] == "lock"]
    assert gate["reason"].startswith("it waits for lock 'a', which key_")
    assert gate["reason"].endswith("holds; it is 1st to wait")
    assert gate["until"] == held["expires_at"]
    assert why["estimated_start"] is None
    await give_back(api, held)
    [attempt] = await node.claim()
    lock = await api.get(A)
    assert [holder["job_id"] for holder in lock["holders"]] == [job["id"]]
    refused = await api.call("DELETE", f"{A}?token={lock['token']}", 409)
    assert (refused["code"], refused["job_id"]) == ("lock_of_job", job["id"])
    lost = await api.call("PUT", A, 409, json={"token": lock["token"]})
    assert lost["code"] == "lock_lost", "a job's hold is not renewed"
    waiting = asyncio.create_task(take(api, wait="30s"))
    await concurrency_key_of(api, 1)
    await node.settle(attempt, Succeeded())
    assert (await waiting)["token"] > lock["token"]
    assert (await api.get(f"/v1/jobs/{job['id']}"))["locks"] == ["a", "b"]


async def test_a_job_gets_the_lock_of_a_caller_that_let_it_run_out(
    api: Served, node: ActingNode
) -> None:
    await take(api, ttl="500ms")
    first = await api.submit(locks=["a"])
    # Somebody else who waits keeps the time.
    waiting = asyncio.create_task(take(api, wait="30s"))
    [attempt] = await until(node.claim, what="the job may start", within_seconds=10)
    assert attempt.job_id.hex in first["id"]
    await node.settle(attempt, Succeeded())
    await waiting


async def test_locks_are_listed_by_name_with_who_waits(api: Served) -> None:
    for name in ("b", "a", "c"):
        await take(api, name)
    job = await api.submit(locks=["a"], priority="high")
    page = await api.get("/v1/locks?limit=2")
    assert [lock["name"] for lock in page["data"]] == ["a", "b"]
    [waiter] = page["data"][0]["waiters"]
    assert (waiter["job_id"], waiter["priority"], waiter["until"]) == (job["id"], "high", None)
    rest = await api.get(f"/v1/locks?limit=2&cursor={page['next_cursor']}")
    assert [lock["name"] for lock in rest["data"]] == ["c"]
    assert rest["next_cursor"] is None


async def test_a_lock_may_have_almost_any_name(api: Served) -> None:
    name = "card: 4711 ä@b"
    held = await take(api, quote(name))
    assert held["name"] == name
    assert (await api.get(f"/v1/locks/{quote(name)}"))["held"] == 1
    await api.get("/v1/locks/nobody", 404)


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("POST", A, {"ttl": "0s"}, "/ttl"),
        ("POST", A, {"ttl": "8d"}, "/ttl"),
        ("POST", A, {"wait": "61s"}, "/wait"),
        ("POST", A, {"wait": -1}, "/wait"),
        ("POST", A, {"capacity": 0}, "/capacity"),
        ("POST", A, {"capacity": True}, "/capacity"),
        ("POST", A, {"places": 1}, "/places"),
        ("POST", A, [], ""),
        ("POST", "/v1/locks/-a", {}, "{name}"),
        ("PUT", A, {}, "/token"),
        ("PUT", A, {"token": "1"}, "/token"),
        ("PUT", A, {"token": 1, "ttl": "soon"}, "/ttl"),
        ("PATCH", A, {}, "/capacity"),
        ("PATCH", A, {"capacity": 10001}, "/capacity"),
        ("DELETE", A, None, "?token"),
        ("DELETE", f"{A}?token=x", None, "?token"),
        ("DELETE", f"{A}?token={2**63}", None, "?token"),
    ],
)
async def test_every_mistake_is_named(
    door: Served, method: str, path: str, body: Any, pointer: str
) -> None:
    refused = await door.call(method, path, 422, json=body)
    assert [problem["pointer"] for problem in refused["errors"]] == [pointer]
