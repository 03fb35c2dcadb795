"""Nobody gets a session through the identity provider when anything at all is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from tests.api.identity.sign_on.browser import LOGIN, SESSION, Browser
from tests.api.identity.sign_on.provider import ProviderProcess
from tests.api.identity.sign_on.provider_process import CLIENT_SECRET, PUBLIC_URL
from tests.api.served import Served
from windlass.engine.identity import login, sign_on
from windlass.engine.identity import provider as provider_module

Open = Callable[[Served], Browser]
NOBODY = "http://127.0.0.1:9"


async def nobody_came_in(api: Served, browser: Browser) -> None:
    assert not browser.has_session
    assert (await api.get("/v1/sessions?user=all"))["data"] == []
    assert (await api.get("/v1/users"))["data"] == []


# -- ID tokens -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({"claims": {"iss": NOBODY}}, "another issuer"),
        ({"claims": {"iss": None}}, "another issuer"),
        ({"claims": {"aud": "another"}}, "another client (aud)"),
        ({"claims": {"aud": None}}, "another client (aud)"),
        ({"claims": {"aud": ["another", "yet another"]}}, "another client (aud)"),
        ({"claims": {"aud": ["windlass", "another"]}}, "(azp)"),
        ({"claims": {"aud": ["windlass", "another"], "azp": "another"}}, "(azp)"),
        ({"claims": {"azp": "another"}}, "(azp)"),
        ({"claims": {"nonce": "of another login"}}, "(nonce)"),
        ({"claims": {"nonce": None}}, "(nonce)"),
        ({"claims": {"nonce": "\ud800"}}, "(nonce)"),
        ({"shift_seconds": -1000}, "(exp); are the clocks"),
        ({"shift_seconds": 1000}, "(iat); are the clocks"),
        ({"claims": {"nbf": 32503680000}}, "(nbf); are the clocks"),
        ({"claims": {"exp": None}}, "exp is no number"),
        ({"claims": {"exp": "soon"}}, "exp is no number"),
        ({"claims": {"exp": True}}, "exp is no number"),
        ({"claims": {"iat": None}}, "iat is no number"),
        ({"claims": {"nbf": [1]}}, "nbf is no number"),
        ({"claims": {"exp": 10**400}}, "exp is no number"),
        ({"claims": {"sub": None}}, "(sub)"),
        ({"claims": {"sub": ""}}, "(sub)"),
        ({"claims": {"sub": "x" * 256}}, "(sub)"),
        ({"claims": {"sub": 17}}, "(sub)"),
        ({"claims": {"sub": "ann\u0000"}}, "(sub)"),
        ({"alg": "none", "signature": ""}, "(alg)"),
        ({"alg": "None", "signature": ""}, "(alg)"),
        ({"alg": "HS256", "key": "rsa-1"}, "(alg)"),
        ({"alg": "HS256", "key": "ec-1"}, "(alg)"),
        ({"alg": "RS512", "key": "rsa-1"}, "(alg)"),
        ({"header": {"alg": None}}, "no signed token"),
        ({"header": {"alg": ["ES256"]}}, "(alg)"),
        ({"alg": "RS256"}, "(kid)"),  # of a key of another kind
        ({"header": {"kid": "unheard of"}}, "(kid)"),
        ({"header": {"kid": {"x": 1}}}, "(kid)"),
        ({"header": {"kid": "rsa-1"}}, "(kid)"),
        ({"key": "ec-2"}, "(kid)"),  # which is not published
        ({"key": "ec-2", "header": {"kid": "ec-1"}}, "signature is not right"),
        ({"alg": "RS256", "key": "rsa-weak", "published": ["rsa-weak"]}, "(kid)"),
        ({"header": {"kid": None}, "published": ["ec-1", "ec-2"]}, "(kid)"),
        ({"header": {"crit": ["exp"], "exp": 1}}, "(crit)"),
        ({"header": {"b64": False, "crit": ["b64"]}}, "(crit)"),
        ({"header": {"x": "y" * 30_000}}, "no signed token"),
        ({"signature": ""}, "signature is not right"),
        ({"signature": "AAAA"}, "signature is not right"),
        ({"signature": "é"}, "no ID token"),
        ({"id_token": "a.b.c"}, "no signed token"),
        ({"id_token": "e30.e30."}, "no signed token"),
        ({"id_token": "W10.e30.AA"}, "no signed token"),
        ({"id_token": "x"}, "no signed token"),
        ({"id_token": "." * 1000}, "no signed token"),
        ({"token_answer": {"access_token": "x", "token_type": "Bearer"}}, "no ID token"),
        ({"token_answer": {"id_token": 17}}, "no ID token"),
        ({"token_answer": {"error": "invalid_grant"}, "token_status": 400}, "invalid_grant"),
        ({"token_answer": {"error": "invalid_client"}, "token_status": 401}, "invalid_client"),
        ({"way_back": {"code": "made up"}}, "invalid_grant"),
        ({"way_back": {"code": None}}, "gave no code"),
        ({"way_back": {"code": None, "error": "invalid_scope"}}, "gave no code"),
        ({"way_back": {"iss": NOBODY}}, "another identity provider"),
    ],
)
async def test_what_the_provider_says_must_be_right_to_the_last_claim(
    api: Served,
    provider: ProviderProcess,
    browser: Browser,
    capsys: pytest.CaptureFixture[str],
    orders: dict[str, Any],
    words: str,
) -> None:
    await provider.order(**orders)
    back = await browser.visit_provider("/")
    seen = await browser.get(back, is_sent=True)
    assert (seen.status, seen.code) == (401, "sign_on_failed"), seen.body
    assert words in seen.body["detail"]
    await nobody_came_in(api, browser)
    said = capsys.readouterr()
    log = said.out + said.err
    assert "sign_on_failed" in log, "the owner finds it in the log"
    cookie = browser.cookies[LOGIN].value
    state = back.partition("state=")[2].partition("&")[0]
    for secret in (cookie, state, CLIENT_SECRET, "eyJ", "at-"):
        assert secret not in log + json.dumps(seen.body)


@pytest.mark.parametrize("seconds", [-300, -30, 0, 30, 55])
async def test_clocks_may_be_apart_a_little(
    provider: ProviderProcess, browser: Browser, seconds: float
) -> None:
    """The token is good for five minutes by the provider's clock."""
    await provider.order(shift_seconds=seconds)
    await browser.log_in()
    assert browser.has_session


