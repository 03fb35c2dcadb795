"""Events of everything: the list, and the stream that can be resumed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests.api.acting_node import ActingNode
from tests.api.conftest import Serve
from tests.api.served import Served
from windlass.api import stream
from windlass.config import Settings
from windlass.engine import tail_events
from windlass.limits import STREAM_CLIENTS_MAX


class Following:
    """A client of the stream."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer
        self.comments = 0

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(10):
            named = ""
            while True:
                line = (await self._answer.content.readline()).decode().rstrip("\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line.startswith("id: "):
                    named = line[4:]
                elif line.startswith("data: "):
                    event: dict[str, Any] = json.loads(line[6:])
                    assert named.startswith(event["id"])
                    event["position"] = named
                    return event

    async def of(self, job_id: str) -> dict[str, Any]:
        """The next event of this job."""
        while (event := await self.next())["job_id"] != job_id:
            pass
        return event

    async def take(self, count: int) -> list[dict[str, Any]]:
        return [await self.next() for _ in range(count)]

    async def comment(self) -> str:
        async with asyncio.timeout(10):
            while not (line := (await self._answer.content.readline()).decode()).startswith(":"):
                pass
            return line


@asynccontextmanager
async def follow(api: Served, query: str = "", last: str | None = None) -> AsyncIterator[Following]:
    headers = {"Last-Event-ID": last} if last else {}
    async with api.client.get(api.url + f"/v1/events/stream{query}", headers=headers) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        following = Following(answer)
        await following.comment()  # from here on nothing is missed
        yield following


def words(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["noun"], event["type"]) for event in events]


async def test_a_follower_sees_a_jobs_life_as_it_happens(api: Served, node: ActingNode) -> None:
    async with follow(api) as following:
        made = await api.submit(queue="mail")
        await node.bury()
        events = await following.take(3)
    assert words(events) == [("job", "created"), ("job", "started"), ("job", "finished")]
    assert {event["job_id"] for event in events} == {made["id"]}
    assert {event["queue"] for event in events} == {"mail"}
    assert events[1]["data"]["node_id"] == f"node_{node.node_id.hex}"


async def test_a_follower_that_was_cut_off_goes_on_where_it_was(
    api: Served, node: ActingNode
) -> None:
    async with follow(api) as following:
        await api.submit()
        [seen] = await following.take(1)
    await node.run()
    await api.post("/v1/queues/default/pause")
    async with follow(api, last=seen["id"]) as following:
        missed = await following.take(3)
        await api.post("/v1/queues/default/resume")
        live = await following.next()
    assert words(missed) == [("job", "started"), ("job", "finished"), ("queue", "paused")]
    assert words([live]) == [("queue", "resumed")]
    assert seen["id"] not in {event["id"] for event in missed}


async def test_an_id_from_before_this_process_is_a_good_place_to_go_on(
    api: Served, node: ActingNode
) -> None:
    made = await api.submit()
    await node.run()
    first = (await api.get(f"/v1/jobs/{made['id']}/events"))["data"][0]
    async with follow(api, last=first["id"]) as following:
        assert words(await following.take(2)) == [("job", "started"), ("job", "finished")]


async def test_an_event_that_commits_late_is_told_once(api: Served) -> None:
    await api.submit()  # the queue is known, so that nobody waits for the other to make it
    connection = await asyncpg.connect(api.database.url)
    try:
        async with follow(api) as following:
            async with connection.transaction():
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                early = (await api.submit())["id"]
                assert (await following.next())["job_id"] == early
            assert (await following.next())["job_id"] == late
            await api.submit(queue="last")
            assert (await following.next())["queue"] == "last"
    finally:
        await connection.close()


async def test_a_follower_hears_only_what_it_asked_for(api: Served, node: ActingNode) -> None:
    other = await api.submit(queue="other")
    async with (
        follow(api, "?queue=mail") as mail,
        follow(api, f"?job_id={other['id']}&type=finished") as end,
    ):
        await api.submit(queue="mail")
        await node.run()
        assert {event["queue"] for event in await mail.take(3)} == {"mail"}
        ended = await end.next()
    assert (ended["job_id"], ended["type"]) == (other["id"], "finished")


async def test_every_stream_carries_its_own_request_id_and_no_other(api: Served) -> None:
    seen = set()
    for _ in range(3):
        async with api.client.get(api.url + "/v1/events/stream") as answer:
            assert answer.status == 200
            (its_own,) = answer.headers.getall("X-Request-Id")
            seen.add(its_own)
    assert len(seen) == 3


