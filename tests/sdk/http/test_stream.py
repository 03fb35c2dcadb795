"""Events as they happen, across lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from tests.cli.peer import Peer, Says, problem
from tests.sdk.conftest import Server
from tests.sdk.http.cutting import cutting
from windlass.errors import Unauthorized, Unavailable
from windlass.sdk.http.async_client import AsyncClient
from windlass.sdk.http.client import Client
from windlass.sdk.http.problems import Unreachable
from windlass.sdk.http.stream import events_in


async def test_a_stream_goes_on_behind_the_last_event_it_gave(server: Server) -> None:
    queue = f"seen-{uuid4().hex[:8]}"
    async with (
        AsyncClient(server.url, server.token) as client,
        cutting(server.url) as proxy,
        AsyncClient(proxy.url, server.token) as watching,
    ):
        stream = watching.events.stream(queue=queue, type="finished")
        first = asyncio.create_task(anext(stream))
        seen: list[str] = []
        made = [await _finished(client, queue)]
        # The stream may have begun after the first job; one that it sees comes soon.
        while not first.done():
            made.append(await _finished(client, queue))
            await asyncio.wait({first}, timeout=0.2)
        seen.append((await first)["job_id"])

        proxy.cut_all()
        made += [await _finished(client, queue) for _ in range(3)]
        while seen[-1] != made[-1]:
            seen.append((await asyncio.wait_for(anext(stream), 20))["job_id"])
        await stream.aclose()

        assert proxy.connections > 1
        assert seen == made[made.index(seen[0]) :]


async def test_a_stream_can_begin_behind_an_event(async_client: AsyncClient) -> None:
    job = await async_client.jobs.submit("noop")
    await async_client.jobs.wait(job["id"], 30)
    created, *later = await async_client.jobs.events(job["id"])

    stream = async_client.events.stream(after=created["id"], job_id=job["id"])

    assert [(await asyncio.wait_for(anext(stream), 20))["id"] for _ in later] == [
        event["id"] for event in later
    ]
    await stream.aclose()


def test_a_blocking_stream_ends_when_its_reader_stops(client: Client) -> None:
    job = client.jobs.submit("noop")
    client.jobs.wait(job["id"], 30)
    created, *later = client.jobs.events(job["id"])

    stream = client.events.stream(after=created["id"], job_id=job["id"])

    assert next(stream)["id"] == later[0]["id"]
    stream.close()
    assert list(stream) == []


async def test_a_refused_stream_says_why(server: Server, peer: Peer) -> None:
    peer.answer(problem(503, code="unavailable", detail="1000 clients follow events here"))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(Unavailable, match="1000 clients"):
            await anext(client.events.stream())
    async with AsyncClient(server.url, "wlk_wrong") as client:
        with pytest.raises(Unauthorized):
            await anext(client.events.stream())


async def test_a_server_that_was_never_reached_is_no_stream(peer: Peer) -> None:
    peer.answer(Says(status=0, hangs_up=True))
    async with AsyncClient(peer.url) as client:
        with pytest.raises(Unreachable):
            await anext(client.events.stream())


async def test_events_are_read_across_comments_and_pieces() -> None:
    async def lines() -> AsyncIterator[bytes]:
        for line in (
            b": hello",
            b"",
            b"id: 1",
            b'data: {"id":',
            b'data:"1"}',
            b"",
            b": still",
            b"",
        ):
            yield line

    found = [event async for _, event in events_in(lines())]
    assert found == [{"id": "1"}]


async def _finished(client: AsyncClient, queue: str) -> str:
    job = await client.jobs.submit("noop", queue=queue)
    ended = await client.jobs.wait(job["id"], 30)
    return str(ended["id"])
