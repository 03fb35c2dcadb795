"""Asking for a token by client credentials: the request, and what the endpoint may answer."""

from __future__ import annotations

import asyncio
import base64
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.strategies.drawer import Drawer
from tests.strategies.http.auth.token_endpoint import SECRET, Endpoint, prepare
from tests.strategies.receiver import Receiver
from windlass.limits import TOKEN_ANSWER_BYTES_MAX
from windlass.strategies.http.auth import oauth
from windlass.strategies.http.auth.auth import AuthFailed, Credentials


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
