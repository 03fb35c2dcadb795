"""Events of everything: the list, and the stream that can be resumed."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import asyncpg
import pytest

from tests import as_node_role
from tests.api.acting_node import ActingNode
from tests.api.conftest import Serve
from tests.api.executions.flows import bring_up_to_date, by_hand, publish, read, start
from tests.api.served import Served
from tests.engine.executions.flow import noop
from windlass import ids
from windlass.api.app import Api
from windlass.api.http import stream
from windlass.compose import foreground
from windlass.compose import start as compose
from windlass.config import Settings
from windlass.engine.jobs import history
from windlass.engine.jobs import tail as tail_events
from windlass.engine.jobs.history import read_events_after
from windlass.limits import STREAM_CLIENTS_MAX
from windlass.model.job.event import SortKey
from windlass.store.database import Database
from windlass.testing.servers import PrivateServers

# Instead of the stream's own seconds: far more than a pause of the machine between an instant that
# was read and its row, or an innocent's event would be missed as well.
MARGIN = timedelta(seconds=1)
# Looks have left behind what came before it.
LONG = "SELECT pg_sleep(2.5)"
# Parameters: the process of a connection, and for how long it has been at its statement at least.
WAITS_LONG = """
SELECT FROM pg_stat_activity JOIN pg_locks USING (pid)
WHERE pid = $1 AND NOT granted AND clock_timestamp() - query_start > $2
"""


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


async def test_an_id_from_before_this_process_is_a_good_position_to_go_on(
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
        async with asyncio.timeout(30):
            assert (await following._answer.read()).replace(b": still here\n\n", b"") in (
                b"",
                b"\n",
            )


async def test_a_node_that_stops_ends_its_streams_and_what_they_read(
    servers: PrivateServers, database_url: str
) -> None:
    listener = foreground.listen("127.0.0.1", 0)
    host, port = listener.getsockname()
    settings = Settings(auth="off", workers=0, sign_webhooks="off")
    node = await compose.start(
        settings,
        database_url=database_url,
        redis_url=servers.redis_of(database_url),
        serving=foreground.open_door(listener, settings),
    )
    url = f"http://{host}:{port}/v1/events/stream"
    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        following = Following(answer)
        await following.comment()
        assert "event tail" in tasks()
        async with asyncio.timeout(30):
            await node.stop_now()
            # An end as HTTP has them, and no broken connection.
            assert b"data: " not in await answer.read()
    assert "event tail" not in tasks()


async def test_a_stream_that_is_asked_for_while_the_api_closes_is_refused(api: Served) -> None:
    async with follow(api) as following:
        assert isinstance(api.serving.front.app, Api)
        await api.serving.front.app.close()
        async with asyncio.timeout(30):
            await following._answer.read()
        assert "event tail" not in tasks()
        assert (await api.get("/v1/events/stream", 503))["code"] == "unavailable"
        await api.get("/v1/queues")


def tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks()}


async def test_there_is_a_limit_to_how_many_may_follow(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert STREAM_CLIENTS_MAX > 1
    monkeypatch.setattr(stream, "STREAM_CLIENTS_MAX", 1)
    async with follow(api):
        assert (await api.get("/v1/events/stream", 503))["code"] == "unavailable"
    async with asyncio.timeout(30):
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
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    try:
        async with follow(api) as following:
            async with connection.transaction():
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                await connection.fetch(LONG)
                early = (await api.submit())["id"]
                assert (await following.next())["job_id"] == early
            assert (await following.next())["job_id"] == late
            await api.submit(queue="last")
            assert (await following.next())["queue"] == "last"
    finally:
        await connection.close()


async def test_so_it_is_when_nobody_else_writes_meanwhile(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No snapshot names the newest transaction while none that came after it has ended."""
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    try:
        async with follow(api) as following:
            async with connection.transaction():
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                await connection.fetch(LONG)
            assert (await following.next())["job_id"] == late
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


