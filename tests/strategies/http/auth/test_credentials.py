"""Deliveries with credentials: what is signed is what is sent, and what was told stays untold."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from standardwebhooks.webhooks import Webhook

from tests.model.job.attempts import attempt
from tests.strategies.drawer import Drawer, master_key, shared_key
from tests.strategies.receiver import Receiver, deliver, perform_within
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.settle import settle
from windlass.model.job.target import target_of, verdict
from windlass.strategies.http.auth.secrets import SecretNotForHost
from windlass.strategies.http.auth.sign import derived_secret
from windlass.strategies.http.http import Http
from windlass.strategies.http.net.egress import Egress
from windlass.strategies.http.redact import REDACTED


@asynccontextmanager
async def with_secrets(drawer: Drawer) -> AsyncIterator[Http]:
    http = Http(egress=Egress(["127.0.0.0/8"]), vault=drawer)
    try:
        yield http
    finally:
        await http.close()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"json": {"a": ["é", 1.5, 12345678901234567890123]}},
        {"text": "é\r\n"},
        {"form": {"a b": "&"}},
        {"base64": "AP8="},
        {"method": "GET"},
    ],
    ids=["nothing", "json", "text", "form", "base64", "get"],
)
async def test_the_signature_is_over_the_bytes_that_arrive(
    receiver: Receiver, fields: dict[str, Any]
) -> None:
    old, new = shared_key(1), shared_key(2)
    async with with_secrets(Drawer(webhook=[new, old])) as http:
        assert isinstance(await deliver(http, receiver.url, **fields), Succeeded)
    [(seen, body)] = receiver.seen
    assert seen.headers["webhook-signature"] == f"{v1(new, seen, body)} {v1(old, seen, body)}"


async def test_the_official_library_verifies_a_delivery(receiver: Receiver) -> None:
    async with with_secrets(Drawer(webhook=[shared_key(2), shared_key(1)])) as http:
        await deliver(http, receiver.url, json={"a": ["é", 1.5, 12345678901234567890123]})
    [(seen, body)] = receiver.seen
    for key in (shared_key(1), shared_key(2)):
        Webhook(key).verify(body, dict(seen.headers))


async def test_a_delivery_is_signed_with_the_key_of_its_target(receiver: Receiver) -> None:
    target = target_of(receiver.url)
    assert target is not None
    job = json.dumps({"url": receiver.url, "json": {"a": 1}})
    one = attempt(kind="http", input=job, target=target)
    async with with_secrets(Drawer(webhook=[master_key(2), master_key(1)])) as http:
        assert isinstance(await http.perform(one), Succeeded)
    [(seen, body)] = receiver.seen
    for key in (master_key(1), master_key(2)):
        Webhook(derived_secret(key, target)).verify(body, dict(seen.headers))


def v1(key: str, seen: web.Request, body: bytes) -> str:
    """The signature as the specification has it, worked out by hand."""
    signed = f"{seen.headers['webhook-id']}.{seen.headers['webhook-timestamp']}.".encode() + body
    secret = base64.b64decode(key.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()


async def test_a_redirect_that_drops_the_body_is_signed_anew(receiver: Receiver) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        status = 303 if len(receiver.seen) == 1 else 200
        return web.Response(status=status, headers={"location": "/done"})

    receiver.answer = answer
    async with with_secrets(Drawer(webhook=shared_key())) as http:
        await deliver(http, receiver.url, json={"a": 1}, redirects=1)
    assert len(receiver.seen) == 2
    for seen, body in receiver.seen:
        assert seen.headers["webhook-signature"] == v1(shared_key(), seen, body)


async def test_credentials_win_over_a_header_of_the_caller(receiver: Receiver) -> None:
    async with with_secrets(Drawer(shop="s3cret-value")) as http:
        await deliver(
            http,
            receiver.url,
            headers={"Authorization": "mine"},
            auth={"type": "bearer", "secret": "shop"},
        )
    assert receiver.seen[0][0].headers.getall("authorization") == ["Bearer s3cret-value"]


async def test_a_secret_is_neither_recorded_nor_taken_back_from_an_echo(
    receiver: Receiver,
) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.json_response(dict(request.headers), headers={"x-got": request.headers["x-k"]})

    receiver.answer = echo
    auth = {"type": "api_key", "header": "X-K", "secret": "shop"}
    one = attempt(kind="http", input=json.dumps({"url": receiver.url, "auth": auth}))
    async with with_secrets(Drawer(shop="s3cret-value", webhook=shared_key())) as http:
        settlement = settle(one, await http.perform(one), 0.5)
    assert receiver.seen[0][0].headers["x-k"] == "s3cret-value"
    assert settlement.state == "succeeded"
    stored = f"{settlement.result}{settlement.detail}{settlement.error}"
    assert "s3cret-value" not in stored
    assert json.loads(settlement.detail or "")["request_headers"]["webhook-signature"] == (
        "v1,[redacted]"
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda head: base64.encodebytes(b"." * 46 + head),
        lambda head: base64.b64encode(base64.b64encode(head)),
        lambda head: head.decode().encode("utf-16"),
        lambda head: b"".join(b"=%02X" % byte for byte in head),
        lambda head: head.hex(":").encode(),
    ],
    ids=["base64 in lines", "base64 of base64", "utf-16", "quoted-printable", "hex with colons"],
)
async def test_an_echo_that_shows_a_secret_when_it_is_undone_is_not_kept(
    receiver: Receiver, write: Callable[[bytes], bytes]
) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        head = b"".join(name + b": " + text + b"\r\n" for name, text in request.raw_headers)
        return web.Response(body=write(head))

    receiver.answer = echo
    auth = {"type": "api_key", "header": "X-K", "secret": "shop"}
    one = attempt(kind="http", input=json.dumps({"url": receiver.url, "auth": auth}))
    async with with_secrets(Drawer(shop="s3cret-value", webhook=shared_key())) as http:
        settlement = settle(one, await http.perform(one), 0.5)
    assert json.loads(settlement.result or "")["body"] == REDACTED
    assert json.loads(settlement.detail or "")["response_excerpt"] == REDACTED


@pytest.mark.parametrize(
    ("location", "fields"),
    [
        ("/at/{}", {"redirects": 1}),
        ("/at/{}", {}),
        ("https://{}.elsewhere.example/", {}),
        ("/", {"expect": "int(headers['x-got']) > 0"}),
    ],
    ids=["followed", "not followed", "as a host", "in an expectation"],
)
async def test_a_redirect_that_leads_to_the_secret_is_not_recorded_with_it(
    receiver: Receiver, location: str, fields: dict[str, Any]
) -> None:
    async def astray(request: web.Request) -> web.StreamResponse:
        if request.path.startswith("/at/"):
            return web.Response(text="arrived")
        led = location.format(request.headers["x-k"])
        return web.Response(status=302, headers={"location": led, "x-got": request.headers["x-k"]})

    receiver.answer = astray
    auth = {"type": "api_key", "header": "X-K", "secret": "shop"}
    given = {"url": receiver.url, "auth": auth, **fields}
    one = attempt(kind="http", input=json.dumps(given))
    async with with_secrets(Drawer(shop="s3cret-value", webhook=shared_key())) as http:
        settlement = settle(one, await http.perform(one), 0.5)
    stored = f"{settlement.result}{settlement.detail}{settlement.error}"
    assert "s3cret" not in stored
    if "redirects" in fields:
        assert receiver.seen[1][0].path == "/at/s3cret-value"
        assert json.loads(settlement.detail or "")["redirects"] == ["302 /at/[redacted]"]


async def test_without_the_secret_nothing_is_sent_and_a_later_try_may_pass(
    receiver: Receiver,
) -> None:
    auth = {"type": "bearer", "secret": "shop"}
    async with with_secrets(Drawer()) as http:
        done = await perform_within(http, 5, receiver.url, auth=auth)
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("secret", False)
    assert "'shop'" in done.outcome.message
    assert receiver.seen == []


async def test_a_secret_that_is_not_for_the_target_ends_the_job_and_nothing_is_sent(
    receiver: Receiver,
) -> None:
    class Bound(Drawer):
        async def open(
            self, name: str, targets: Sequence[str] = (), *, is_sent: bool = False
        ) -> Sequence[str]:
            raise SecretNotForHost(name, targets[0], ["shop.example"])

    auth = {"type": "bearer", "secret": "shop"}
    async with with_secrets(Bound(shop="s3cret-value")) as http:
        done = await perform_within(http, 5, receiver.url, auth=auth)
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("secret_not_for_host", True)
    assert done.outcome.detail == {"secret": "shop", "host": target_of(receiver.url)}
    assert verdict(done.outcome, None) == "neutral", "the target has done nothing wrong"
    assert receiver.seen == []


async def test_a_node_that_cannot_sign_sends_nothing_and_a_later_try_may_pass(
    receiver: Receiver,
) -> None:
    http = Http(egress=Egress(["127.0.0.0/8"]))
    try:
        outcome = await deliver(http, receiver.url)
    finally:
        await http.close()
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("signing_unavailable", False)
    assert verdict(outcome, None) == "neutral"
    assert receiver.seen == []


async def test_a_secret_that_does_not_fit_is_a_failure_of_auth(receiver: Receiver) -> None:
    auth = {"type": "signature", "secret": "shop"}
    async with with_secrets(Drawer(shop="not-a-key")) as http:
        outcome = await deliver(http, receiver.url, auth=auth)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("auth", False)
    assert "not-a-key" not in outcome.message
    assert receiver.seen == []


async def test_a_token_that_is_refused_is_fetched_anew_by_the_next_try(receiver: Receiver) -> None:
    tokens = iter(["first", "second"])

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == "/token":
            return web.json_response({"access_token": next(tokens), "token_type": "bearer"})
        is_fine = request.headers["authorization"] == "Bearer second"
        return web.Response(status=200 if is_fine else 401)

    receiver.answer = answer
    auth = {
        "type": "oauth2",
        "token_url": receiver.url + "/token",
        "client_id": "us",
        "secret": "shop",
    }
    async with with_secrets(Drawer(shop="s3cret-value")) as http:
        refused = await deliver(http, receiver.url, auth=auth)
        fine = await deliver(http, receiver.url, auth=auth)
    assert isinstance(refused, Failed)
    assert (refused.cause, refused.is_final) == ("http 401", False)
    assert isinstance(fine, Succeeded)


async def test_401_is_final_where_another_try_would_show_the_same(receiver: Receiver) -> None:
    receiver.will(401)
    async with with_secrets(Drawer(shop="s3cret-value")) as http:
        outcome = await deliver(http, receiver.url, auth={"type": "bearer", "secret": "shop"})
    assert isinstance(outcome, Failed)
    assert outcome.is_final
