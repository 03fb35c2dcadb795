"""Tokens by client credentials, from a real endpoint that answers as it is told."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.strategies.drawer import Drawer
from tests.strategies.receiver import Receiver, listening
from windlass.limits import (
    TOKEN_ANSWER_BYTES_MAX,
    TOKEN_FAILURE_SECONDS,
    TOKEN_KEPT_SECONDS,
    TOKEN_KEPT_SECONDS_MAX,
    TOKEN_LEEWAY_SECONDS,
)
from windlass.strategies import oauth
from windlass.strategies.auth import AuthFailed, Credentials, Prepared
from windlass.strategies.oauth import Grant, Tokens

SECRET = "hush:ø +/"


class Endpoint:
    """Gives `t1`, `t2`, …; `extra` replaces fields of the answer, a closed `gate` delays it."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.url = receiver.url + "/token"
        self.status = 200
        self.extra: dict[str, Any] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self.asked = asyncio.Event()
        receiver.answer = self.answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        number = len(self.receiver.seen)
        self.asked.set()
        await self.gate.wait()
        given = {"access_token": f"t{number}", "token_type": "Bearer", "expires_in": 3600}
        return web.json_response(given | self.extra, status=self.status)

    @property
    def requests(self) -> int:
        return len(self.receiver.seen)

    def auth(self, **fields: str) -> dict[str, str]:
        return {
            "type": "oauth2", "token_url": self.url, "client_id": "shop", "secret": "s",
        } | fields  # fmt: skip

    def grant(self) -> Grant:
        return Grant(token_url=self.url, client_id="shop", secret="s", scope=None)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with listening() as receiver:
        made = Endpoint(receiver)
        yield made
        made.gate.set()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture
def drawer() -> Drawer:
    return Drawer(s=SECRET)


@pytest.fixture
async def credentials(session: aiohttp.ClientSession, drawer: Drawer) -> AsyncIterator[Credentials]:
    made = Credentials(drawer, lambda: session)
    yield made
    await made.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def tokens(session: aiohttp.ClientSession, clock: Clock) -> AsyncIterator[Tokens]:
    made = Tokens(lambda: session, clock)
    yield made
    await made.close()


async def prepare(credentials: Credentials, auth: object) -> Prepared:
    return await credentials.prepare(
        auth, target="shop.example", webhook_id="job_1", timestamp=1, body=b""
    )


async def shown(credentials: Credentials, auth: object) -> str:
    return (await prepare(credentials, auth)).headers["authorization"]