async def test_the_clock_of_the_node_does_not_matter(
    provider: ProviderProcess, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 0.0)
    await browser.log_in()
    assert browser.has_session


async def test_several_audiences_are_fine_if_it_says_that_it_was_made_for_us(
    provider: ProviderProcess, browser: Browser
) -> None:
    await provider.order(claims={"aud": ["another", "windlass"], "azp": "windlass"})
    await browser.log_in()
    assert browser.has_session


async def test_a_token_without_kid_is_taken_if_one_key_fits(
    provider: ProviderProcess, browser: Browser
) -> None:
    await provider.order(header={"kid": None})
    await browser.log_in()
    assert browser.has_session


async def test_keys_that_were_rotated_are_found_and_asked_for_no_more_than_now_and_then(
    provider: ProviderProcess, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await browser.log_in()
    await provider.order(key="ec-2", published=["ec-2"])
    await browser.log_in()
    assert browser.has_session
    assert len(await provider.seen("/keys")) == 1

    del browser.cookies[SESSION]
    await provider.order(key="ec-1", published=["ec-2"])
    for _ in range(3):
        assert (await browser.log_in()).code == "sign_on_failed"
    assert await provider.seen("/keys") == [], "a moment ago they were asked for"

    monkeypatch.setattr(provider_module, "PROVIDER_KEYS_AGAIN_SECONDS", 0.0)
    await provider.order(key="ec-1", published=["ec-1"])
    await browser.log_in()
    assert browser.has_session


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"keys": []},
        {"keys": "none"},
        {"keys": [{"kty": "oct", "kid": "ec-1", "k": "AAAA"}]},
        {"keys": [{"kty": "EC", "crv": "P-256", "kid": "ec-1", "x": "AAAA", "y": "AAAA"}]},
        {"keys": [{"kty": "EC", "crv": "P-256", "kid": "ec-1"}]},
        {"keys": [{"kty": "EC", "crv": "P-256", "kid": "ec-1", "x": 1, "y": None}]},
        {"keys": [7, None, "ec-1"]},
        {"keys": [{}] * 200},
    ],
)
async def test_what_is_no_key_opens_nothing(
    api: Served, provider: ProviderProcess, browser: Browser, keys: Any
) -> None:
    await provider.order(keys_answer=keys)
    assert (await browser.log_in()).code in ("sign_on_failed", "provider_away")
    await nobody_came_in(api, browser)


