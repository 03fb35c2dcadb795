"""What holds for all routes alike: HEAD wherever GET is, where what was made is, the next page."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.api.executions.flows import publish
from tests.api.served import Served
from tests.engine.executions.flow import noop
from windlass.compose import foreground


async def test_head_is_answered_wherever_get_is(door: Served) -> None:
    document = await door.get("/openapi.json")
    for path, methods in document["paths"].items():
        if "get" not in methods or "{" in path:
            continue
        usual = 409 if path.startswith("/v1/session/oidc") else 200  # there is no provider
        async with door.client.get(door.url + path, allow_redirects=False) as shown:
            head = await door.client.head(door.url + path)
            assert head.status == shown.status == usual, path
            assert head.content_type == shown.content_type, path
            assert await head.read() == b""


async def test_head_of_what_is_not_there_is_not_found(door: Served) -> None:
    head = await door.client.head(f"{door.url}/v1/queues/nowhere")
    assert head.status == 404
    assert await head.read() == b""
    async with door.client.head(f"{door.url}/v1/jobs/batch") as nothing:
        assert nothing.status == 405


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/jobs", {"kind": "noop"}),
        ("POST", "/v1/workflows", {"name": "made", "steps": [noop("a")]}),
        ("PUT", "/v1/workflows/put", {"steps": [noop("a")]}),
        ("POST", "/v1/workflows/flow/executions", {}),
        ("POST", "/v1/schedules", {"name": "made", "every": "1h", "job": {"kind": "noop"}}),
        ("PUT", "/v1/schedules/put", {"every": "1h", "job": {"kind": "noop"}}),
        ("POST", "/v1/schedules/there/trigger", None),
        ("POST", "/v1/locks/till", {}),
    ],
)
async def test_what_was_made_is_where_location_says(
    api: Served, method: str, path: str, body: Any
) -> None:
    await publish(api, [noop("a")])
    await api.post("/v1/schedules", {"name": "there", "every": "1h", "job": {"kind": "noop"}}, 201)
    async with api.client.request(method, api.url + path, json=body) as made:
        assert made.status == 201, await made.text()
        where = made.headers["Location"]
    assert where.startswith("/v1/")
    assert await api.get(where)


async def test_link_leads_through_all_pages_with_the_same_filter(api: Served) -> None:
    jobs = [(await api.submit(queue="mail", tags=["a b"]))["id"] for _ in range(5)]
    await api.submit(queue="other")
    path: str | None = "/v1/jobs?queue=mail&tag=a%20b&limit=2"
    seen: list[str] = []
    while path is not None:
        async with api.client.get(api.url + path) as answer:
            seen += [job["id"] for job in (await answer.json())["data"]]
            link = answer.links.get("next")
        path = link["url"].raw_path_qs if link else None  # type: ignore[union-attr]
    assert seen == list(reversed(jobs))


async def test_whatever_shows_a_next_cursor_takes_limit_and_cursor(door: Served) -> None:
    document = await door.get("/openapi.json")
    lists = 0
    for path, methods in document["paths"].items():
        answer = methods.get("get", {}).get("responses", {}).get("200", {})
        schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if "next_cursor" in schema.get("properties", {}):
            names = {param["name"] for param in methods["get"]["parameters"]}
            assert {"limit", "cursor"} <= names, path
            lists += 1
    assert lists > 15


async def test_a_list_that_is_read_whole_has_pages_too(api: Served) -> None:
    shards: list[int] = []
    path = "/v1/shards?limit=30"
    while True:
        page = await api.get(path)
        shards += [shard["shard"] for shard in page["data"]]
        if page["next_cursor"] is None:
            break
        path = f"/v1/shards?limit=30&cursor={page['next_cursor']}"
    assert shards == list(range(64))


def test_an_answer_is_not_held_back_for_an_acknowledgement() -> None:
    """asyncio sets TCP_NODELAY on what it accepts only where the socket says that it is TCP."""
    with foreground.listen("127.0.0.1", 0) as taken:
        assert taken.proto == socket.IPPROTO_TCP
