"""Users, sessions and keys over HTTP: who sees and changes what, and what is said of mistakes."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import jsonschema_rs
import pytest

from tests.api.conftest import Serve
from tests.api.identity.callers import (
    PASSWORD,
    Said,
    a_key,
    a_token,
    a_user,
    bearer,
    browser,
    say,
)
from tests.api.served import Served
from windlass.api.identity.schema import USER_POST
from windlass.config import Settings
from windlass.engine.identity.passwords import Passwords
from windlass.limits import PASSWORDS_AT_ONCE, PASSWORDS_WAITING_MAX
from windlass.model.identity.account import read_new_user_name

NEW = "seven large blue whales"


async def patch(api: Served, path: str, body: Any, headers: dict[str, str]) -> Said:
    return await say(api, "PATCH", path, body, {**bearer(api.key), **headers})


async def test_a_user_is_changed_as_he_was_seen(api: Served) -> None:
    await a_user(api)
    seen = await say(api, "GET", "/v1/users/ann", None, bearer(api.key))
    tag = {"If-Match": seen.headers["etag"]}
    changed = await patch(api, "/v1/users/ann", {"role": "viewer"}, tag)
    assert (changed.status, changed.json["role"]) == (200, "viewer")
    assert changed.headers["etag"] != seen.headers["etag"]
    late = await patch(api, "/v1/users/ann", {"role": "editor"}, tag)
    assert (late.status, late.headers["etag"]) == (412, changed.headers["etag"])
    again = await patch(api, "/v1/users/ann", {}, {"If-Match": changed.headers["etag"]})
    assert again.status == 200


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/name", "/role"]),
        ({"name": "ann", "role": "king"}, ["/role"]),
        ({"name": "-ann", "role": "viewer"}, ["/name"]),
        ({"name": "user_x", "role": "viewer"}, ["/name"]),
        ({"name": "a b", "role": "viewer"}, ["/name"]),
        ({"name": "a\0", "role": "viewer"}, ["/name"]),
        ({"name": "ann", "role": "viewer", "password": "short"}, ["/password"]),
        ({"name": "ann", "role": "viewer", "password": "aaaaaaaaaaaaaaaa"}, ["/password"]),
        ({"name": "annabel", "role": "viewer", "password": "annabel-12345"}, ["/password"]),
        ({"name": "ann", "role": "viewer", "password": "password1234"}, ["/password"]),
        ({"name": "ann", "role": "viewer", "password": "x" * 257}, ["/password"]),
        ({"name": "ann", "role": "viewer", "is_disabled": True}, ["/is_disabled"]),
    ],
)
async def test_what_is_wrong_with_a_user_is_named_and_no_password_is_shown(
    door: Served, body: Any, pointers: list[str]
) -> None:
    said = await say(door, "POST", "/v1/users", body, bearer(door.key))
    assert said.status == 422
    assert [error["pointer"] for error in said.json["errors"]] == pointers
    for error in said.json["errors"]:
        assert len(error["detail"]) > 10
    if len(str(body.get("password", ""))) > 6:
        assert body["password"].encode() not in said.body


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"role": "viewer"}, ["/name"]),
        ({"name": "k"}, [""]),
        ({"name": "k", "role": "viewer", "scopes": ["jobs:read"]}, [""]),
        ({"name": "k", "scopes": []}, ["/scopes", ""]),
        ({"name": "k", "scopes": ["jobs:fly"]}, ["/scopes", ""]),
        ({"name": "k", "scopes": ["jobs:read", "jobs:read"]}, ["/scopes", ""]),
        ({"name": "k", "scopes": [1]}, ["/scopes", ""]),
        ({"name": "k", "role": "viewer", "queues": []}, ["/queues"]),
        ({"name": "k", "role": "viewer", "queues": ["a b"]}, ["/queues"]),
        ({"name": "k", "role": "viewer", "workflows": ["a", "a"]}, ["/workflows"]),
        ({"name": "k", "role": "viewer", "queues": ["q"] * 101}, ["/queues"]),
        ({"name": "k", "role": "viewer", "expires_at": "2001-01-01T00:00:00Z"}, ["/expires_at"]),
        ({"name": "k", "role": "viewer", "expires_at": "soon"}, ["/expires_at"]),
        ({"name": "k", "role": "viewer", "expires_in": 0}, ["/expires_in"]),
        ({"name": "k", "role": "viewer", "is_personal": True}, ["/is_personal"]),
        ({"name": "k", "role": "viewer", "is_personal": "no"}, ["/is_personal"]),
        ({"name": "\u202e", "role": "viewer"}, ["/name"]),
        ({"name": "k" * 129, "role": "viewer"}, ["/name"]),
    ],
)
async def test_what_is_wrong_with_a_key_is_named(
    door: Served, body: Any, pointers: list[str]
) -> None:
    said = await say(door, "POST", "/v1/keys", body, bearer(door.key))
    assert said.status == 422, said.body
    assert {error["pointer"] for error in said.json["errors"]} <= set(pointers)
    assert said.json["errors"]
    assert len((await door.get("/v1/keys"))["data"]) == 1


async def test_a_key_is_shown_once_and_its_name_stays(api: Served) -> None:
    made = await a_key(api, "mail", role="operator", expires_in="1h")
    assert re.fullmatch(r"wlk_[\w-]{43}", made["token"])
    shown = await api.get(f"/v1/keys/{made['id']}")
    assert "token" not in shown
    assert made["token"] not in str(await api.get("/v1/keys"))
    rotated = await api.post(f"/v1/keys/{made['id']}/rotate", {"overlap": "1m"})
    assert rotated["id"] == made["id"]
    for token in (made["token"], rotated["token"]):
        assert (await say(api, "GET", "/v1/jobs", None, bearer(token))).status == 200
    await api.call("DELETE", f"/v1/keys/{made['id']}", 204)
    for token in (made["token"], rotated["token"]):
        assert (await say(api, "GET", "/v1/jobs", None, bearer(token))).status == 401
    await api.call("DELETE", f"/v1/keys/{made['id']}", 404)


async def test_everybody_sees_his_own_keys_and_sessions_and_nobody_elses(api: Served) -> None:
    await a_user(api, "ann")
    await a_user(api, "bob")
    ann, bob = await a_token(api, "ann"), await a_token(api, "bob")
    made = (await say(api, "POST", "/v1/keys", {"name": "k", "role": "viewer"}, bearer(ann))).json
    assert made["user_name"] == "ann"
    [mine] = (await say(api, "GET", "/v1/keys", None, bearer(ann))).json["data"]
    assert mine["id"] == made["id"]
    assert (await say(api, "GET", "/v1/keys", None, bearer(bob))).json["data"] == []
    key, session = f"/v1/keys/{made['id']}", "/v1/sessions/"
    session += (await say(api, "GET", "/v1/session", None, bearer(ann))).json["session_id"]
    for method, path, status in (
        *(("GET", key, 404), ("DELETE", key, 404), ("POST", f"{key}/rotate", 404)),
        *(("DELETE", session, 404), ("GET", "/v1/keys?user=ann", 403)),
        *(("GET", "/v1/sessions?user=ann", 403), ("DELETE", "/v1/sessions?user=ann", 403)),
        *(("GET", "/v1/sessions?user=all", 403), ("GET", "/v1/users/ann", 403)),
    ):
        assert (await say(api, method, path, None, bearer(bob))).status == status, path
    assert (
        len((await say(api, "GET", "/v1/sessions?user=ann", None, bearer(ann))).json["data"]) == 1
    )
    assert len((await api.get("/v1/sessions?user=all"))["data"]) == 2
    assert (await say(api, "GET", "/v1/jobs", None, bearer(made["token"]))).status == 200


async def test_a_key_that_is_called_as_a_user_is_not_that_user(api: Served) -> None:
    await a_user(api, "root", "admin")
    await a_user(api, "ann", "viewer")
    root = await a_token(api, "root")
    named = {"name": "ann", "role": "admin", "is_personal": True}
    key = (await say(api, "POST", "/v1/keys", named, bearer(root))).json["token"]
    await a_token(api, "ann")
    said = await say(api, "GET", "/v1/sessions?user=ann", None, bearer(key))
    assert [one["user_name"] for one in said.json["data"]] == ["ann"]
    ended = await say(api, "DELETE", "/v1/sessions?user=ann", None, bearer(key))
    assert ended.json == {"ended": 1}
    assert (await say(api, "GET", "/v1/jobs", None, bearer(root))).status == 200


async def test_a_one_time_password_opens_its_own_change_and_nothing_else(api: Served) -> None:
    made = await api.post("/v1/users", {"name": "new", "role": "admin"}, 201)
    ann = await browser(api, "new", made["one_time_password"])
    assert ann.said["must_change_password"]
    assert ann.said["rights"] == []
    for method, path in (
        *(("GET", "/v1/jobs"), ("GET", "/v1/users"), ("POST", "/v1/keys")),
        *(("GET", "/v1/sessions"), ("POST", "/v1/users/new/reset-password")),
    ):
        said = await ann.call(method, path)
        assert (said.status, said.json["code"]) == (403, "password_change_needed"), path
        assert "PUT /v1/session/password" in said.json["detail"]
    again = {"user": "new", "password": made["one_time_password"]}
    assert (await say(api, "POST", "/v1/session", again)).status == 401
    body = {"old": made["one_time_password"], "new": NEW}
    changed = await ann.call("PUT", "/v1/session/password", body)
    assert changed.status == 200
    assert (await ann.call("GET", "/v1/session")).status == 401, "under another token from now on"
    fresh = {"Cookie": changed.headers["set-cookie"].partition(";")[0]}
    assert (await say(api, "GET", "/v1/users", None, fresh)).status == 200
    assert changed.json["csrf_token"] != ann.csrf


async def test_a_password_is_changed_by_who_knows_it(api: Served) -> None:
    await a_user(api)
    ann, other = await browser(api), await a_token(api)
    wrong = await ann.call("PUT", "/v1/session/password", {"old": "no", "new": NEW})
    assert (wrong.status, wrong.json["code"]) == (403, "wrong_password")
    weak = await ann.call("PUT", "/v1/session/password", {"old": PASSWORD, "new": "ann1234567890"})
    assert (weak.status, weak.json["errors"][0]["pointer"]) == (422, "/new")
    same = await ann.call("PUT", "/v1/session/password", {"old": PASSWORD, "new": PASSWORD})
    assert (same.status, same.json["errors"][0]["pointer"]) == (422, "/new")
    assert (await say(api, "GET", "/v1/jobs", None, bearer(other))).status == 200
    good = await ann.call("PUT", "/v1/session/password", {"old": PASSWORD, "new": NEW})
    assert good.status == 200
    assert (await say(api, "GET", "/v1/jobs", None, bearer(other))).status == 401
    by_key = await say(
        api, "PUT", "/v1/session/password", {"old": "x", "new": NEW}, bearer(api.key)
    )
    assert (by_key.status, by_key.json["code"]) == (409, "no_session")


async def test_two_admins_who_demote_each_other_at_once_are_told_who_is_last(api: Served) -> None:
    await a_user(api, "ann", "admin")
    await a_user(api, "bob", "admin")
    ann, bob = await browser(api, "ann"), await browser(api, "bob")
    said = await asyncio.gather(
        ann.call("PATCH", "/v1/users/bob", {"role": "viewer"}),
        bob.call("PATCH", "/v1/users/ann", {"role": "viewer"}),
    )
    codes = sorted(one.status for one in said)
    # Whoever is second is an admin no more, or is told that the other one is the last.
    assert codes[0] == 200
    assert codes[1] in (401, 403, 409)
    if codes[1] == 409:
        [refused] = [one for one in said if one.status == 409]
        assert refused.json["code"] == "last_admin"
    admins = [u["name"] for u in (await api.get("/v1/users"))["data"] if u["role"] == "admin"]
    assert len(admins) == 1


async def test_the_last_admin_is_told_so_by_every_way_out(api: Served) -> None:
    await a_user(api, "root", "admin")
    for method, body in (
        *(("PATCH", {"role": "viewer"}), ("PATCH", {"is_disabled": True})),
        ("DELETE", None),
    ):
        said = await say(api, method, "/v1/users/root", body, bearer(api.key))
        assert (said.status, said.json["code"]) == (409, "last_admin")
        assert "root" in said.json["detail"]


async def test_who_changes_his_own_role_goes_on_with_another_cookie(api: Served) -> None:
    await a_user(api, "ann", "admin")
    await a_user(api, "bob", "admin")
    ann = await browser(api, "ann")
    said = await ann.call("PATCH", "/v1/users/ann", {"role": "viewer"})
    assert said.status == 200
    fresh = {"Cookie": said.headers["set-cookie"].partition(";")[0]}
    assert (await ann.call("GET", "/v1/session")).status == 401
    assert (await say(api, "GET", "/v1/session", None, fresh)).json["role"] == "viewer"
    assert (await say(api, "GET", "/v1/users", None, fresh)).status == 403


async def test_who_disables_himself_is_out_at_once(api: Served) -> None:
    await a_user(api, "ann", "admin")
    await a_user(api, "bob", "admin")
    ann = await browser(api, "ann")
    assert (await ann.call("PATCH", "/v1/users/ann", {"is_disabled": True})).status == 200
    assert (await ann.call("GET", "/v1/session")).status == 401


async def test_sessions_are_ended_one_by_one_and_all_at_once(api: Served) -> None:
    await a_user(api)
    mine, other, third = [await a_token(api) for _ in range(3)]
    listed = (await say(api, "GET", "/v1/sessions", None, bearer(mine))).json["data"]
    assert [one["is_this"] for one in listed].count(True) == 1
    assert {one["device"] for one in listed} == {listed[0]["device"]}
    theirs = (await say(api, "GET", "/v1/session", None, bearer(other))).json["session_id"]
    gone = await say(api, "DELETE", f"/v1/sessions/{theirs}", None, bearer(mine))
    assert gone.status == 204
    assert (await say(api, "GET", "/v1/jobs", None, bearer(other))).status == 401
    all_ = await say(api, "DELETE", "/v1/sessions", None, bearer(mine))
    assert all_.json == {"ended": 1}
    assert (await say(api, "GET", "/v1/jobs", None, bearer(third))).status == 401
    assert (await say(api, "GET", "/v1/jobs", None, bearer(mine))).status == 200


async def test_a_crowd_at_the_login_is_told_to_come_back(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords: Passwords = api.parts.passwords
    free = asyncio.Event()
    real = passwords.compare

    async def slowly(password: str, hashed: str | None) -> bool:
        await free.wait()
        return await real(password, hashed)

    monkeypatch.setattr(passwords, "compare", slowly)
    room = PASSWORDS_AT_ONCE + PASSWORDS_WAITING_MAX
    given = [{"user": f"u{n}", "password": "x"} for n in range(room + 5)]
    crowd = [asyncio.create_task(say(api, "POST", "/v1/session", one)) for one in given]
    done: list[Any] = []
    while len(done) < 5:
        finished, _ = await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED, timeout=20)
        done = [one.result() for one in finished]
        await asyncio.sleep(0.01)
    assert {one.status for one in done} == {503}
    assert {one.json["code"] for one in done} == {"too_many_logins_at_once"}
    assert all(int(one.headers["retry-after"]) >= 1 for one in done)
    free.set()
    said = [one.status for one in await asyncio.gather(*crowd)]
    assert set(said) <= {401, 429, 503}


async def test_where_authentication_is_off_nobody_logs_in(serve_with: Serve) -> None:
    api = await serve_with(Settings(auth="off"))
    said = await say(api, "POST", "/v1/session", {"user": "ann", "password": "x"})
    assert (said.status, said.json["code"]) == (409, "auth_is_off")
    who = await say(api, "GET", "/v1/session")
    assert (who.json["kind"], who.json["auth"]) == ("anonymous", "off")


@pytest.mark.parametrize("name", ["all", "ALL", "All"])
async def test_nobody_is_called_as_everybody_is(api: Served, name: str) -> None:
    """`GET /v1/sessions?user=all` would be his."""
    refused = await api.post("/v1/users", {"name": name, "role": "viewer"}, 422)
    [error] = refused["errors"]
    assert error["pointer"] == "/name"
    assert "choose another" in error["detail"]


@pytest.mark.parametrize("name", ["all", "aLL", "user_1", "USER_", "all-2", "overall", "user"])
def test_the_published_schema_of_a_new_name_refuses_what_is_refused(name: str) -> None:
    try:
        read_new_user_name(name)
        is_taken = True
    except ValueError:
        is_taken = False
    schema = jsonschema_rs.Draft202012Validator(USER_POST["properties"]["name"])
    assert schema.is_valid(name) is is_taken


async def test_who_was_called_all_before_can_still_be_removed(api: Served) -> None:
    await a_user(api, "all")
    assert (await api.get("/v1/users/all"))["name"] == "all"
    await api.call("DELETE", "/v1/users/ALL", 204)
