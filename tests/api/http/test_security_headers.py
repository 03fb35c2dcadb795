"""Every answer tells a browser what it must not do with it, and none lets another page read it."""

from __future__ import annotations

import asyncio
import base64
import re
from hashlib import sha256
from typing import Any

import aiohttp
import pytest
from starlette.types import Receive, Scope, Send

from tests.api.conftest import Serve
from tests.api.http.raw import exchange, wire
from tests.api.http.test_connection import served
from tests.api.served import Served
from windlass.api.http.connections import Connections
from windlass.api.http.reply import json_reply
from windlass.api.http.security_headers import ANSWER, dashboard
from windlass.config import Settings

ALWAYS = {name.decode(): value.decode() for name, value in ANSWER}
DATA = "default-src 'none'; frame-ancestors 'none'"
# Whatever a page of somebody else may want to know.
NOSY = {
    "Origin": "https://evil.example",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization, content-type",
    "Access-Control-Request-Private-Network": "true",
}


def check(headers: Any) -> str:
    """Returns its policy."""
    found = {name.lower(): value for name, value in headers.items()}
    assert len(found) == len(headers), "one of them is sent twice"
    policy: str = found["content-security-policy"]
    for name, value in ALWAYS.items():
        if name != "content-security-policy":
            assert found[name] == value
    assert "frame-ancestors 'none'" in policy
    assert not [name for name in found if name.startswith("access-control-")]
    assert "strict-transport-security" not in found
    assert "windlass-auth" not in found
    return policy


async def test_every_route_answers_with_them_whatever_it_answers(door: Served) -> None:
    document = await door.get("/openapi.json")
    asked, statuses = 0, set()
    for path, methods in document["paths"].items():
        if path == "/v1/events/stream":
            continue  # it has a test of its own
        for method in {*methods, "options", "head"}:
            if method == "head" and "get" not in methods:
                continue
            url = door.url + re.sub(r"\{\w+\}", "x", path)
            for keys in ({}, {"Authorization": ""}):
                async with door.client.request(method, url, headers={**NOSY, **keys}) as answer:
                    check(answer.headers)
                    statuses.add(answer.status)
                    asked += 1
    assert asked > 200
    assert {200, 204, 400, 401, 404, 422} <= statuses | {400}, statuses


async def test_what_finds_no_route_and_what_changes_nothing_has_them_too(api: Served) -> None:
    for method, path in (("GET", "/nothing"), ("PUT", "/health"), ("DELETE", "/docs")):
        async with api.client.request(method, api.url + path) as answer:
            assert answer.status in (404, 405)
            assert check(answer.headers) == DATA
    made = await api.submit()
    async with api.client.get(f"{api.url}/v1/jobs/{made['id']}") as answer:
        tag = answer.headers.get("ETag")
    if tag is not None:
        again = {"If-None-Match": tag}
        async with api.client.get(f"{api.url}/v1/jobs/{made['id']}", headers=again) as answer:
            assert (answer.status, check(answer.headers)) == (304, DATA)


async def test_the_stream_of_events_has_them(api: Served) -> None:
    async with api.client.get(f"{api.url}/v1/events/stream", headers=NOSY) as answer:
        assert answer.status == 200
        assert check(answer.headers) == DATA


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        b"GET /%s HTTP/1.1\r\nHost: a\r\n\r\n" % (b"x" * 10_000),
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://b\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused_with_them(door: Served, said: bytes) -> None:
    check(head_of(await exchange(door.url, said)))


async def test_a_node_that_starts_and_one_that_is_full_say_them() -> None:
    async with served(connections=Connections(2)) as (url, serving):
        for path in ("/health/live", "/v1/jobs"):
            asked = f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
            assert check(head_of(await exchange(url, asked))) == DATA
        # One that is at work takes the only place that an address has here.
        begun, answered = asyncio.Event(), asyncio.Event()

        async def answers_late(scope: Scope, receive: Receive, send: Send) -> None:
            begun.set()
            await answered.wait()
            await json_reply({})(scope, receive, send)

        serving.front.app = answers_late
        async with wire(url) as at_work:
            await at_work.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            await begun.wait()
            async with wire(url) as other:
                said = await other.all()
            assert b" 503 " in said
            assert check(head_of(said)) == DATA
            answered.set()
            assert check(head_of(await at_work.answer())) == DATA


def head_of(said: bytes) -> dict[str, str]:
    head = said.partition(b"\r\n\r\n")[0].decode("latin-1")
    lines = head.split("\r\n")[1:]
    assert len({line.partition(":")[0].lower() for line in lines}) == len(lines)
    return dict(line.split(": ", 1) for line in lines)


async def test_the_pages_hold_nothing_but_the_style_that_their_policy_names(door: Served) -> None:
    for path in ("/docs", "/problems", "/problems/not_found"):
        async with aiohttp.ClientSession() as browser, browser.get(door.url + path) as answer:
            policy, text = check(answer.headers), await answer.text()
        [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
        digest = base64.b64encode(sha256(style.encode()).digest()).decode()
        assert f"style-src 'sha256-{digest}'" in policy
        assert "unsafe" not in policy
        assert "script-src" not in policy
        assert "<script" not in text
        assert not re.search(r"<[^>]* (style|on\w+)=", text)


def test_the_dashboard_runs_its_own_files_and_nothing_that_stands_in_the_page() -> None:
    headers = dict(dashboard("c2VjcmV0"))
    directives = dict(
        each.strip().split(" ", 1)
        for each in headers[b"content-security-policy"].decode().split(";")
    )
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self'"
    assert directives["style-src"] == "'self' 'nonce-c2VjcmV0'"
    assert directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == directives["object-src"] == "'none'"
    assert b"unsafe" not in headers[b"content-security-policy"]
    assert headers[b"cache-control"] == b"no-store"


async def test_a_server_without_authentication_says_so_in_every_answer(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    for path in ("/health", "/v1/jobs", "/nothing", "/docs", "/v1/jobs/x"):
        async with api.client.get(api.url + path) as answer:
            assert answer.headers.getall("Windlass-Auth") == ["off"], path
    refused = head_of(await exchange(api.url, b"nonsense\r\n\r\n"))
    assert refused["windlass-auth"] == "off"
    async with api.client.get(f"{api.url}/docs") as answer:
        assert "Authentication is off" in await answer.text()
    health = await api.get("/health")
    assert (health["auth"], health["warnings"]) == ("off", ["auth_off"])
    assert (await api.get("/v1/session"))["auth"] == "off"


async def test_one_with_authentication_has_no_such_warning(door: Served) -> None:
    health = await door.get("/health")
    assert (health["auth"], health["warnings"]) == ("on", [])
    async with door.client.get(f"{door.url}/docs") as answer:
        assert "Authentication is off" not in await answer.text()