# -- states, cookies, codes ------------------------------------------------------------------------


async def test_a_login_ends_once(api: Served, browser: Browser) -> None:
    back = await browser.visit_provider()
    assert (await browser.get(back, is_sent=True)).status == 303
    for _ in range(2):
        seen = await browser.get(back, is_sent=True)
        assert (seen.status, seen.code) == (401, "sign_on_expired")
    assert len((await api.get("/v1/sessions?user=all"))["data"]) == 1


async def test_of_many_that_bring_the_same_state_at_once_one_is_heard(
    api: Served, browser: Browser
) -> None:
    back = await browser.visit_provider()
    answers = await asyncio.gather(*(browser.get(back, is_sent=True) for _ in range(8)))
    assert sorted(seen.status for seen in answers) == [303] + 7 * [401]
    assert len((await api.get("/v1/sessions?user=all"))["data"]) == 1


async def test_a_link_back_is_good_in_the_browser_that_began_and_in_no_other(
    api: Served, browser: Browser, open_browser: Open
) -> None:
    """Or somebody would be logged in as whoever sent him the link (login CSRF)."""
    back = await browser.visit_provider()
    victim = open_browser(api)
    assert (await victim.get(back, is_sent=True)).code == "sign_on_expired"
    await victim.begin()
    assert (await victim.get(back, is_sent=True)).code == "sign_on_expired"
    assert not victim.has_session
    assert (await browser.get(back, is_sent=True)).status == 303, "nobody else has used it up"


async def test_a_code_of_one_browser_is_worth_nothing_in_another(
    api: Served, browser: Browser, open_browser: Open
) -> None:
    """Code injection: the state is the thief's own, the code is stolen."""
    stolen = (await browser.visit_provider()).partition("code=")[2].partition("&")[0]
    thief = open_browser(api)
    own = await thief.visit_provider()
    before, _, rest = own.partition("code=")
    seen = await thief.get(f"{before}code={stolen}&{rest.partition('&')[2]}", is_sent=True)
    assert (seen.status, seen.code) == (401, "sign_on_failed")
    assert "invalid_grant" in seen.body["detail"], "the provider compares the code verifier (PKCE)"
    await nobody_came_in(api, thief)


@pytest.mark.parametrize("state", ["", "x", "A" * 43, "A" * 100, "../../x", "%00", "é"])
async def test_a_state_that_nobody_made_is_refused(
    api: Served, browser: Browser, state: str
) -> None:
    await browser.begin()
    seen = await browser.get(f"/v1/session/oidc/callback?code=x&state={state}", is_sent=True)
    assert (seen.status, seen.code) in ((401, "sign_on_expired"), (422, "invalid_input"))
    await nobody_came_in(api, browser)


@pytest.mark.parametrize("cookie", ["", "x", "A" * 43, "ü" * 43, "A" * 9_000])
async def test_a_cookie_that_nobody_made_is_refused(
    api: Served, browser: Browser, cookie: str
) -> None:
    back = await browser.visit_provider()
    browser.cookies[LOGIN].set(LOGIN, cookie, cookie)
    seen = await browser.get(back, is_sent=True)
    assert (seen.status, seen.code) in ((401, "sign_on_expired"), (431, "cookies_too_large"))
    await nobody_came_in(api, browser)


async def test_a_cookie_that_somebody_planted_is_replaced(browser: Browser) -> None:
    await browser.begin()
    browser.cookies[LOGIN].set(LOGIN, "planted", "planted")
    await browser.log_in()
    assert browser.cookies[LOGIN].value != "planted"
    assert browser.has_session


async def test_a_login_that_takes_too_long_begins_anew(api: Served, browser: Browser) -> None:
    back = await browser.visit_provider()
    async with api.database.side() as connection:
        await connection.execute(
            "UPDATE windlass.login_under_way SET expires_at = clock_timestamp()"
        )
    assert (await browser.get(back, is_sent=True)).code == "sign_on_expired"
    await nobody_came_in(api, browser)


async def test_of_a_login_under_way_the_database_has_hashes_only(
    api: Served, browser: Browser
) -> None:
    asked = await browser.begin("/somewhere")
    connection = await asyncpg.connect(api.database.url)
    try:
        [row] = await connection.fetch("SELECT * FROM windlass.login_under_way")
    finally:
        await connection.close()
    assert row["return_to"] == "/somewhere"
    values = [value.hex() if isinstance(value, bytes) else str(value) for value in row.values()]
    for text in (browser.cookies[LOGIN].value, *asked.replace("=", "&").split("&")[1:]):
        assert all(text not in value and text.encode().hex() not in value for value in values)


