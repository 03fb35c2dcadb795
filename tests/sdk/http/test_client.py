"""The client against a real node: what the API has, as Python."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from tests.sdk.conftest import Server
from windlass.errors import PreconditionFailed
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.paging import Thing


async def test_a_job_is_submitted_and_waited_for(async_client: AsyncClient) -> None:
    made = await async_client.jobs.submit(
        kind="python", input={"task": "add", "args": [2, 3]}, tags=["sums"], timeout="30s"
    )

    ended = await async_client.jobs.wait(made["id"], 30)

    assert (ended["state"], ended["result"]) == ("succeeded", 5)
    assert ended["tags"] == ["sums"]
    assert [tried["outcome"] for tried in await async_client.jobs.attempts(made["id"])] == [
        "succeeded"
    ]
    assert (await async_client.jobs.why(made["id"]))["state"] == "succeeded"


async def test_a_wait_that_is_over_gives_the_job_as_it_is(async_client: AsyncClient) -> None:
    made = await async_client.jobs.submit("noop", delay="1h")

    waiting = await async_client.jobs.wait(made["id"], 0.05)

    assert waiting["state"] == "queued"
    assert (await async_client.jobs.cancel(made["id"]))["state"] == "cancelled"
    await async_client.jobs.delete(made["id"])


async def test_many_jobs_are_one_request(async_client: AsyncClient) -> None:
    correlation = uuid4().hex
    jobs = [{"kind": "noop", "correlation_id": correlation, "tags": [str(n)]} for n in range(450)]

    made = await async_client.jobs.submit_many(jobs)

    assert len({job["id"] for job in made}) == 450
    assert await async_client.jobs.submit_many([]) == []
    # More than a page has; newest first, and none twice.
    listed = [job["id"] async for job in async_client.jobs.list(correlation_id=correlation)]
    assert listed == [job["id"] for job in reversed(made)]
    newest = await async_client.jobs.list(correlation_id=correlation, limit=3)
    assert [job["tags"] for job in newest] == [["449"], ["448"], ["447"]]


async def test_lists_take_several_values_of_one_filter(async_client: AsyncClient) -> None:
    correlation = uuid4().hex
    later = await async_client.jobs.submit("noop", delay="1h", correlation_id=correlation)
    done = await async_client.jobs.submit("noop", correlation_id=correlation)
    await async_client.jobs.wait(done["id"], 30)

    found = await async_client.jobs.list(
        state=["queued", "succeeded"],
        correlation_id=correlation,
        created_after=datetime(2020, 1, 1, tzinfo=UTC),
    )

    assert [job["id"] for job in found] == [done["id"], later["id"]]
    await async_client.jobs.cancel(later["id"])


async def test_a_workflow_is_published_and_an_execution_started(
    async_client: AsyncClient,
) -> None:
    name = f"flow-{uuid4().hex[:8]}"
    definition = {
        "schema": "windlass/v1",
        "name": name,
        "steps": [
            {"id": "first", "kind": "noop"},
            {"id": "then", "kind": "noop", "needs": ["first"]},
        ],
    }
    assert (await async_client.workflows.validate(definition))["errors"] == []
    published = await async_client.workflows.put(definition)
    assert (await async_client.workflows.put(definition))["version"] == published["version"]
    assert "first" in await async_client.workflows.export(name)

    key = uuid4().hex
    ended = await async_client.executions.start(name, {}, key=key, wait=30)

    assert ended["state"] == "succeeded"
    again = await async_client.executions.start(name, {}, key=key)
    assert again["id"] == ended["id"]
    jobs = await async_client.executions.jobs(ended["id"])
    assert len(jobs) == 2
    assert [one["id"] async for one in async_client.executions.list(workflow=name)] == [ended["id"]]


async def test_schedules_are_put_paused_and_looked_ahead(async_client: AsyncClient) -> None:
    name = f"nightly-{uuid4().hex[:8]}"
    body = {"cron": "0 3 * * *", "timezone": "UTC", "job": {"kind": "noop"}, "tags": ["nights"]}

    put = await async_client.schedules.put(name, body)
    paused = await async_client.schedules.pause(name, note="not tonight")

    assert put["name"] == name
    assert paused["state"] == "paused"
    assert [one["name"] async for one in async_client.schedules.list(prefix=name)] == [name]
    assert len((await async_client.schedules.next(name, n=3))["next"]) == 3
    fired = await async_client.schedules.trigger(name)
    assert [one["job_id"] async for one in async_client.schedules.firings(name)] == [
        fired["job_id"]
    ]
    await async_client.schedules.delete(name)


async def test_the_other_nouns_answer(async_client: AsyncClient) -> None:
    queue = f"line-{uuid4().hex[:8]}"
    assert (await async_client.queues.put(queue, max_running=3))["max_running"] == 3
    assert (await async_client.queues.pause(queue))["is_paused"]
    assert queue in [one["name"] async for one in async_client.queues.list()]
    [node] = await async_client.nodes.list()
    assert (await async_client.nodes.get(node["id"]))["id"] == node["id"]
    assert (await async_client.nodes.leader())["node_id"] == node["id"]
    hold = await async_client.locks.acquire("press", ttl="30s")
    await async_client.locks.renew("press", hold["token"], ttl="1m")
    assert (await async_client.locks.get("press"))["name"] == "press"
    await async_client.locks.release("press", hold["token"])
    assert await async_client.operations.list() == []
    assert await async_client.approvals.list(state="open") == []
    assert await async_client.targets.list() == []
    assert [one["name"] for one in await async_client.secrets.list()] == ["webhook"]
    assert (await async_client.system.health())["status"] in ("ok", "degraded")
    assert "python" in [one["kind"] for one in await async_client.system.strategies()]
    assert await async_client.system.caches()
    assert (await async_client.system.sweep(dry_run=True))["dry_run"]


async def test_dead_letters_are_listed_and_replayed(async_client: AsyncClient) -> None:
    queue = f"ill-{uuid4().hex[:8]}"
    made = await async_client.jobs.submit(
        "python", {"task": "fail", "args": ["no"]}, queue=queue, retry={"max_attempts": 1}
    )
    assert (await async_client.jobs.wait(made["id"], 30))["state"] == "dead"

    [dead] = await async_client.dead_letters.list(queue=queue)
    assert dead["id"] == made["id"]
    assert queue in [group["queue"] for group in await async_client.dead_letters.groups()]
    await async_client.queues.pause(queue)
    assert (await async_client.dead_letters.replay([made["id"]]))["replayed"] == 1
    with pytest.raises(ValueError, match="not by both"):
        await async_client.dead_letters.discard([made["id"]], queue=queue)


async def test_anything_else_is_a_request(async_client: AsyncClient) -> None:
    made = await async_client.request("POST", "/v1/jobs", json={"kind": "noop"})
    shown = await async_client.request("GET", f"/v1/jobs/{made['id']}", query={"wait": "20s"})
    assert shown["state"] == "succeeded"
    assert await async_client.request("DELETE", f"/v1/jobs/{made['id']}") is None


async def test_names_cannot_lead_to_another_path(async_client: AsyncClient) -> None:
    odd = "a?c#d%2e e:f"
    hold = await async_client.locks.acquire(odd)
    assert (await async_client.locks.get(odd))["name"] == odd
    await async_client.locks.release(odd, hold["token"])
    for name in ("", ".", ".."):
        with pytest.raises(ValueError, match="is not a name"):
            await async_client.queues.get(name)


async def test_settings_come_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_URL", server.url)
    monkeypatch.setenv("WINDLASS_TOKEN", server.token)
    async with AsyncClient() as client:
        assert await client.queues.list(limit=1) is not None


@pytest.mark.parametrize(
    "url", ["localhost:5777", "ftp://x", "http://", "http://x:y", "http://x?a"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        AsyncClient(url)


def test_a_token_of_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="printable"):
        AsyncClient("http://x", "wlk_a\r\nx: y")


def test_one_client_serves_loops_that_come_and_go(server: Server) -> None:
    client = AsyncClient(server.url, server.token)

    async def submit() -> str:
        return str((await client.jobs.submit("noop"))["id"])

    # Warnings are errors here: a connection left open by a loop that ended would be one.
    assert len({asyncio.run(submit()) for _ in range(3)}) == 3


async def test_what_was_read_is_changed_only_if_nobody_else_did(async_client: AsyncClient) -> None:
    name = f"shared-{uuid4().hex[:8]}"
    definition = {"schema": "windlass/v1", "name": name, "steps": [{"id": "a", "kind": "noop"}]}
    client, every = async_client, {"every": "1h", "job": {"kind": "noop"}}
    changes: list[Callable[[str | None], Awaitable[Thing]]] = [
        lambda tag: client.queues.put(name, max_jobs=1 if tag is None else 2, if_match=tag),
        lambda tag: client.locks.resize(name, 1 if tag is None else 2, if_match=tag),
        lambda tag: client.schedules.put(name, every, if_match=tag),
        lambda tag: client.schedules.change(name, {"tags": [uuid4().hex]}, if_match=tag),
        lambda tag: client.workflows.put_draft(name, {"name": str(tag)}, if_match=tag),
        lambda tag: client.workflows.put({**definition, "description": str(tag)}, if_match=tag),
    ]
    for change in changes:
        read = (await change(None))["etag"]
        changed = (await change(read))["etag"]
        with pytest.raises(PreconditionFailed) as refused:
            await change(read)
        assert refused.value.etag == changed
