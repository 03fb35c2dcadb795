"""An identity provider that is away, slow, or says what is not to be used: 503, in clear words."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.identity.sign_on.browser import Browser
from tests.api.identity.sign_on.provider import ProviderProcess, provider_process
from tests.api.served import Served
from tests.ports import free_port
from tests.strategies.http.certificate import self_signed
from windlass.engine.doctor.doctor import doctor
from windlass.engine.identity import provider as provider_module
from windlass.engine.identity.sign_on import provider_of

Open = Callable[[Served], Browser]
TROUBLES = {
    "500": "answered 500",
    "html": "no JSON object",
    "huge": "answered more than 65536 bytes",
    "twins": "no JSON object",
    "list": "no JSON object",
    "redirect": "answered 307",
    "silence": "did not answer within",
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_module, "PROVIDER_FAILURE_SECONDS", 0.0)


async def nobody_came_in(api: Served, browser: Browser) -> None:
    assert not browser.has_session
    assert (await api.get("/v1/sessions?user=all"))["data"] == []


@pytest.mark.parametrize("what", ["description", "keys", "token"])
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_an_answer_that_cannot_be_used_is_the_providers_fault_and_passes(
    api: Served,
    provider: ProviderProcess,
    browser: Browser,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    trouble: str,
) -> None:
    if trouble == "silence":
        monkeypatch.setattr(provider_module, "PROVIDER_SECONDS_MAX", 0.5)
    await provider.order(trouble={what: trouble})
    if what == "description":
        seen = await browser.get("/v1/session/oidc")
    else:
        seen = await browser.log_in()
    assert (seen.status, seen.code) == (503, "provider_away"), seen.body
    assert "Retry-After" in seen.headers
    assert TROUBLES[trouble] in seen.body["detail"]
    assert "at-secret" not in str(seen.body)
    await nobody_came_in(api, browser)

    await provider.order()
    monkeypatch.setattr(provider_module, "PROVIDER_SECONDS_MAX", 10.0)
    await browser.log_in()
    assert browser.has_session, "nothing of it stays"


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"issuer": "http://127.0.0.1:1"}, "another issuer"),
        ({"issuer": None}, "another issuer"),
        ({"token_endpoint": None}, "no usable token_endpoint"),
        ({"token_endpoint": 7}, "no usable token_endpoint"),
        ({"token_endpoint": "http://login.example.com/token"}, "no usable token_endpoint"),
        ({"token_endpoint": "ftp://127.0.0.1/token"}, "no usable token_endpoint"),
        ({"token_endpoint": "https://user:password@127.0.0.1/token"}, "no usable token_endpoint"),
        ({"token_endpoint": "https://127.0.0.1/" + "x" * 3_000}, "no usable token_endpoint"),
        ({"token_endpoint": "/token"}, "no usable token_endpoint"),
        ({"token_endpoint": ""}, "no usable token_endpoint"),
        ({"jwks_uri": "file:///etc/passwd"}, "no usable jwks_uri"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no usable authorization_endpoint"),
        ({"authorization_endpoint": 'https://x/"\r\nSet-Cookie: a=b'}, "authorization_endpoint"),
        ({"authorization_endpoint": "https://x/#fragment"}, "authorization_endpoint"),
    ],
)
async def test_a_description_that_leads_astray_is_not_followed(
    api: Served,
    provider: ProviderProcess,
    browser: Browser,
    description: dict[str, Any],
    words: str,
) -> None:
    await provider.order(description=description)
    seen = await browser.get("/v1/session/oidc")
    assert (seen.status, seen.code) == (503, "provider_away")
    assert words in seen.body["detail"]


@pytest.mark.parametrize(
    "inside", ["https://10.1.2.3/", "https://169.254.169.254/latest/", "https://[::1]:5432/"]
)
@pytest.mark.parametrize("name", ["token_endpoint", "jwks_uri"])
async def test_a_description_leads_nobody_into_the_network_behind(
    api: Served, provider: ProviderProcess, browser: Browser, name: str, inside: str
) -> None:
    """The owner named the issuer, and not what its description names."""
    await provider.order(description={name: inside})
    seen = await browser.log_in()
    assert (seen.status, seen.code) == (503, "provider_away")
    assert "WINDLASS_EGRESS_ALLOW" in seen.body["detail"]
    await nobody_came_in(api, browser)


async def test_a_provider_without_a_certificate_that_the_system_trusts_is_not_spoken_to(
    serve_with: Serve,
    provider: ProviderProcess,
    open_browser: Open,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_server, _ = self_signed(tmp_path, "localhost")
    spoken_to = []

    async def describe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken_to.append(await reader.readuntil(b"\r\n\r\n"))
        ends = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        said = json.dumps({"issuer": issuer, **dict.fromkeys(ends, f"{issuer}/x")}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(said), said))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(describe, "127.0.0.1", 0, ssl=at_server)
    async with server:
        issuer = f"https://localhost:{server.sockets[0].getsockname()[1]}"
        settings = provider.settings(oidc_issuer=issuer)
        seen = await open_browser(await serve_with(settings)).get("/v1/session/oidc")
        assert (seen.status, seen.code) == (503, "provider_away")
        assert "certificate verify failed" in seen.body["detail"]
        assert spoken_to == []

        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "receiver.pem"))
        seen = await open_browser(await serve_with(settings)).get("/v1/session/oidc")
        assert seen.location.startswith(f"{issuer}/x?response_type=code&")
        assert spoken_to[0].startswith(b"GET /.well-known/openid-configuration HTTP/1.1")


async def test_no_proxy_of_the_environment_is_asked(
    serve_with: Serve,
    provider: ProviderProcess,
    open_browser: Open,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    browser = open_browser(await serve_with(provider.settings()))
    await browser.log_in()
    assert browser.has_session


async def test_while_the_provider_is_away_a_password_is_as_good_as_before(
    serve_with: Serve, provider: ProviderProcess, open_browser: Open
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    api = await serve_with(provider.settings(oidc_issuer=nowhere))
    given = {"name": "root", "role": "admin", "password": "a few words in a row"}
    await api.post("/v1/users", given, 201)
    browser = open_browser(api)
    seen = await browser.get("/v1/session/oidc")
    assert (seen.status, seen.code) == (503, "provider_away")
    assert "cannot be reached" in seen.body["detail"]
    login = {"user": "root", "password": given["password"]}
    await api.post("/v1/session", login, 201, headers={"Authorization": ""})
    assert (await browser.get("/v1/session/methods")).body["password"] is True
    assert (await api.get("/health"))["status"] == "ok"


async def test_a_provider_that_goes_away_within_a_login_ends_that_login_and_no_other(
    serve_with: Serve, open_browser: Open
) -> None:
    async with provider_process() as provider:
        api = await serve_with(provider.settings())
        browser = open_browser(api)
        await browser.log_in()
        back = await browser.visit_provider()
        provider.process.kill()
        await provider.process.wait()
        seen = await browser.get(back, is_sent=True)
        assert (seen.status, seen.code) == (503, "provider_away")
        assert (await browser.get(back, is_sent=True)).code == "sign_on_expired"
        assert (await browser.caller())["name"] == "ann"


async def test_however_many_begin_the_provider_is_asked_for_its_description_once(
    api: Served, provider: ProviderProcess, open_browser: Open
) -> None:
    browser = open_browser(api)
    answers = await asyncio.gather(*(browser.get("/v1/session/oidc") for _ in range(20)))
    assert {seen.status for seen in answers} == {303}
    assert len(await provider.seen("/.well-known/openid-configuration")) == 1


async def test_a_provider_that_hangs_keeps_nobody_waiting_for_long_and_frees_its_places(
    api: Served, provider: ProviderProcess, open_browser: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "PROVIDER_SECONDS_MAX", 1.0)
    browser = open_browser(api)
    await provider.order(trouble={"token": "silence"})
    backs = [await browser.visit_provider() for _ in range(40)]
    began_at = time.monotonic()
    answers = await asyncio.gather(*(browser.get(back, is_sent=True) for back in backs))
    assert time.monotonic() - began_at < 20
    assert {seen.code for seen in answers} <= {"provider_away", "sign_on_busy"}
    await provider.order()
    await browser.log_in()
    assert browser.has_session


async def test_the_doctor_says_whether_the_provider_answers(
    api: Served, provider: ProviderProcess
) -> None:
    async def findings(**settings: Any) -> list[str]:
        asked = provider_of(provider.settings(**settings))
        assert asked is not None
        try:
            report = await doctor(api.database, provider=asked)
        finally:
            await asked.close()
        return [f"{one.check} {one.subject}: {one.detail}" for one in report.findings]

    assert await findings() == []
    nowhere = f"http://127.0.0.1:{free_port()}"
    [finding] = await findings(oidc_issuer=nowhere)
    assert finding.startswith(f"sign_on {nowhere}: the identity provider at")
    [finding] = await findings(oidc_issuer=f"{provider.issuer}/")
    assert "describes another issuer" in finding