async def test_a_silent_stream_says_that_it_is_there_and_ends_with_a_drain(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LOOK_UP_SECONDS", 0.02)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.04)
    async with follow(api) as following:
        assert await following.comment() == ": still here\n"
        api.facts.is_draining = True
        async with asyncio.timeout(5):
            assert (await following._answer.read()).replace(b": still here\n\n", b"") in (
                b"",
                b"\n",
            )


async def test_there_is_a_limit_to_how_many_may_follow(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STREAM_CLIENTS_MAX > 1
    monkeypatch.setattr(stream, "STREAM_CLIENTS_MAX", 1)
    async with follow(api):
        assert (await api.get("/v1/events/stream", 503))["code"] == "unavailable"
    async with asyncio.timeout(5):
        while True:  # until the server has seen that the first one left
            async with api.client.get(api.url + "/v1/events/stream") as answer:
                if answer.status == 200:
                    break


async def test_a_last_event_that_is_none_is_refused(door: Served) -> None:
    problem = await door.get("/v1/events/stream", 422, headers={"Last-Event-ID": "evt_1"})
    assert problem["errors"][0]["pointer"] == "Last-Event-ID"


async def test_the_list_of_events_pages_through_everything_once(
    api: Served, node: ActingNode
) -> None:
    await api.post("/v1/jobs/batch", {"jobs": [{"kind": "noop"}] * 20}, 201)
    await node.run()
    await api.submit(queue="mail", retry={"initial": 0})
    seen: list[dict[str, Any]] = []
    path = "/v1/events?limit=7"
    while True:
        page = await api.get(path)
        seen += page["data"]
        if page["next_cursor"] is None:
            break
        path = f"/v1/events?limit=7&cursor={page['next_cursor']}"
    ids = [event["id"] for event in seen]
    assert ids == sorted(set(ids))
    jobs = [event for event in seen if event["noun"] == "job"]
    assert len(jobs) == 20 * 3 + 1
    mail = (await api.get("/v1/events?queue=mail"))["data"]
    assert words(mail) == [("job", "created")]
    finished = (await api.get("/v1/events?type=finished&limit=500"))["data"]
    assert len(finished) == 20
    since = finished[-1]["at"]
    later = (await api.get(f"/v1/events?created_after={since}&limit=500"))["data"]
    earlier = (await api.get(f"/v1/events?created_before={since}&limit=500"))["data"]
    assert {event["at"] >= since for event in later} == {True}
    assert {event["at"] < since for event in earlier} == {True}
    assert [event["id"] for event in (*earlier, *later)] == ids


async def test_an_event_whose_transaction_stayed_open_for_longer_than_looks_go_back_is_told(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_events, "_OVERLAP", timedelta(seconds=0.2))
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    try:
        async with follow(api) as following:
            async with connection.transaction():
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                await asyncio.sleep(1)  # of database time: looks have left its instant behind
                early = (await api.submit())["id"]
                assert (await following.next())["job_id"] == early
            assert (await following.next())["job_id"] == late
            await api.submit(queue="last")
            assert (await following.next())["queue"] == "last"
    finally:
        await connection.close()


async def test_what_is_created_bears_the_time_of_its_statement_not_of_its_transaction(
    api: Served,
) -> None:
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    try:
        async with follow(api) as following, connection.transaction():
            await connection.fetch("SELECT pg_sleep(0.2), now()")
            began_at = await connection.fetchval("SELECT now()")
            await connection.execute('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
            created_at = await connection.fetchval(
                "SELECT created_at FROM windlass.job ORDER BY id DESC LIMIT 1"
            )
            assert created_at > began_at
            assert following.comments == 0
    finally:
        await connection.close()


async def test_a_follower_that_goes_on_at_another_node_misses_nothing_that_committed_late(
    api: Served, serve_with: Serve
) -> None:
    """Another node does not remember what this one told: it goes by the position."""
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    second, third = [
        replace(await serve_with(Settings()), client=api.client, key=api.key) for _ in range(2)
    ]
    try:
        async with connection.transaction():
            async with follow(api) as following:
                # It gets its id now, and its event an instant that lies before the next one's.
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                await api.submit()
                seen = await following.next()
            async with follow(second, last=seen["position"]) as following:
                marker = await second.submit(queue="marker")
                told = await following.of(marker["id"])
        async with follow(third, last=told["position"]) as following:
            await following.of(late)
        # Nor is it lost to whoever was there when it was still open.
        async with follow(second, last=told["position"]) as following:
            await following.of(late)
    finally:
        await connection.close()


async def test_an_execution_cancelled_while_it_waits_for_its_turn_ends_after_it_was_cancelled(
    api: Served,
) -> None:
    steps = [{"id": "hold", "kind": "signal", "input": {"name": "go"}}]
    definition = {"name": "narrow", "concurrency": {"key": "'one'", "limit": 1}, "steps": steps}
    await api.call("PUT", "/v1/workflows/narrow", 201, json=definition)
    await api.post("/v1/workflows/narrow/executions", {}, 201)
    waiting = await api.post("/v1/workflows/narrow/executions", {}, 201)
    path = f"/v1/executions/{waiting['id']}"
    async with follow(api, f"?execution_id={waiting['id']}") as following:
        await api.post(f"{path}/cancel")
        streamed = await following.take(2)
    assert words(streamed) == [("execution", "cancel_requested"), ("execution", "finished")]
    listed = (await api.get(f"{path}/events"))["data"]
    assert [event["type"] for event in listed] == ["created", "cancel_requested", "finished"]
