"""Login through OpenID Connect, through a provider that is a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.identity.sign_on.browser import LOGIN, SESSION, Browser
from tests.api.identity.sign_on.provider import ProviderProcess
from tests.api.identity.sign_on.provider_process import PUBLIC_URL, REDIRECT_URI
from tests.api.served import Served, serve
from windlass.config import Settings
from windlass.engine.audit import refused
from windlass.engine.identity import users
from windlass.engine.identity.sessions import begin_session

Open = Callable[[Served], Browser]
PASSWORD = "a few words in a row"


async def users_of(api: Served) -> dict[str, Any]:
    return {user["name"]: user for user in (await api.get("/v1/users"))["data"]}


async def refused_logins(api: Served) -> list[Any]:
    """Of the audit log, the oldest first."""
    return list((await api.get("/v1/audit?action=session.login_failed"))["data"])[::-1]


async def sessions_of(api: Served) -> list[Any]:
    return list((await api.get("/v1/sessions?user=all"))["data"])


async def local_admin(api: Served, name: str = "root") -> None:
    given = {"name": name, "role": "admin", "password": PASSWORD}
    await api.post("/v1/users", given, 201)


async def test_whom_the_provider_names_is_logged_in_with_the_highest_role_of_his_groups(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    await provider.order(claims={"groups": ["staff", "ops", "unheard of", 7, None]})
    seen = await browser.log_in("/work?tab=1%23top")
    assert seen.location == f"{PUBLIC_URL}/work?tab=1#top"
    caller = await browser.caller()
    assert (caller["kind"], caller["name"], caller["role"]) == ("user", "ann", "operator")
    ann = (await users_of(api))["ann"]
    assert (ann["issuer"], ann["has_password"], ann["sessions"]) == (provider.issuer, False, 1)
    assert ann["last_login_at"] is not None


async def test_the_session_is_as_good_as_one_of_a_password_and_ends_as_such(
    api: Served, browser: Browser
) -> None:
    seen = await browser.log_in()
    assert seen.location == f"{PUBLIC_URL}/"
    cookie = browser.cookies[SESSION]
    assert (cookie["samesite"], cookie["domain"]) == ("Strict", "")
    caller = await browser.caller()
    assert (await browser.get("/v1/jobs")).status == 200
    headers = {"Cookie": f"{SESSION}={cookie.value}", "X-CSRF-Token": caller["csrf_token"]}
    async with browser.client.delete(api.url + "/v1/session", headers=headers) as answer:
        assert answer.status == 204
    assert (await browser.get("/v1/session")).status == 401


async def test_the_provider_is_asked_as_the_standards_have_it(
    provider: ProviderProcess, api: Served, browser: Browser
) -> None:
    await browser.log_in()
    [asked] = await provider.seen("/authorize")
    assert asked["scope"] == "openid profile email"
    assert asked["redirect_uri"] == REDIRECT_URI
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    [token] = await provider.seen("/token")
    assert len(token["code_verifier"]) == 43, "and the provider has compared it (PKCE)"
    assert "client_secret" not in token, "it goes as HTTP Basic unless the provider wants it here"
    cookie = browser.cookies[LOGIN]
    assert (cookie["samesite"], cookie["max-age"]) == ("Lax", "600")


async def test_the_address_that_holds_the_code_is_told_to_nobody(browser: Browser) -> None:
    begun = await browser.get("/v1/session/oidc")
    back = (await browser.get(begun.location)).location
    assert "code=" in back
    for seen in (begun, await browser.get(back, is_sent=True)):
        assert seen.location
        assert seen.headers["Referrer-Policy"] == "no-referrer"
        assert seen.headers["Content-Security-Policy"].startswith("default-src 'none'")


async def test_host_and_forwarded_headers_decide_nothing(
    provider: ProviderProcess, browser: Browser
) -> None:
    headers = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        "Forwarded": "host=evil.example;proto=gopher",
    }
    seen = await browser.get("/v1/session/oidc", headers)
    assert "evil" not in seen.location
    back = (await browser.get(seen.location)).location
    seen = await browser.get(back, headers, is_sent=True)
    assert seen.location == f"{PUBLIC_URL}/"


@pytest.mark.parametrize(("alg", "key"), [("RS256", "rsa-1"), ("ES256", "ec-1"), ("EdDSA", "ed-1")])
async def test_keys_of_all_three_kinds_are_taken(
    provider: ProviderProcess, browser: Browser, alg: str, key: str
) -> None:
    await provider.order(alg=alg, key=key)
    await browser.log_in()
    assert browser.has_session


async def test_a_secret_goes_in_the_form_where_the_provider_takes_it_only_there(
    provider: ProviderProcess, browser: Browser
) -> None:
    methods = ["client_secret_post", "private_key_jwt"]
    await provider.order(description={"token_endpoint_auth_methods_supported": methods})
    await browser.log_in()
    assert browser.has_session
    [asked] = await provider.seen("/token")
    assert "client_secret" in asked


async def test_a_public_client_has_no_secret(
    serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    await provider.order(is_public=True)
    browser = open_browser(await serve_with(provider.settings(oidc_client_secret=None)))
    await browser.log_in()
    assert browser.has_session


async def test_a_login_begun_on_one_node_ends_on_another(
    api: Served, serve_with: Serve, provider: ProviderProcess, browser: Browser
) -> None:
    other = await serve_with(provider.settings())
    back = await browser.visit_provider("/here")
    browser.node_url = other.url
    assert (await browser.get(back, is_sent=True)).location == f"{PUBLIC_URL}/here"
    browser.node_url = api.url
    assert (await browser.caller())["name"] == "ann"


async def test_redis_is_not_needed(
    database_url: str, provider: ProviderProcess, open_browser: Open
) -> None:
    nowhere = "redis://127.0.0.1:1/0"
    async with serve(database_url, nowhere, provider.settings()) as api:
        browser = open_browser(api)
        await browser.log_in()
        assert (await browser.caller())["name"] == "ann"


async def test_two_windows_of_one_browser_may_log_in_beside_each_other(browser: Browser) -> None:
    first, second = await browser.visit_provider("/one"), await browser.visit_provider("/two")
    assert (await browser.get(second, is_sent=True)).location.endswith("/two")
    assert (await browser.get(first, is_sent=True)).location.endswith("/one")


async def test_who_logs_in_where_somebody_is_logged_in_has_one_session(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    await browser.log_in()
    before = browser.cookies[SESSION].value
    await provider.order(claims={"sub": "bob-2", "preferred_username": "bob"})
    await browser.log_in()
    assert (await browser.caller())["name"] == "bob"
    assert [session["user_name"] for session in await sessions_of(api)] == ["bob"]
    browser.cookies[SESSION].set(SESSION, before, before)
    assert (await browser.get("/v1/session")).status == 401


async def test_the_ways_to_log_in_are_told_to_everybody(
    api: Served, serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    seen = await open_browser(api).get("/v1/session/methods")
    oidc = {"name": "Example", "url": f"{PUBLIC_URL}/v1/session/oidc"}
    assert seen.body == {"auth": "on", "password": True, "oidc": oidc}
    for settings, said in (
        (Settings(), {"auth": "on", "password": True, "oidc": None}),
        (provider.settings(auth="off"), {"auth": "off", "password": False, "oidc": None}),
    ):
        other = open_browser(await serve_with(settings))
        assert (await other.get("/v1/session/methods")).body == said


async def test_without_a_provider_or_authentication_nobody_logs_in_there(
    serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    for settings, code in (
        (Settings(), "no_sign_on"),
        (provider.settings(auth="off"), "auth_is_off"),
    ):
        browser = open_browser(await serve_with(settings))
        for path in ("/v1/session/oidc", "/v1/session/oidc/callback?state=x&code=y"):
            seen = await browser.get(path)
            assert (seen.status, seen.code) == (409, code)


# -- users and roles -------------------------------------------------------------------------------


async def test_another_role_at_the_next_login_ends_the_sessions_of_before(
    api: Served, provider: ProviderProcess, browser: Browser, open_browser: Open
) -> None:
    await provider.order(claims={"groups": ["bosses"]})
    await browser.log_in()
    assert (await browser.caller())["role"] == "admin"
    await local_admin(api)

    await provider.order(claims={"groups": ["staff"]})
    elsewhere = open_browser(api)
    await elsewhere.log_in()
    assert (await elsewhere.caller())["role"] == "viewer"
    assert (await browser.get("/v1/session")).status == 401
    assert (await users_of(api))["ann"]["role"] == "viewer"


async def test_what_an_admin_has_changed_lasts_until_the_next_login(
    api: Served, browser: Browser
) -> None:
    await browser.log_in()
    await api.call("PATCH", "/v1/users/ann", 200, json={"role": "editor"})
    await browser.log_in()
    assert (await browser.caller())["role"] == "viewer"


async def test_the_last_admin_is_not_made_less_and_stays_out(
    api: Served, provider: ProviderProcess, browser: Browser, open_browser: Open
) -> None:
    await provider.order(claims={"groups": ["bosses"]})
    await browser.log_in()
    await provider.order(claims={"groups": ["staff"]})
    again = open_browser(api)
    seen = await again.log_in()
    assert (seen.status, seen.code, seen.body["reason"]) == (403, "sign_on_denied", "last_admin")
    assert not again.has_session
    assert (await users_of(api))["ann"]["role"] == "admin"

    await local_admin(api)
    await again.log_in()
    assert (await again.caller())["role"] == "viewer"


async def test_who_is_disabled_stays_out(api: Served, browser: Browser) -> None:
    await browser.log_in()
    await api.call("PATCH", "/v1/users/ann", 200, json={"is_disabled": True})
    seen = await browser.log_in()
    assert (seen.status, seen.code, seen.body["reason"]) == (403, "sign_on_denied", "disabled")
    assert await sessions_of(api) == []


@pytest.mark.parametrize("groups", [None, [], ["others"], "STAFF", {"staff": True}, 7])
async def test_who_has_no_role_is_not_let_in_and_not_made_a_user(
    api: Served, provider: ProviderProcess, browser: Browser, groups: Any
) -> None:
    await provider.order(claims={"groups": groups})
    seen = await browser.log_in()
    assert (seen.status, seen.code, seen.body["reason"]) == (403, "sign_on_denied", "no_role")
    assert not browser.has_session
    assert await users_of(api) == {}


async def test_who_has_no_role_any_more_loses_his_sessions(
    api: Served, provider: ProviderProcess, browser: Browser, open_browser: Open
) -> None:
    await browser.log_in()
    await provider.order(claims={"groups": []})
    assert (await open_browser(api).log_in()).status == 403
    assert (await browser.get("/v1/session")).status == 401


async def test_the_audit_log_names_whom_the_provider_let_in_and_windlass_did_not(
    api: Served, provider: ProviderProcess, browser: Browser, open_browser: Open
) -> None:
    await provider.order(claims={"groups": ["bosses"]})
    await browser.log_in()
    ann = (await users_of(api))["ann"]["id"]
    await provider.order(claims={"groups": ["staff"]})
    await open_browser(api).log_in()
    await local_admin(api)
    await provider.order(claims={"groups": []})
    for _ in range(2):  # the second time there is no session of his left to end
        await open_browser(api).log_in()
    await api.call("PATCH", "/v1/users/ann", 200, json={"is_disabled": True})
    await provider.order()
    await open_browser(api).log_in()

    found = await refused_logins(api)
    reasons = [entry["after"]["reason"] for entry in found]
    assert reasons == ["last_admin", "no_role", "no_role", "disabled"]
    for entry in found:
        assert (entry["object_id"], entry["object_name"]) == (ann, "ann")
        assert entry["after"]["issuer"] == provider.issuer
        assert (entry["actor_kind"], entry["address"]) == ("anonymous", "127.0.0.1")
        assert entry["note"]


async def test_who_is_disabled_while_he_logs_in_is_in_the_audit_log_as_well(
    api: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def begin(connection: Any, user_id: Any, **given: Any) -> Any:
        await api.call("PATCH", "/v1/users/ann", 200, json={"is_disabled": True})
        return await begin_session(connection, user_id, **given)

    monkeypatch.setattr("windlass.engine.identity.sign_on.begin_session", begin)
    assert (await browser.log_in()).body["reason"] == "disabled"
    [entry] = await refused_logins(api)
    assert (entry["object_name"], entry["after"]["reason"]) == ("ann", "disabled")


async def test_of_who_is_no_user_the_audit_log_has_the_subject_alone(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    """A name that he chose at the provider may be somebody else's here."""
    await local_admin(api)
    await provider.order(claims={"groups": [], "preferred_username": "root", "sub": "s-1"})
    await browser.log_in()
    await provider.order(way_back={"code": None, "error": "access_denied"})
    await browser.log_in()
    stranger, nobody = await refused_logins(api)
    assert (stranger["object_id"], stranger["object_name"]) == (None, None)
    issuer = provider.issuer
    assert stranger["after"] == {"issuer": issuer, "reason": "no_role", "subject": "s-1"}
    assert (nobody["object_name"], nobody["after"]["reason"]) == (None, "provider")


