"""The API of a node in this process, called from its loop, from other loops and from threads."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.api.served import Served, serve
from windlass.api.app import build_app
from windlass.config import Settings
from windlass.errors import WindlassError
from windlass.sdk.http.in_process import InProcessTransport
from windlass.sdk.http.problems import Unreachable
from windlass.sdk.http.transport import Request, Response
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def served(servers: PrivateServers, template_url: str) -> AsyncIterator[Served]:
    url = await servers.create_database(template_url)
    async with serve(url, servers.redis_of(url), Settings()) as found:
        yield found


@pytest.fixture
async def inside(served: Served) -> InProcessTransport:
    return InProcessTransport(build_app(served.parts), asyncio.get_running_loop(), "app:shop")


def request(method: str, path: str, body: Any = None, **headers: str) -> Request:
    return Request(
        method=method,
        path=path,
        body=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json", **headers},
        timeout_seconds=20,
    )


def submission() -> Request:
    return request("POST", "/v1/jobs", {"kind": "noop"})


async def test_a_job_is_submitted_without_a_key(inside: InProcessTransport) -> None:
    answer = await inside.send(submission())
    assert answer.status == 201
    job = json.loads(answer.body)["id"]
    read = await inside.send(request("GET", f"/v1/jobs/{job}"))
    assert (read.status, json.loads(read.body)["id"]) == (200, job)
    assert read.headers["content-type"] == "application/json"


async def test_another_loop_in_another_thread_is_answered(inside: InProcessTransport) -> None:
    answers: list[Response] = []

    def elsewhere() -> None:
        answers.append(asyncio.run(inside.send(submission())))

    await asyncio.to_thread(elsewhere)
    assert answers[0].status == 201


async def test_the_query_and_a_percent_in_the_path_arrive(inside: InProcessTransport) -> None:
    await inside.send(request("POST", "/v1/jobs", {"kind": "noop", "queue": "mail"}))
    listed = await inside.send(request("GET", "/v1/jobs?queue=mail&limit=1"))
    assert [job["queue"] for job in json.loads(listed.body)["data"]] == ["mail"]
    missing = await inside.send(request("GET", "/v1/workflows/no%20such"))
    assert missing.status in (404, 422)


async def test_the_network_cannot_say_that_it_is_inside(served: Served) -> None:
    headers = {"windlass.inside": "app:shop", "windlass-inside": "app:shop"}
    async with (
        aiohttp.ClientSession(headers=headers) as stranger,
        stranger.get(f"{served.url}/v1/jobs") as answer,
    ):
        assert answer.status == 401


async def test_events_are_streamed_to_another_loop(inside: InProcessTransport) -> None:
    is_open, seen = threading.Event(), threading.Event()
    heard: list[bytes] = []

    async def follow() -> None:
        async with inside.stream(request("GET", "/v1/events/stream")) as lines:
            async for line in lines:
                heard.append(line)
                is_open.set()
                if line.startswith(b"data:"):
                    break
        seen.set()

    reader = threading.Thread(target=lambda: asyncio.run(follow()))
    reader.start()
    assert await asyncio.to_thread(is_open.wait, 20)
    await inside.send(submission())
    assert await asyncio.to_thread(seen.wait, 20)
    await asyncio.to_thread(reader.join)
    assert heard[0] == b": windlass"
    assert json.loads(heard[-1].removeprefix(b"data: "))["type"] == "created"


async def test_a_node_that_has_ended_is_said_to_have_ended(served: Served) -> None:
    ended = asyncio.new_event_loop()
    ended.close()
    transport = InProcessTransport(build_app(served.parts), ended, "app:shop")
    with pytest.raises(Unreachable, match="has stopped"):
        await transport.send(submission())
    with pytest.raises(Unreachable, match="has stopped"):
        async with transport.stream(request("GET", "/v1/events/stream")):
            pass


async def test_a_stream_that_is_refused_says_why(inside: InProcessTransport) -> None:
    refused = request("GET", "/v1/events/stream?job_id=none")
    with pytest.raises(WindlassError, match="job_id"):
        async with inside.stream(refused):
            pass
