"""Sessions in browsers: cookies, forged requests, and what is refused without being told why."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.api.http.raw import statuses
from tests.api.identity.callers import (
    PASSWORD,
    a_key,
    a_token,
    a_user,
    bearer,
    browser,
    raw,
    say,
)
from tests.api.served import Served
from tests.engine.identity.people import sql
from tests.until import until
from windlass import ids
from windlass.limits import COOKIES_BYTES_MAX

LOGIN = {"user": "ann", "password": PASSWORD}


async def test_the_cookie_is_for_this_host_alone_and_for_no_script(api: Served) -> None:
    await a_user(api)
    said = await say(api, "POST", "/v1/session", LOGIN)
    name, *attributes = [part.strip() for part in said.headers["set-cookie"].split(";")]
    assert name.startswith("__Host-windlass=wls_")
    assert set(attributes) == {
        *("Path=/", "Secure", "HttpOnly", "SameSite=Strict"),
        "Max-Age=604800",
    }, "and no Domain"
    assert said.json["token"] is None
    assert name.partition("=")[2] not in said.body.decode(), "no script reads it from the answer"
    assert said.headers["cache-control"] == "no-store"


async def test_a_program_gets_its_token_and_no_cookie(api: Served) -> None:
    await a_user(api)
    said = await say(api, "POST", "/v1/session", {**LOGIN, "wants_token": True})
    assert "set-cookie" not in said.headers
    who = await say(api, "GET", "/v1/session", None, bearer(said.json["token"]))
    assert (who.json["name"], who.json["csrf_token"]) == ("ann", None)


async def test_logging_out_ends_the_session_and_clears_the_cookie(api: Served) -> None:
    await a_user(api)
    ann = await browser(api)
    out = await ann.call("DELETE", "/v1/session")
    assert out.status == 204
    assert out.headers["set-cookie"].startswith("__Host-windlass=; Max-Age=0;")
    assert (await ann.call("GET", "/v1/session")).status == 401


async def test_who_logs_in_again_has_one_session_under_another_token(api: Served) -> None:
    await a_user(api)
    ann = await browser(api)
    again = await ann.call("POST", "/v1/session", LOGIN)
    assert again.status == 201
    assert again.headers["set-cookie"].partition(";")[0] != ann.cookie
    assert (await ann.call("GET", "/v1/session")).status == 401
    [row] = await sql(
        api.database, "SELECT count(*) AS n FROM windlass.session WHERE revoked_at IS NULL"
    )
    assert row["n"] == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"X_CSRF_Token": ""}, 403),
        ({"X_CSRF_Token": "A" * 43}, 403),
        ({"X_CSRF_Token": "\u00e9"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "strange"}, 403),
        ({"Sec_Fetch_Site": "none"}, 201),
        ({"Sec_Fetch_Site": "", "Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://evil.example"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://{host}.evil.example"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://evil.example/{host}"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://{host}@evil.example"}, 403),
        ({"Sec_Fetch_Site": "", "Origin": "https://{host}"}, 201),
        ({"Sec_Fetch_Site": ""}, 201),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "https://{host}"}, 403),
    ],
)
async def test_what_a_page_of_somebody_else_sends_is_refused(
    api: Served, headers: dict[str, str], status: int
) -> None:
    await a_user(api)
    ann = await browser(api)
    host = api.url.removeprefix("http://")
    given = {name: text.replace("{host}", host) for name, text in headers.items()}
    said = await ann.call("POST", "/v1/jobs", {"kind": "noop"}, **given)
    assert said.status == status, said.body
    if status == 403:
        assert said.json["code"] == "cross_site"
        assert (await ann.call("GET", "/v1/jobs", **given)).status == 200, "to read is no harm"
        [row] = await sql(api.database, "SELECT count(*) AS n FROM windlass.job")
        assert row["n"] == 0


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_every_method_that_changes_something_needs_the_token_of_the_page(
    api: Served, method: str
) -> None:
    await a_user(api)
    ann = await browser(api)
    path = {"POST": "/v1/jobs", "PUT": "/v1/queues/a", "PATCH": "/v1/nodes/x"}.get(method)
    said = await ann.call(method, path or "/v1/jobs/x", None, X_CSRF_Token="")
    assert (said.status, said.json["code"]) == (403, "cross_site")


async def test_the_csrf_token_of_another_session_is_none(api: Served) -> None:
    await a_user(api)
    await a_user(api, "bob")
    ann, bob = await browser(api), await browser(api, "bob")
    assert ann.csrf != bob.csrf
    said = await ann.call("POST", "/v1/jobs", {"kind": "noop"}, X_CSRF_Token=bob.csrf)
    assert said.status == 403
    assert (await ann.call("GET", "/v1/session")).json["csrf_token"] == ann.csrf


async def test_whoever_sends_a_token_is_no_browser_and_needs_nothing_else(api: Served) -> None:
    await a_user(api)
    headers = {**bearer(await a_token(api)), "Sec-Fetch-Site": "cross-site", "Origin": "null"}
    assert (await say(api, "POST", "/v1/jobs", {"kind": "noop"}, headers)).status == 201


async def test_a_header_is_believed_before_a_cookie(api: Served) -> None:
    await a_user(api)
    ann = await browser(api)
    said = await ann.call("GET", "/v1/session", Authorization=f"Bearer {api.key}")
    assert said.json["kind"] == "key"
    garbled = await ann.call("GET", "/v1/session", Authorization="Bearer x")
    assert garbled.status == 401, "and a bad one is not made good by it"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_no_page_of_somebody_else_logs_one_in(api: Served, site: str) -> None:
    await a_user(api)
    for headers in (
        {"Sec-Fetch-Site": site},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ):
        said = await say(api, "POST", "/v1/session", LOGIN, headers)
        assert (said.status, said.json["code"]) == (403, "cross_site")
        assert "set-cookie" not in said.headers
    [row] = await sql(api.database, "SELECT count(*) AS n FROM windlass.login_try")
    assert row["n"] == 0, "nor spends his tries"


async def test_cookies_that_are_too_long_are_refused(door: Served) -> None:
    for path in ("/v1/session", "/v1/jobs"):
        said = await say(door, "GET", path, None, {"Cookie": "a=" + "x" * COOKIES_BYTES_MAX})
        assert (said.status, said.json["code"]) == (431, "cookies_too_large")


async def test_a_login_with_cookies_that_are_too_long_spends_no_one_time_password(
    api: Served,
) -> None:
    made = await api.post("/v1/users", {"name": "new", "role": "viewer"}, 201)
    login = {"user": "new", "password": made["one_time_password"]}
    cookies = {"Cookie": "a=" + "x" * COOKIES_BYTES_MAX}
    said = await say(api, "POST", "/v1/session", login, cookies)
    assert (said.status, said.json["code"]) == (431, "cookies_too_large")
    assert await sql(api.database, "SELECT FROM windlass.session") == []
    assert (await say(api, "POST", "/v1/session", login)).status == 201


async def test_among_other_cookies_ours_is_found(api: Served) -> None:
    await a_user(api)
    ann = await browser(api)
    for cookie in (f"a=b; {ann.cookie}; c=d", f"x{ann.cookie}; {ann.cookie}", f" {ann.cookie} "):
        assert (await say(api, "GET", "/v1/jobs", None, {"Cookie": cookie})).status == 200
    for cookie in (f"x{ann.cookie}", ann.cookie + "x", ann.cookie.lower(), "=", ";;;", "\u00e9"):
        assert (await say(api, "GET", "/v1/jobs", None, {"Cookie": cookie})).status == 401


async def test_two_authorizations_are_none(door: Served) -> None:
    good, bad = f"Bearer {door.key}", "Bearer wlk_" + "A" * 43
    for pair in ((good, bad), (bad, good), (good, good)):
        said = await raw(door, "GET", "/v1/jobs", *(("Authorization", one) for one in pair))
        assert statuses(said) == [400]
    said = await raw(door, "GET", "/v1/jobs", ("Cookie", "a=b"), ("Cookie", "c=d"))
    assert statuses(said) == [400]


async def test_every_token_that_is_not_good_is_refused_in_the_same_words(
    api: Served,
) -> None:
    await a_user(api)
    expired, revoked = await a_key(api, role="viewer"), await a_key(api, role="viewer")
    ended = await a_token(api)
    await sql(
        api.database,
        "UPDATE windlass.api_key SET expires_at = now() WHERE name = 'a key' AND id = $1",
        ids.parse("key", expired["id"]),
    )
    await api.call("DELETE", f"/v1/keys/{revoked['id']}", 204)
    assert (await say(api, "DELETE", "/v1/session", None, bearer(ended))).status == 204
    tokens = (
        *(expired["token"], revoked["token"], ended),
        *("wlk_" + "A" * 43, "wls_" + "A" * 43, "wlk_", "x", ended[:-1], ended + "A"),
    )
    said = [await say(api, "GET", "/v1/jobs", None, bearer(token)) for token in tokens]
    said.append(await say(api, "GET", "/v1/jobs", None, {"Authorization": "Basic YTpi"}))
    said.append(await say(api, "GET", "/v1/jobs"))
    cookie = {"Cookie": f"__Host-windlass={ended}"}
    said.append(await say(api, "GET", "/v1/jobs", None, cookie))
    assert {one.status for one in said} == {401}
    assert {one.headers["www-authenticate"] for one in said} == {'Bearer realm="windlass"'}
    bodies = {json.dumps({**one.json, "request_id": ""}) for one in said}
    assert len(bodies) == 1, bodies


async def test_nobody_finds_out_who_there_is(api: Served) -> None:
    await a_user(api)
    await a_user(api, "off")
    await api.call("PATCH", "/v1/users/off", 200, json={"is_disabled": True})
    said = [
        await say(api, "POST", "/v1/session", {"user": user, "password": password})
        for user, password in (
            *(("ann", "wrong"), ("off", PASSWORD), ("nobody", PASSWORD)),
            *(("user_x", "x"), ("\u00c4", "x"), ("\u202e", "x"), ("ann", "\u00c4")),
        )
    ]
    assert {one.status for one in said} == {401}
    assert len({json.dumps({**one.json, "request_id": ""}) for one in said}) == 1
    assert len({tuple(sorted(one.headers)) for one in said}) == 1


@pytest.mark.parametrize(
    ("user", "password", "field"),
    [
        *(("a\0b", "x", "user"), ("\ud800", "x", "user")),
        *(("ann", "\ud800", "password"), ("nobody", "a\0b", "password")),
    ],
)
async def test_what_can_be_nobodys_name_or_password_is_told_so(
    api: Served, user: str, password: str, field: str
) -> None:
    await a_user(api)
    said = await say(api, "POST", "/v1/session", {"user": user, "password": password})
    assert said.status == 422
    why = "holds U+0000 or half a character, as nobody's does"
    assert said.json["errors"] == [{"pointer": f"/{field}", "detail": why}]


async def test_who_tries_too_often_is_told_how_long_to_wait(api: Served) -> None:
    await a_user(api)
    for name in ("ann", "nobody"):
        said: Any = None
        for _ in range(6):
            said = await say(api, "POST", "/v1/session", {"user": name, "password": "wrong"})
        assert (said.status, said.json["code"]) == (429, "too_many_tries")
        assert 1 <= int(said.headers["retry-after"]) <= 16
    right = await say(api, "POST", "/v1/session", LOGIN)
    assert right.status == 429, "nor is the right one heard before"


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/user", "/password"]),
        ({"user": "ann"}, ["/password"]),
        ({"user": 1, "password": ["x"]}, ["/user", "/password"]),
        ({"user": "", "password": "x"}, ["/user"]),
        ({"user": "a" * 129, "password": "x" * 257}, ["/user", "/password"]),
        ({"user": "ann", "password": "x", "admin": True}, ["/admin"]),
        ({"user": "ann", "password": "x", "wants_token": 1}, ["/wants_token"]),
        ([], [""]),
    ],
)
async def test_what_is_wrong_with_a_login_is_named(
    door: Served, body: Any, pointers: list[str]
) -> None:
    said = await say(door, "POST", "/v1/session", body)
    assert said.status == 422
    assert [error["pointer"] for error in said.json["errors"]] == pointers
    assert all(error["detail"] for error in said.json["errors"])


async def test_a_stream_of_events_ends_with_what_opened_it(api: Served) -> None:
    await a_user(api)
    key = await a_key(api, role="viewer")
    ann = await browser(api)
    for headers, way_out in (
        (bearer(key["token"]), ("DELETE", f"/v1/keys/{key['id']}", 204, None)),
        ({"Cookie": ann.cookie}, ("PATCH", "/v1/users/ann", 200, {"is_disabled": True})),
    ):
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client,
            client.get(f"{api.url}/v1/events/stream", headers=headers) as stream,
        ):
            assert stream.status == 200
            assert await stream.content.readline() == b": windlass\n"
            method, path, status, body = way_out
            await api.call(method, path, status, json=body)

            async def is_over(stream: aiohttp.ClientResponse = stream) -> bool:
                return not await stream.content.readline()

            await until(is_over, within_seconds=20)
