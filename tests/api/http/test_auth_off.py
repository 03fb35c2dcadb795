"""Without authentication: programs of this machine, pages of ours, and nobody else (DNS rebinding,
forged requests).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.api.conftest import Serve
from tests.api.http.raw import exchange, statuses
from tests.api.served import Served, serve
from tests.until import until
from windlass.api.http import serve as serving
from windlass.compose import foreground
from windlass.compose.foreground import OpenToOthers
from windlass.config import Settings, SettingsProblems, load_settings
from windlass.config.load import DEFAULTS
from windlass.testing.servers import PrivateServers


@pytest.fixture(scope="module")
async def unlocked(servers: PrivateServers, template_url: str) -> AsyncIterator[Served]:
    url = await servers.create_database(template_url)
    settings = Settings(auth="off", public_url="https://windlass.example")
    async with serve(url, servers.redis_of(url), settings) as served:
        yield served


async def code(api: Served, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    async with api.client.request(method, api.url + path, headers=headers) as answer:
        found = await answer.json(content_type=None) if answer.status >= 400 else {}
        return answer.status, found.get("code", "")


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.0.0.1:5777", "127.9.9.9", "localhost", "LOCALHOST:80", "[::1]:5777"),
        *("windlass.localhost", "localhost.", "windlass.example", "Windlass.Example"),
    ],
)
async def test_a_name_of_this_machine_is_heard(unlocked: Served, host: str) -> None:
    assert await code(unlocked, "GET", "/v1/jobs", {"Host": host}) == (200, "")


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:5777", "127.0.0.1.evil.example", "localhost.evil.example"),
        *("10.0.0.7:5777", "0.0.0.0", "[::]", "169.254.169.254", "windlass.example:81", "127.1"),
        *("2130706433", "[::ffff:10.0.0.7]", "evil.example@localhost.", "x@evil.example", ""),
    ],
)
async def test_no_other_name_is_heard_on_any_route(unlocked: Served, host: str) -> None:
    for path in ("/v1/jobs", "/health", "/docs", "/openapi.json", "/metrics"):
        head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        said = await exchange(unlocked.url, head)
        assert statuses(said)[0] in (400, 403), said[:200]
        assert b"jobs" not in said.partition(b"\r\n\r\n")[2] or b"foreign_host" in said


async def test_who_names_no_host_is_no_browser(unlocked: Served) -> None:
    assert statuses(await exchange(unlocked.url, b"GET /health/ready HTTP/1.0\r\n\r\n")) == [200]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
        {
            "Sec-Fetch-Site": "cross-site",
            "Sec-Fetch-Mode": "cors",
            "Origin": "https://evil.example",
        },
        {"Sec-Fetch-Site": "nonsense"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
        {"Origin": "é"},
    ],
)
async def test_a_page_of_a_stranger_neither_changes_nor_reads(
    unlocked: Served, headers: dict[str, str]
) -> None:
    for method, path in (
        ("GET", "/v1/jobs"),
        ("GET", "/health"),
        ("POST", "/v1/jobs"),
        ("POST", "/v1/queues/default/pause"),
        ("DELETE", "/v1/queues/default"),
    ):
        assert await code(unlocked, method, path, headers) == (403, "cross_site"), (method, path)


async def test_a_stranger_may_link_here_and_not_post_a_form(unlocked: Served) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert await code(unlocked, "GET", "/docs", link) == (200, "")
    assert await code(unlocked, "POST", "/v1/queues/x/pause", link) == (403, "cross_site")


async def test_a_page_of_ours_and_a_program_may_do_everything(unlocked: Served) -> None:
    for headers in (
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": unlocked.url},
        {"Origin": "https://windlass.example", "Host": "windlass.example"},
        # A proxy has changed the Host on the way.
        {"Origin": "https://windlass.example"},
    ):
        async with unlocked.client.post(
            f"{unlocked.url}/v1/jobs", json={"kind": "noop"}, headers=headers
        ) as answer:
            assert answer.status == 201, headers


async def test_with_authentication_any_host_may_be_named(door: Served) -> None:
    await door.get("/v1/jobs", headers={"Host": "windlass.internal"})


async def test_behind_a_proxy_that_changes_the_host_a_page_of_public_url_may_log_in(
    serve_with: Serve,
) -> None:
    there = await serve_with(Settings(public_url="https://windlass.example"))
    elsewhere = await serve_with(Settings())
    body = {"user": "admin", "password": "wrong wrong wrong"}
    ours = {"Origin": "https://windlass.example"}
    await there.post("/v1/session", body, 401, headers=ours)
    await elsewhere.post("/v1/session", body, 403, headers=ours)
    await there.post("/v1/session", body, 403, headers={"Origin": "http://windlass.example"})


async def test_a_page_that_came_without_tls_is_none_of_a_server_with_tls(serve_with: Serve) -> None:
    api = await serve_with(Settings(trusted_proxies=("127.0.0.0/8",)))
    body = {"user": "admin", "password": "wrong wrong wrong"}
    by_tls = {"X-Forwarded-Proto": "https", "Host": "windlass.example"}
    await api.post(
        "/v1/session", body, 403, headers={**by_tls, "Origin": "http://windlass.example"}
    )
    await api.post(
        "/v1/session", body, 401, headers={**by_tls, "Origin": "https://windlass.example"}
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "windlass.example"])
def test_it_is_refused_for_an_address_that_others_reach(host: str) -> None:
    with pytest.raises(SettingsProblems, match="loopback"):
        load_settings({"auth": "off", "host": host}, {}, foreground.DATA)
    assert DEFAULTS["auth"] == "on"


async def test_a_name_that_leads_to_an_address_that_others_reach_is_refused() -> None:
    # What /etc/hosts may make of localhost.
    with foreground.listen("0.0.0.0", 0) as taken:  # noqa: SIM117
        with pytest.raises(OpenToOthers, match=r"localhost is 0\.0\.0\.0 here"):
            foreground.open_door(taken, Settings(auth="off", host="localhost"))


async def test_the_log_says_so_at_the_start_and_each_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "REMIND_SECONDS", 0.5)

    with capture_logs() as lines:
        server = foreground.open_door(foreground.listen("127.0.0.1", 0), Settings(auth="off"))
        try:
            await until(
                lambda: len([each for each in lines if each["event"] == "auth_off"]) > 1,
                what="it is said twice",
            )
        finally:
            await server.stop()
    assert {each["log_level"] for each in lines if each["event"] == "auth_off"} == {"warning"}
    monkeypatch.undo()
    with capture_logs() as lines:
        server = foreground.open_door(foreground.listen("127.0.0.1", 0), Settings())
        await until(lambda: server.server.started)
        await asyncio.sleep(0)
        await server.stop()
    assert not [each for each in lines if each["event"] == "auth_off"]
