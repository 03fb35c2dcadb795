"""Tokens by client credentials are kept, shared by whoever waits, and renewed in time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.strategies.drawer import Drawer
from tests.strategies.http.auth.token_endpoint import SECRET, Endpoint, prepare, shown
from windlass.limits import (
    TOKEN_FAILURE_SECONDS,
    TOKEN_KEPT_SECONDS,
    TOKEN_KEPT_SECONDS_MAX,
    TOKEN_LEEWAY_SECONDS,
)
from windlass.strategies.http.auth import oauth
from windlass.strategies.http.auth.auth import AuthFailed, Credentials
from windlass.strategies.http.auth.oauth import Tokens
from windlass.strategies.http.net.pool import Pool


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def tokens(pool: Pool, clock: Clock) -> AsyncIterator[Tokens]:
    made = Tokens(lambda: pool, clock)
    yield made
    await made.close()


async def test_a_token_is_kept(credentials: Credentials, endpoint: Endpoint) -> None:
    said = [await shown(credentials, endpoint.auth()) for _ in range(3)]
    assert said == ["Bearer t1"] * 3
    assert endpoint.requests == 1


async def test_each_url_client_scope_secret_and_value_has_its_own_token(
    credentials: Credentials, endpoint: Endpoint, drawer: Drawer
) -> None:
    drawer.values["other"] = [SECRET]
    different = [
        endpoint.auth(),
        endpoint.auth(token_url=endpoint.url + "/b"),
        endpoint.auth(client_id="bank"),
        endpoint.auth(scope="read"),
        endpoint.auth(secret="other"),
    ]
    for _ in range(2):
        said = [await shown(credentials, auth) for auth in different]
        assert said == [f"Bearer t{number}" for number in range(1, 6)]
    drawer.values["s"] = ["rotated", SECRET]
    assert await shown(credentials, endpoint.auth()) == "Bearer t6"


async def test_a_hundred_deliveries_at_once_ask_once(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    waiting = [asyncio.create_task(shown(credentials, endpoint.auth())) for _ in range(100)]
    await endpoint.asked.wait()
    endpoint.gate.set()
    assert await asyncio.gather(*waiting) == ["Bearer t1"] * 100
    assert endpoint.requests == 1


async def test_a_failed_request_fails_all_who_wait_with_the_same_words(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    endpoint.status = 503
    waiting = [asyncio.create_task(shown(credentials, endpoint.auth())) for _ in range(100)]
    await endpoint.asked.wait()
    endpoint.gate.set()
    said = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(one) for one in said} == {AuthFailed}
    [words] = {str(one) for one in said}
    assert words.endswith("for client 'shop' answered 503")
    assert endpoint.requests == 1


async def test_a_failure_is_remembered_for_a_moment_only(
    tokens: Tokens, endpoint: Endpoint, clock: Clock
) -> None:
    endpoint.status = 500
    for _ in range(3):
        with pytest.raises(AuthFailed, match="answered 500"):
            await tokens.get(endpoint.grant(), SECRET)
    assert endpoint.requests == 1
    endpoint.status = 200
    clock.now += TOKEN_FAILURE_SECONDS
    assert await tokens.get(endpoint.grant(), SECRET) == "t2"


async def test_whoever_asked_first_may_be_cancelled_without_harm_to_the_others(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    first = asyncio.create_task(shown(credentials, endpoint.auth()))
    others = [asyncio.create_task(shown(credentials, endpoint.auth())) for _ in range(3)]
    await endpoint.asked.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    endpoint.gate.set()
    assert await asyncio.gather(*others) == ["Bearer t1"] * 3
    assert endpoint.requests == 1


async def test_what_nobody_waits_for_any_more_is_kept_for_the_next(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    only = asyncio.create_task(shown(credentials, endpoint.auth()))
    await endpoint.asked.wait()
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    endpoint.gate.set()
    assert await shown(credentials, endpoint.auth()) == "Bearer t1"
    assert endpoint.requests == 1


async def test_a_refused_token_is_not_used_again(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    first = await prepare(credentials, endpoint.auth())
    await credentials.refused(endpoint.auth())
    assert await shown(credentials, endpoint.auth()) == "Bearer t2"
    # The 401 of a delivery that was sent with the first one comes late.
    await credentials.refused(endpoint.auth(), first)
    assert await shown(credentials, endpoint.auth()) == "Bearer t2"
    second = await prepare(credentials, endpoint.auth())
    await credentials.refused([endpoint.auth()], second)
    assert await shown(credentials, endpoint.auth()) == "Bearer t3"


async def test_a_token_is_renewed_before_its_end(
    tokens: Tokens, endpoint: Endpoint, clock: Clock
) -> None:
    assert await tokens.get(endpoint.grant(), SECRET) == "t1"
    clock.now += 3600 - TOKEN_LEEWAY_SECONDS - 1
    assert await tokens.get(endpoint.grant(), SECRET) == "t1"
    clock.now += 1
    assert await tokens.get(endpoint.grant(), SECRET) == "t2"


async def test_a_token_that_still_lives_is_used_while_the_endpoint_is_down(
    tokens: Tokens, endpoint: Endpoint, clock: Clock
) -> None:
    await tokens.get(endpoint.grant(), SECRET)
    endpoint.status = 500
    clock.now += 3600 - TOKEN_LEEWAY_SECONDS
    for _ in range(3):
        assert await tokens.get(endpoint.grant(), SECRET) == "t1"
    assert endpoint.requests == 2, "the endpoint is asked again, but not for each delivery"
    clock.now += TOKEN_LEEWAY_SECONDS
    with pytest.raises(AuthFailed, match="answered 500"):
        await tokens.get(endpoint.grant(), SECRET)


@pytest.mark.parametrize(
    ("expires_in", "kept_seconds"),
    [
        ("120", 90.0),
        (40, 30.0),
        (8.0, 6.0),
        (None, TOKEN_KEPT_SECONDS - TOKEN_LEEWAY_SECONDS),
        ("soon", TOKEN_KEPT_SECONDS - TOKEN_LEEWAY_SECONDS),
        ([], TOKEN_KEPT_SECONDS - TOKEN_LEEWAY_SECONDS),
        (10**400, TOKEN_KEPT_SECONDS - TOKEN_LEEWAY_SECONDS),
        (10**20, TOKEN_KEPT_SECONDS_MAX - TOKEN_LEEWAY_SECONDS),
    ],
)
async def test_a_token_is_kept_as_long_as_the_endpoint_lets_it_and_we_do(
    tokens: Tokens, endpoint: Endpoint, clock: Clock, expires_in: object, kept_seconds: float
) -> None:
    endpoint.extra = {"expires_in": expires_in}
    assert await tokens.get(endpoint.grant(), SECRET) == "t1"
    clock.now += kept_seconds - 0.5
    assert await tokens.get(endpoint.grant(), SECRET) == "t1"
    clock.now += 0.5
    assert await tokens.get(endpoint.grant(), SECRET) == "t2"


@pytest.mark.parametrize("expires_in", [0, -5])
async def test_a_token_without_a_life_serves_those_who_wait_for_it(
    tokens: Tokens, endpoint: Endpoint, expires_in: int
) -> None:
    endpoint.extra = {"expires_in": expires_in}
    asked = [tokens.get(endpoint.grant(), SECRET) for _ in range(3)]
    assert await asyncio.gather(*asked) == ["t1"] * 3
    assert await tokens.get(endpoint.grant(), SECRET) == "t2"


async def test_the_oldest_unused_token_gives_way(
    pool: Pool, clock: Clock, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "TOKENS_MAX", 2)
    tokens = Tokens(lambda: pool, clock)
    said = [await tokens.get(endpoint.grant(), value) for value in ("a", "b", "a", "c", "a", "b")]
    assert said == ["t1", "t2", "t1", "t3", "t1", "t4"]


async def test_only_so_many_requests_are_on_their_way(
    tokens: Tokens, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "TOKEN_REQUESTS_MAX", 1)
    endpoint.gate.clear()
    first = asyncio.create_task(tokens.get(endpoint.grant(), "a"))
    await endpoint.asked.wait()
    with pytest.raises(AuthFailed, match="1 token requests are on their way"):
        await tokens.get(endpoint.grant(), "b")
    endpoint.gate.set()
    assert await first == "t1"
    assert await tokens.get(endpoint.grant(), "b") == "t2"


async def test_only_so_many_requests_are_connected_at_once_and_the_others_wait_their_turn(
    pool: Pool, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "TOKEN_CONNECTIONS_MAX", 2)
    tokens = Tokens(lambda: pool)
    endpoint.gate.clear()
    waiting = [asyncio.create_task(tokens.get(endpoint.grant(), value)) for value in "abcde"]
    await endpoint.until_asked(2)
    # Another way in is free: had a third been sent, it would have come before this one.
    other = Tokens(lambda: pool)
    last = asyncio.create_task(other.get(endpoint.grant(), "f"))
    await endpoint.until_asked(3)
    assert endpoint.requests == 3
    endpoint.gate.set()
    assert len({await token for token in (*waiting, last)}) == 6


async def test_closing_ends_requests_and_tells_those_who_wait(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    waiting = asyncio.create_task(shown(credentials, endpoint.auth()))
    await endpoint.asked.wait()
    await credentials.close()
    with pytest.raises(AuthFailed, match="the node stopped"):
        await waiting
