"""Nobody comes in without a key, except for health, the docs, or with a token of a job's own."""

from __future__ import annotations

import re
from hashlib import sha256

import aiohttp
import asyncpg
import pytest

from tests.api.conftest import Serve
from tests.api.served import Served
from windlass import clock
from windlass.config import Settings
from windlass.engine.identity import tokens
from windlass.engine.identity.first import ensure_admin_key
from windlass.limits import TOKEN_BELIEVED_SECONDS


async def test_every_route_but_health_refuses_a_caller_without_a_key(door: Served) -> None:
    document = await door.get("/openapi.json")
    asked, keyless = 0, []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if operation.get("security") == [] and not path.startswith("/health"):
                keyless.append(path)
                continue
            url = door.url + re.sub(r"\{\w+\}", "x", path)
            for header in ({}, {"Authorization": "Bearer wlk_" + "A" * 43}):
                async with door.client.request(
                    method, url, headers={"Authorization": "", **header}, timeout=None
                ) as answer:
                    if path.startswith("/health"):
                        assert answer.status == 200, (method, path)
                    else:
                        assert answer.status == 401, (method, path)
                        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
                        problem = await answer.json(content_type="application/problem+json")
                        assert problem["code"] == "unauthorized"
                    asked += 1
    assert asked > 50
    explained = ["/problems", "/problems/{code}"]
    assert keyless == [
        *("/v1/jobs/{job_id}/complete", "/v1/session"),
        *(*explained, "/openapi.json", "/docs"),
    ]


async def test_a_browser_can_open_the_documentation(door: Served) -> None:
    for path, kind in (("/docs", "text/html"), ("/openapi.json", "application/json")):
        async with aiohttp.ClientSession() as browser, browser.get(door.url + path) as answer:
            assert (answer.status, answer.content_type) == (200, kind)
            assert door.key not in await answer.text()
    async with aiohttp.ClientSession() as browser, browser.post(door.url + "/docs") as answer:
        assert answer.status == 401


@pytest.mark.parametrize(
    "header", ["Basic YTpi", "Bearer", "Bearer wlk_short", "wlk_" + "A" * 43, "Bearer " + "é" * 47]
)
async def test_what_is_no_key_is_refused(door: Served, header: str) -> None:
    await door.get("/v1/jobs", 401, headers={"Authorization": header})


async def test_only_the_hash_of_the_first_key_is_kept_and_there_is_one_first(api: Served) -> None:
    assert re.fullmatch(r"wlk_[A-Za-z0-9_-]{43}", api.key)
    assert await ensure_admin_key(api.database) is None
    connection = await asyncpg.connect(api.database.url)
    try:
        [row] = await connection.fetch("SELECT * FROM windlass.api_key")
    finally:
        await connection.close()
    assert row["hash"] == sha256(api.key.encode()).digest()
    assert api.key not in str(dict(row))


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
async def test_what_no_name_or_password_holds_is_refused_at_the_door(
    door: Served, odd: str
) -> None:
    whole = "correct horse battery"
    for method, path, body in (
        ("POST", "/v1/session", {"user": f"a{odd}", "password": whole}),
        ("POST", "/v1/session", {"user": "a", "password": whole + odd}),
        ("POST", "/v1/users", {"name": f"a{odd}", "role": "viewer"}),
        ("POST", "/v1/users", {"name": "a", "role": "viewer", "password": whole + odd}),
    ):
        problem = await door.call(method, path, 422, json=body)
        assert whole not in str(problem)


async def test_a_revoked_key_is_refused_within_seconds(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.get("/v1/jobs")
    connection = await asyncpg.connect(api.database.url)
    try:
        await connection.execute("UPDATE windlass.api_key SET revoked_at = now()")
    finally:
        await connection.close()
    ahead = TOKEN_BELIEVED_SECONDS + 0.1
    monkeypatch.setattr(tokens, "monotonic", lambda: clock.monotonic() + ahead)
    await api.get("/v1/jobs", 401)


async def test_with_auth_off_everybody_may_come_in(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    await api.get("/v1/jobs")