async def test_a_token_is_asked_for_as_the_standard_says_and_shown_to_the_receiver(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    prepared = await prepare(credentials, endpoint.auth(client_id="a:b", scope="read write"))
    assert prepared.headers["authorization"] == "Bearer t1"
    assert prepared.secret_headers == {"authorization"}
    [(request, body)] = endpoint.receiver.seen
    pair = base64.b64decode(request.headers["authorization"].removeprefix("Basic "))
    assert (request.method, pair) == ("POST", b"a%3Ab:hush%3A%C3%B8+%2B%2F")
    asked = {"grant_type": ["client_credentials"], "scope": ["read write"]}
    assert parse_qs(body.decode()) == asked


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


@pytest.mark.parametrize(
    ("status", "extra", "said"),
    [
        (401, {"error": "invalid_client"}, r"answered 401 \(invalid_client\)$"),
        (400, {"error": SECRET, "error_description": SECRET}, "answered 400$"),
        (400, {"error": ["invalid_client"]}, "answered 400$"),
        (201, {}, "answered 201$"),
        (200, {"access_token": None}, "without a usable access_token"),
        (200, {"access_token": ""}, "without a usable access_token"),
        (200, {"access_token": "a\r\nx: y"}, "without a usable access_token"),
        (200, {"access_token": "a b"}, "without a usable access_token"),
        (200, {"access_token": "жетон"}, "without a usable access_token"),
        (200, {"token_type": "DPoP"}, "of a type other than bearer"),
        (200, {"x": "x" * TOKEN_ANSWER_BYTES_MAX}, f"more than {TOKEN_ANSWER_BYTES_MAX} bytes"),
    ],
)
async def test_an_answer_that_is_no_token_is_a_failure_that_says_why(
    credentials: Credentials, endpoint: Endpoint, status: int, extra: dict[str, Any], said: str
) -> None:
    endpoint.status, endpoint.extra = status, extra
    with pytest.raises(AuthFailed, match=said) as failed:
        await prepare(credentials, endpoint.auth())
    assert "hush" not in str(failed.value)


@pytest.mark.parametrize("text", ["", "token=t1", "[1]", '"t1"', "[" * 50_000, "\ufeff{}"])
async def test_an_answer_that_is_no_object_is_a_failure(
    credentials: Credentials, endpoint: Endpoint, text: str
) -> None:
    endpoint.receiver.will(200, text)
    with pytest.raises(AuthFailed, match="without a usable access_token"):
        await prepare(credentials, endpoint.auth())


async def test_a_redirect_of_the_endpoint_is_not_followed(
    credentials: Credentials, endpoint: Endpoint, receiver: Receiver
) -> None:
    endpoint.receiver.will(307, location=receiver.url)
    with pytest.raises(AuthFailed, match="answered 307"):
        await prepare(credentials, endpoint.auth())
    assert receiver.seen == []


async def test_an_endless_answer_is_left_at_the_cap(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    hung_up = asyncio.Event()

    async def pour(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b" " * 8_192)
        except (ConnectionError, asyncio.CancelledError):
            hung_up.set()
            raise

    endpoint.receiver.answer = pour
    with pytest.raises(AuthFailed, match="answered more than"):
        await prepare(credentials, endpoint.auth())
    async with asyncio.timeout(10):
        await hung_up.wait()


async def test_an_endpoint_that_does_not_answer_is_given_up(
    credentials: Credentials, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "TOKEN_SECONDS_MAX", 0.1)
    endpoint.gate.clear()
    with pytest.raises(AuthFailed, match=r"did not answer within 0.1 s"):
        await prepare(credentials, endpoint.auth())


async def test_an_endpoint_that_is_not_there_is_named(
    credentials: Credentials, unused_tcp_port: int
) -> None:
    auth = {
        "type": "oauth2", "client_id": "shop", "secret": "s",
        "token_url": f"http://127.0.0.1:{unused_tcp_port}/token?hush",
    }  # fmt: skip
    with pytest.raises(AuthFailed, match=f"127.0.0.1:{unused_tcp_port} .* reached") as failed:
        await prepare(credentials, auth)
    assert "hush" not in str(failed.value)


async def test_a_session_that_is_closed_is_a_failure_too(drawer: Drawer) -> None:
    closed = aiohttp.ClientSession()
    await closed.close()
    credentials = Credentials(drawer, lambda: closed)
    auth = {"type": "oauth2", "client_id": "c", "secret": "s", "token_url": "http://127.0.0.1:1/"}
    with pytest.raises(AuthFailed, match="cannot be asked: RuntimeError"):
        await prepare(credentials, auth)


async def test_the_endpoint_is_reached_as_guarded_as_any_receiver_and_as_nobodys_delivery(
    drawer: Drawer,
) -> None:
    delivery: ContextVar[str] = ContextVar("delivery")
    seen = []

    class Guard(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            seen.append((host, delivery.get("nobody's")))
            raise OSError("10.0.0.1 is private")

        async def close(self) -> None:
            pass

    connector = aiohttp.TCPConnector(resolver=Guard())
    async with aiohttp.ClientSession(connector=connector) as session:
        delivery.set("the first one's")
        auth = {
            "type": "oauth2", "client_id": "c", "secret": "s", "token_url": "https://id.example/t",
        }  # fmt: skip
        with pytest.raises(AuthFailed, match=r"id\.example .*10\.0\.0\.1 is private"):
            await prepare(Credentials(drawer, lambda: session), auth)
    assert seen == [("id.example", "nobody's")]


async def test_the_oldest_unused_token_gives_way(
    tokens: Tokens, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "TOKENS_MAX", 2)
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


async def test_closing_ends_requests_and_tells_those_who_wait(
    credentials: Credentials, endpoint: Endpoint
) -> None:
    endpoint.gate.clear()
    waiting = asyncio.create_task(shown(credentials, endpoint.auth()))
    await endpoint.asked.wait()
    await credentials.close()
    with pytest.raises(AuthFailed, match="the node stopped"):
        await waiting