async def test_who_says_no_at_the_provider_is_told_so(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    hostile = "<script>alert(1)</script>"
    await provider.order(
        way_back={"code": None, "error": "access_denied", "error_description": hostile}
    )
    seen = await browser.log_in()
    assert (seen.status, seen.code, seen.body["reason"]) == (403, "sign_on_denied", "provider")
    assert hostile not in json.dumps(seen.body)
    await nobody_came_in(api, browser)


async def test_a_provider_that_names_itself_with_every_code_must_do_so(
    api: Served, provider: ProviderProcess, browser: Browser
) -> None:
    """RFC 9207: or one provider's code would be brought to another."""
    names = {"authorization_response_iss_parameter_supported": True}
    await provider.order(description=names)
    seen = await browser.log_in()
    assert (seen.status, seen.code) == (401, "sign_on_failed")
    await nobody_came_in(api, browser)
    await provider.order(description=names, way_back={"iss": provider.issuer})
    await browser.log_in()
    assert browser.has_session


# -- where one is sent -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "return_to",
    [
        "https://evil.example/",
        "//evil.example/",
        "/%5Cevil.example/",
        "/%2Fevil.example/",
        "%5C%5Cevil.example",
        "javascript:alert(1)",
        "evil.example",
        "@evil.example",
        "",
        "/%0d%0aSet-Cookie:%20a=b",
        "/%09/evil.example",
        "%20/evil.example",
        "/a%5Cb",
        "/%C3%A9",
        "/" + "x" * 1_000,
        "/a&return_to=/b",
    ],
)
async def test_nobody_is_sent_elsewhere_after_login(
    api: Served, browser: Browser, return_to: str
) -> None:
    seen = await browser.get(f"/v1/session/oidc?return_to={return_to}")
    assert (seen.status, seen.code) == (422, "invalid_input")
    assert not browser.cookies


@pytest.mark.parametrize("return_to", ["/.//evil.example", "/..//evil.example", "/@evil.example"])
async def test_wherever_a_path_leads_it_stays_here(browser: Browser, return_to: str) -> None:
    seen = await browser.log_in(return_to)
    assert seen.location == f"{PUBLIC_URL}{return_to}", "of one origin, however it is read"


async def test_a_page_of_somebody_else_begins_no_login_behind_ones_back(
    api: Served, browser: Browser
) -> None:
    for dest in ("image", "iframe", "empty"):
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": dest}
        seen = await browser.get("/v1/session/oidc", headers)
        assert (seen.status, seen.code) == (403, "cross_site")
    for headers in (
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"},
        {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"},
    ):
        assert (await browser.get("/v1/session/oidc", headers)).status == 303


# -- too many --------------------------------------------------------------------------------------


async def test_an_address_begins_so_many_logins_and_then_waits(
    api: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "SIGN_ON_ADDRESS_BURST", 3)
    monkeypatch.setattr(login, "SIGN_ON_ADDRESS_SECONDS", 600.0)
    for _ in range(3):
        await browser.begin()
    seen = await browser.get("/v1/session/oidc")
    assert (seen.status, seen.code) == (429, "too_many_tries")
    assert 590 <= int(seen.headers["Retry-After"]) <= 600


async def test_so_many_logins_are_under_way_in_all_and_no_more(
    api: Served, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_on, "SIGN_ON_UNDER_WAY_MAX", 2)
    back = await browser.visit_provider()
    await browser.begin()
    seen = await browser.get("/v1/session/oidc")
    assert (seen.status, seen.code) == (503, "sign_on_busy")
    assert (await browser.get(back, is_sent=True)).status == 303
    await browser.begin()


async def test_so_many_come_back_at_once_and_the_others_may_try_again(
    api: Served, browser: Browser, open_browser: Open, provider: ProviderProcess
) -> None:
    backs = [await browser.visit_provider() for _ in range(3)]
    full = sign_on._Room(1)
    assert api.parts.sign_on is not None
    api.parts.sign_on._ending = full
    with full.place():
        for back in backs:
            seen = await browser.get(back, is_sent=True)
            assert (seen.status, seen.code) == (503, "sign_on_busy")
    for back in backs:
        assert (await browser.get(back, is_sent=True)).status == 303, "nothing was used up"
