"""Asking for a token by client credentials: the request, and what the endpoint may answer."""

from __future__ import annotations

import asyncio
import base64
from contextvars import ContextVar
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from tests.strategies.drawer import Drawer
from tests.strategies.http.auth.token_endpoint import SECRET, Endpoint, prepare
from tests.strategies.http.pooled import leading_to
from tests.strategies.receiver import Receiver, raw_receiver, read_request
from windlass.limits import TOKEN_ANSWER_BYTES_MAX
from windlass.strategies.http.auth import oauth
from windlass.strategies.http.auth.auth import AuthFailed, Credentials
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.net.pool import Pool


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
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.headers["accept"] == "application/json"


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


async def test_a_pool_that_is_closed_is_a_failure_too_and_nothing_is_asked(
    drawer: Drawer, pool: Pool, endpoint: Endpoint
) -> None:
    await pool.close()
    credentials = Credentials(drawer, lambda: pool)
    with pytest.raises(AuthFailed, match="gave no answer: the connection was closed on our side"):
        await prepare(credentials, endpoint.auth())
    assert endpoint.requests == 0


async def test_what_cannot_even_be_asked_is_a_failure_that_hides_its_words(drawer: Drawer) -> None:
    def broken() -> Pool:
        raise RuntimeError("hush")

    auth = {"type": "oauth2", "client_id": "c", "secret": "s", "token_url": "http://127.0.0.1:1/"}
    with pytest.raises(AuthFailed, match=r"cannot be asked: RuntimeError$"):
        await prepare(Credentials(drawer, broken), auth)


@pytest.mark.parametrize("is_begun", [False, True], ids=["no answer", "half an answer"])
async def test_an_endpoint_that_echoes_the_request_instead_of_an_answer_is_not_quoted(
    credentials: Credentials, is_begun: bool
) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + request if is_begun else request)
        await writer.drain()

    async with raw_receiver(echo) as url:
        auth = {"type": "oauth2", "client_id": "shop", "secret": "s", "token_url": url + "/hush"}
        with pytest.raises(AuthFailed, match=r"gave no answer: .* does not speak HTTP") as failed:
            await prepare(credentials, auth)
    told = str(failed.value).lower()
    pair = base64.b64encode(b"shop:hush%3A%C3%B8+%2B%2F").decode().lower()
    assert not any(text in told for text in ("hush", "basic", pair, "grant_type"))


async def test_the_endpoint_is_reached_as_guarded_as_any_receiver_and_as_nobodys_delivery(
    drawer: Drawer,
) -> None:
    delivery: ContextVar[str] = ContextVar("delivery")
    seen = []

    class Guard(Egress):
        def check(self, host: str, address: str) -> None:
            seen.append((host, delivery.get("nobody's")))
            super().check(host, address)

    pool = Pool(Guard(), leading_to("10.0.0.1"))
    delivery.set("the first one's")
    auth = {
        "type": "oauth2", "client_id": "c", "secret": "s", "token_url": "https://id.example/t",
    }  # fmt: skip
    with pytest.raises(AuthFailed, match=r"id\.example .*10\.0\.0\.1 is private"):
        await prepare(Credentials(drawer, lambda: pool), auth)
    assert seen == [("id.example", "nobody's")]
    await pool.close()
