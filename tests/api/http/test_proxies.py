"""Who calls, when a proxy is in between: believed from trusted ones, and from nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Serve
from tests.api.served import Served
from windlass.api.http.proxies import TrustedProxies, is_https
from windlass.config import Settings
from windlass.limits import FORWARDED_HOPS_MAX

PROXY = "10.0.0.5"
TRUSTED = TrustedProxies(["10.0.0.0/24", "192.0.2.1/32", "2001:db8:1::/48"])


def forwarded(*lines: str) -> list[tuple[bytes, bytes]]:
    return [(b"x-forwarded-for", line.encode("latin-1")) for line in lines]


@pytest.mark.parametrize(
    ("lines", "caller"),
    [
        (["203.0.113.9"], "203.0.113.9"),
        (["198.51.100.7, 203.0.113.9"], "203.0.113.9"),
        (["198.51.100.7", "203.0.113.9"], "203.0.113.9"),
        (["198.51.100.7, 203.0.113.9, 10.0.0.4"], "203.0.113.9"),
        (["203.0.113.9, 192.0.2.1, 10.0.0.4,10.0.0.7"], "203.0.113.9"),
        (["203.0.113.9:4711"], "203.0.113.9"),
        (["2001:db8:9::7"], "2001:db8:9::7"),
        (["[2001:db8:9::7]"], "2001:db8:9::7"),
        (["[2001:db8:9::7]:4711"], "2001:db8:9::7"),
        (["2001:DB8:9:0:0:0:0:7"], "2001:db8:9::7"),
        (["203.0.113.9, 2001:db8:1:5::1"], "203.0.113.9"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, ::ffff:10.0.0.9"], "203.0.113.9"),
        # All of them are trusted: the one farthest away.
        (["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
        # What is no address ends the look; what a trusted one has said until then is true.
        (["203.0.113.9, unknown, 10.0.0.4"], "10.0.0.4"),
        (["203.0.113.9, _hidden"], PROXY),
        ([""], PROXY),
        ([","], PROXY),
        (["203.0.113.9,"], PROXY),
        (["localhost"], PROXY),
        (["0x7f.1"], PROXY),
        (["127.1"], PROXY),
        (["203.0.113.9:port"], PROXY),
        (["203.0.113.9:"], PROXY),
        (["203.0.113.9:123456"], PROXY),
        (["[203.0.113.9"], PROXY),
        (["[2001:db8::1]x"], PROXY),
        (["fe80::1%eth0"], PROXY),
        (["203.0.113.9 198.51.100.1"], PROXY),
        (["é"], PROXY),
        (["²03.0.113.9"], PROXY),
        (["1" * 10_000], PROXY),
        ([], PROXY),
    ],
)
def test_the_caller_is_the_first_from_the_right_that_is_not_trusted(
    lines: list[str], caller: str
) -> None:
    assert TRUSTED.caller(PROXY, forwarded(*lines)) == caller


def test_no_more_hops_are_looked_at_than_there_may_be() -> None:
    hops = ["203.0.113.9", *["10.0.0.9"] * FORWARDED_HOPS_MAX]
    assert TRUSTED.caller(PROXY, forwarded(", ".join(hops))) == "10.0.0.9"
    assert TRUSTED.caller(PROXY, forwarded(", ".join(hops[:-1]))) == "203.0.113.9"


def test_who_is_trusted_is_judged_by_address_and_not_by_how_it_is_written() -> None:
    assert "10.0.0.5" in TRUSTED
    assert "::ffff:10.0.0.5" in TRUSTED
    assert "2001:db8:1::5" in TRUSTED
    assert "10.0.1.5" not in TRUSTED
    assert "" not in TRUSTED
    assert "local" not in TRUSTED
    assert "10.0.0.5" not in TrustedProxies()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], None),
        (["https"], True),
        (["HTTPS"], True),
        (["http"], False),
        (["https, http"], False),
        (["http,https"], True),
        (["http", "https"], True),
        (["wss"], False),
        ([""], False),
    ],
)
def test_a_proxy_says_how_it_was_called(lines: list[str], said: bool | None) -> None:
    assert is_https([(b"x-forwarded-proto", line.encode()) for line in lines]) is said


async def login(api: Served, **headers: str) -> Any:
    body = {"user": "admin", "password": "wrong wrong wrong"}
    async with api.client.post(f"{api.url}/v1/session", json=body, headers=headers) as answer:
        return answer.status, dict(answer.headers)


async def tries_until_throttled(api: Served, name: str) -> int:
    for tries in range(60):
        status, _ = await login(api, **{"X-Forwarded-For": f"198.51.100.{tries}"})
        if status == 429:
            return tries
    return 60


async def test_behind_a_trusted_proxy_guesses_are_counted_for_the_address_that_it_names(
    serve_with: Serve,
) -> None:
    believing = await serve_with(Settings(trusted_proxies=("127.0.0.0/8",)))
    deaf = await serve_with(Settings())
    alone = await tries_until_throttled(deaf, "somebody")
    many = await tries_until_throttled(believing, "somebody")
    assert alone < many, (alone, many)


async def test_only_a_trusted_proxy_makes_browsers_come_by_tls(serve_with: Serve) -> None:
    believing = await serve_with(Settings(trusted_proxies=("127.0.0.0/8",)))
    deaf = await serve_with(Settings())
    said = {"X-Forwarded-Proto": "https", "Host": "windlass.example"}
    for api, path, headers, is_told in (
        (believing, "/health", said, True),
        (believing, "/nothing", said, True),
        (believing, "/health", {**said, "X-Forwarded-Proto": "http"}, False),
        (believing, "/health", {"Host": "windlass.example"}, False),
        (believing, "/health", {**said, "Host": "localhost:5777"}, False),
        (believing, "/health", {"Host": "windlass.example", "Forwarded": "proto=https"}, False),
        (deaf, "/health", said, False),
    ):
        async with api.client.get(api.url + path, headers=headers) as answer:
            found = answer.headers.get("Strict-Transport-Security")
            assert (found == "max-age=31536000") is is_told, (path, headers)


async def test_no_header_of_a_proxy_changes_which_host_is_ours(serve_with: Serve) -> None:
    api = await serve_with(Settings(trusted_proxies=("127.0.0.0/8",)))
    for name, value in (
        ("X-Forwarded-Host", "evil.example"),
        ("Forwarded", "host=evil.example"),
        ("X-Original-Host", "evil.example"),
    ):
        status, _ = await login(api, **{"Origin": "https://evil.example", name: value})
        assert status == 403