async def test_what_commits_late_while_a_follower_is_told_what_it_missed_is_not_lost(
    api: Served, serve_with: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off before it heard of it, it comes back, wherever to."""
    await api.submit()
    connection = await asyncpg.connect(api.database.url)
    second, third = [
        replace(await serve_with(Settings()), client=api.client, key=api.key) for _ in range(2)
    ]
    go_on = asyncio.Event()
    is_past = False

    async def read_slowly(database: Database, after: SortKey, until: datetime, most: int) -> Any:
        nonlocal is_past
        if is_past:
            await go_on.wait()
        page = await read_events_after(database, after, until, most)
        is_past = any(event.job_id == ids.parse("job", made[1]["id"]) for event in page)
        return page

    monkeypatch.setattr(stream, "read_events_after", read_slowly)
    monkeypatch.setattr(stream, "CATCH_UP_PAGE", 2)
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(connection.close)
        async with connection.transaction():
            async with follow(api) as following:
                late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
                made = [await api.submit() for _ in range(6)]
                seen = await following.of(made[0]["id"])
            await connection.fetch(LONG)
            witness = await stack.enter_async_context(follow(second))
            back = await stack.enter_async_context(follow(second, last=seen["position"]))
            await back.of(made[1]["id"])
        await witness.of(late)  # so the node has told it, to whoever is there
        go_on.set()
        told = await back.of(made[2]["id"])
        for node in (second, third):
            again = await stack.enter_async_context(follow(node, last=told["position"]))
            await again.of(late)


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


async def test_however_many_begin_to_follow_at_once_each_is_told_of_each_event_once(
    api: Served,
) -> None:
    async def one() -> Counter[str]:
        told: Counter[str] = Counter()
        async with follow(api) as following:
            await all_follow.wait()
            while (event := await following.next())["queue"] != "last":
                told[event["id"]] += 1
        return told

    def tails() -> set[asyncio.Task[Any]]:
        return {task for task in asyncio.all_tasks() if task.get_name() == "event tail"}

    all_follow, before = asyncio.Barrier(9), tails()
    async with asyncio.TaskGroup() as group:
        followers = [group.create_task(one()) for _ in range(8)]
        await all_follow.wait()
        assert len(tails() - before) == 1, "one reads for all of them"
        for _ in range(30):
            await api.submit()
        await api.submit(queue="last")
    for follower in followers:
        assert set(follower.result().values()) == {1}
        assert len(follower.result()) == 30


LONG_PROCEDURE = """
    CREATE FUNCTION pg_temp.long_procedure(job jsonb) RETURNS text LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_lock(1); RETURN windlass.enqueue(job); END $$"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT windlass.enqueue($1) FROM (SELECT pg_advisory_lock(1) OFFSET 0) AS long_read",
        "SELECT pg_temp.long_procedure($1)",
    ],
)
async def test_what_a_long_statement_creates_at_its_end_is_told(
    api: Served, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    """It has no id of a transaction, by which it could be seen, before it writes."""
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    gate, writer = [await asyncpg.connect(api.database.url) for _ in range(2)]
    try:
        await writer.execute(LONG_PROCEDURE)
        await gate.execute("SELECT pg_advisory_lock(1)")
        async with follow(api) as following, asyncio.TaskGroup() as group:
            writing = group.create_task(writer.fetchval(sql, '{"kind": "noop"}'))
            await leave_behind(api, following, writer)
            await gate.execute("SELECT pg_advisory_unlock(1)")
            await following.of(await writing)
    finally:
        await gate.close()
        await writer.close()


async def test_what_was_created_after_a_long_wait_for_its_parent_is_told_and_listed(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for a row has no id of a transaction yet."""
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    monkeypatch.setattr(history, "_SKEW", MARGIN)
    parent = await api.submit(delay="1h")
    child = json.dumps({"kind": "noop", "depends_on": [parent["id"]]})
    holder, writer = [await asyncpg.connect(api.database.url) for _ in range(2)]
    try:
        async with follow(api) as following, asyncio.TaskGroup() as group:
            async with holder.transaction():
                await holder.fetch("SELECT FROM windlass.job FOR UPDATE")
                waiting = group.create_task(writer.fetchval("SELECT windlass.enqueue($1)", child))
                await leave_behind(api, following, writer)
            told = await following.of(await waiting)
        listed = await api.get("/v1/events", params={"created_after": told["at"]})
        assert [event["id"] for event in listed["data"]] == [told["id"]]
    finally:
        await holder.close()
        await writer.close()


async def leave_behind(
    api: Served, following: Following, waiting: asyncpg.Connection[asyncpg.Record]
) -> None:
    """Somebody waits, and several looks have gone past the instant at which it began."""
    async with asyncio.timeout(30), as_node_role.by_hand(api.database) as connection:
        while not await connection.fetch(WAITS_LONG, waiting.get_server_pid(), 2 * MARGIN):
            await connection.fetch("SELECT pg_sleep(0.05)")
    for _ in range(3):
        await following.of((await api.submit())["id"])


@pytest.mark.parametrize("is_first", [True, False])
async def test_what_was_open_long_before_somebody_began_to_follow_is_told_when_it_commits(
    api: Served, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    monkeypatch.setattr(tail_events, "_OVERLAP", MARGIN)
    before = await api.submit()
    connection = await asyncpg.connect(api.database.url)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(connection.close)
        if not is_first:
            await stack.enter_async_context(follow(api))  # the node reads already
        async with connection.transaction():
            late = await connection.fetchval('SELECT windlass.enqueue(\'{"kind": "noop"}\')')
            await api.submit()
            await connection.fetch(LONG)
            following = await stack.enter_async_context(follow(api))
        told = await following.next()
        assert told["job_id"] == late
        assert told["job_id"] != before["id"]


async def test_what_the_stream_gives_to_go_on_with_is_valid_by_its_own_schema(api: Served) -> None:
    document = await api.get("/openapi.json")
    [header] = [
        param["schema"]["pattern"]
        for param in document["paths"]["/v1/events/stream"]["get"]["parameters"]
        if param["name"] == "Last-Event-ID"
    ]
    async with follow(api) as following:
        await api.submit()
        told = await following.next()
    assert re.search(header, told["position"])
    assert re.search(header, told["id"])
    assert not re.search(header, told["id"] + ".")


async def test_the_end_of_an_execution_stays_where_it_was_told_when_a_job_of_it_is_deleted(
    api: Served,
) -> None:
    await publish(api, [noop("a"), noop("b")])
    execution = await start(api)
    await (await by_hand(api, execution)).run()
    await bring_up_to_date(api, execution)
    told = (await read(api, execution, "events"))["data"][-1]
    assert words([told]) == [("execution", "finished")]
    job = (await read(api, execution, "jobs"))["data"][0]
    await api.call("DELETE", f"/v1/jobs/{job['id']}", 204)
    assert (await bring_up_to_date(api, execution))["counts"] == {"succeeded": 1}
    assert (await read(api, execution, "events"))["data"][-1] == told


@pytest.mark.parametrize("verb", ["rerun", "replay"])
async def test_the_end_of_an_execution_that_goes_on_stays_on_record(
    api: Served, node: ActingNode, verb: str
) -> None:
    await publish(api, [noop("a")])
    execution = await start(api)
    async with follow(api, "?noun=execution") as following:
        await node.bury()
        await bring_up_to_date(api, execution)
        ended = await following.next()
        assert (ended["type"], ended["data"]["state"]) == ("finished", "failed")
        if verb == "rerun":
            await api.post(f"/v1/executions/{execution['id']}/rerun", {"from_step": "a"})
        else:
            await api.post("/v1/dead-letters/replay", {"filter": {}})
        await api.parts.follower.quiet()
        again = await following.next()
        assert again["type"] in ("rerun", "replayed")
        await node.run()
        assert (await bring_up_to_date(api, execution))["state"] == "succeeded"
        last = await following.next()
    assert (last["type"], last["data"]["state"]) == ("finished", "succeeded")
    told = [event["id"] for event in (ended, again, last)]
    for path in (f"/v1/executions/{execution['id']}/events?", "/v1/events?noun=execution&"):
        listed = (await api.get(f"{path}limit=500"))["data"]
        of_it = [event["id"] for event in listed if event["noun"] == "execution"]
        assert of_it[1:] == told, "the same as they were told, behind its creation"
        shown = {event["id"]: event["data"] for event in listed}
        assert shown[ended["id"]] == ended["data"]


async def test_a_stream_ends_when_its_key_is_revoked(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LOOK_UP_SECONDS", 0.02)
    made = await api.post("/v1/keys", {"name": "screen", "role": "viewer"}, 201)
    headers = {"Authorization": f"Bearer {made['token']}"}
    async with aiohttp.ClientSession(headers=headers) as client:
        async with client.get(api.url + "/v1/events/stream") as answer:
            await Following(answer).comment()
            await api.submit()
            await api.call("DELETE", f"/v1/keys/{made['id']}", 204)
            async with asyncio.timeout(10):
                await answer.content.read()  # to its end
        async with client.get(api.url + "/v1/events/stream") as answer:
            assert answer.status == 401