async def test_strangers_whom_the_provider_knows_hide_no_user_in_the_audit_log(
    api: Served, provider: ProviderProcess, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.log_in()
    await api.call("PATCH", "/v1/users/ann", 200, json={"is_disabled": True})
    monkeypatch.setattr(refused, "_PATIENCE_SECONDS", 0.0)
    await provider.order(claims={"groups": [], "sub": "s-1"})
    for _ in range(3):
        await browser.log_in()
    await provider.order()
    for _ in range(3):
        await browser.log_in()
    assert [entry["object_name"] for entry in await refused_logins(api)] == [None, "ann"]


async def test_there_may_be_a_role_for_those_who_have_none(
    serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    settings = provider.settings(oidc_role_claim=None, oidc_roles=(), oidc_default_role="operator")
    browser = open_browser(await serve_with(settings))
    await browser.log_in()
    assert (await browser.caller())["role"] == "operator"


async def test_roles_may_stand_deep_in_the_token(
    serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    await provider.order(claims={"realm_access": {"roles": ["ops"]}})
    settings = provider.settings(oidc_role_claim="realm_access.roles")
    browser = open_browser(await serve_with(settings))
    await browser.log_in()
    assert (await browser.caller())["role"] == "operator"


async def test_a_user_of_another_origin_is_never_taken_for_one_of_the_same_name_or_address(
    api: Served, provider: ProviderProcess, browser: Browser, open_browser: Open
) -> None:
    await local_admin(api, "ann")
    await local_admin(api, "ann@example.com")
    await provider.order(claims={"email": "ann@example.com", "email_verified": True})
    await browser.log_in()
    caller = await browser.caller()
    assert (caller["name"], caller["role"]) == ("ann-2", "viewer")
    await provider.order(claims={"sub": "another ann"})
    other = open_browser(api)
    await other.log_in()
    assert (await other.caller())["name"] == "ann-3"
    found = await users_of(api)
    assert found["ann"]["issuer"] is None
    assert found["ann"]["sessions"] == 0


async def test_a_name_that_too_many_have_is_refused(
    api: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "NAMESAKES_MAX", 1)
    await local_admin(api, "ann")
    seen = await browser.log_in()
    assert (seen.status, seen.code, seen.body["reason"]) == (403, "sign_on_denied", "name_taken")


async def test_a_user_stays_the_same_whatever_he_is_called(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    await browser.log_in()
    first = (await browser.caller())["user_id"]
    await provider.order(claims={"preferred_username": "anna"})
    await browser.log_in()
    assert (await browser.caller())["user_id"] == first
    assert list(await users_of(api)) == ["ann"]


async def test_who_comes_for_the_first_time_in_many_browsers_at_once_is_one_user(
    api: Served, open_browser: Open
) -> None:
    browsers = [open_browser(api) for _ in range(5)]
    answers = await asyncio.gather(*(browser.log_in() for browser in browsers))
    assert [seen.status for seen in answers] == [303] * 5
    assert [user["sessions"] for user in (await users_of(api)).values()] == [5]


async def test_an_admin_can_give_who_came_from_elsewhere_a_password(
    api: Served, browser: Browser
) -> None:
    await browser.log_in()
    assert (await browser.get("/v1/session")).status == 200
    reset = await api.post("/v1/users/ann/reset-password", None, 200)
    given = {"user": "ann", "password": reset["one_time_password"], "wants_token": True}
    assert (await api.post("/v1/session", given, 201))["must_change_password"] is True
    assert (await browser.get("/v1/session")).status == 401
