"""The record of a delivery: all that helps to understand it, nothing that helps to forge it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from aiohttp import web
from multidict import CIMultiDict

from tests.model.attempts import attempt
from tests.strategies.receiver import Receiver, perform_within
from windlass.limits import EXCERPT_CHARS_MAX, RECORD_HEADER_CHARS_MAX, RECORD_HEADERS_MAX
from windlass.model.settle import settle
from windlass.strategies.conceal import REDACTED, concealed, concealed_bytes
from windlass.strategies.http import Http
from windlass.strategies.http_record import shown


async def record(http: Http, url: str, **fields: Any) -> dict[str, Any]:
    return (await perform_within(http, 5, url, **fields)).detail


async def test_a_delivery_leaves_what_it_sent_what_came_back_and_how_long_it_took(
    http: Http, receiver: Receiver
) -> None:
    receiver.will(201, "created", **{"X-Request": "r-1"})
    kept = await record(http, receiver.url + "/hook?key=s3cret", method="PUT", json={"a": 1})
    assert (kept["method"], kept["status_code"]) == ("PUT", 201)
    assert kept["request_headers"]["content-type"] == "application/json"
    assert kept["response_headers"]["x-request"] == "r-1"
    assert kept["response_excerpt"] == "created"
    assert (kept["address"], kept["is_reused"]) == ("127.0.0.1", False)
    timings = kept["timings_ms"]
    assert timings.keys() == {"connect", "first_byte", "total"}
    assert 0 < timings["connect"] < timings["first_byte"] <= timings["total"]
    assert all(ms == round(ms, 3) for ms in timings.values())
    assert "s3cret" not in json.dumps(kept)


async def test_a_connection_used_again_has_no_connect_time(http: Http, receiver: Receiver) -> None:
    await record(http, receiver.url)
    kept = await record(http, receiver.url)
    assert kept["is_reused"] is True
    assert kept["timings_ms"].keys() == {"first_byte", "total"}


async def test_the_record_is_settled_with_the_attempt(http: Http, receiver: Receiver) -> None:
    async def odd(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, body=b"\x00\xff", headers={"x-odd": "\udcff"})

    receiver.answer = odd
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    settlement = settle(one, await http.perform(one), 0.5)
    stored = json.loads((settlement.detail or "").encode())
    assert stored["status_code"] == 500
    assert "\x00" not in stored["response_excerpt"]


async def test_secrets_of_the_caller_are_not_kept(http: Http, receiver: Receiver) -> None:
    receiver.will(200, **{"set-cookie": "s=S3CRET", "x-amz-security-token": "S3CRET"})
    secret = {
        "Authorization": "Bearer S3CRET",
        "Cookie": "a=S3CRET",
        "X-API-Key": "S3CRET",
        "X-Auth-User": "S3CRET",
        "my-session": "S3CRET",
        "X_PASSWORD": "S3CRET",
        "client-secret-2": "S3CRET",
    }
    kept = await record(http, receiver.url, headers={**secret, "x-plain": "shown"})
    assert receiver.seen[0][0].headers["authorization"] == "Bearer S3CRET"
    assert "S3CRET" not in json.dumps(kept)
    assert kept["request_headers"]["x-plain"] == "shown"
    assert kept["request_headers"]["authorization"] == REDACTED
    assert kept["request_headers"]["windlass-callback-token"] == REDACTED
    assert kept["request_headers"]["idempotency-key"].startswith("job_")
    assert kept["response_headers"]["set-cookie"] == REDACTED


async def test_a_receiver_that_echoes_gives_no_token_away(http: Http, receiver: Receiver) -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        token = request.headers["windlass-callback-token"]
        return web.json_response({"got": token}, headers={"x-echo": f"it was {token}"})

    receiver.answer = echo
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    settlement = settle(one, await http.perform(one), 0.5)
    token = receiver.seen[0][0].headers["windlass-callback-token"]
    assert token not in f"{settlement.result}{settlement.detail}"
    assert json.loads(settlement.result or "")["json"] == {"got": REDACTED}
    assert json.loads(settlement.detail or "")["response_headers"]["x-echo"] == f"it was {REDACTED}"


async def test_of_a_long_answer_the_beginning_is_kept(http: Http, receiver: Receiver) -> None:
    receiver.will(200, "é" * 10_000, **{"x-long": "y" * 5_000})
    kept = await record(http, receiver.url)
    assert kept["response_excerpt"] == "é" * EXCERPT_CHARS_MAX
    assert kept["response_headers"]["x-long"] == "y" * RECORD_HEADER_CHARS_MAX + "…"


def test_of_many_headers_a_page_is_kept() -> None:
    assert len(shown({f"x-{n}": "" for n in range(1_000)})) == RECORD_HEADERS_MAX


async def test_a_header_that_came_twice_is_joined(http: Http, receiver: Receiver) -> None:
    async def twice(request: web.Request) -> web.StreamResponse:
        response = web.Response()
        response.headers.add("X-Twice", "a")
        response.headers.add("x-twice", "b")
        return response

    receiver.answer = twice
    assert (await record(http, receiver.url))["response_headers"]["x-twice"] == "a, b"


def test_of_signatures_their_kind_is_kept() -> None:
    kept = shown({"webhook-signature": "v1,abc= v1a,def="}, frozenset({"webhook-signature"}))
    assert kept == {"webhook-signature": f"v1,{REDACTED} v1a,{REDACTED}"}


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Bearer long-enough", b"got [redacted] and [redacted]"),
        ("long-enough", b"got [redacted] and [redacted]"),
        ("Basic got", b"got long-enough and long-enough"),
        ("", b"got long-enough and long-enough"),
    ],
)
def test_what_was_sent_is_concealed_in_what_came_back(told: str, kept: bytes) -> None:
    assert concealed_bytes(b"got long-enough and long-enough", [told]) == kept


BASIC = "Basic " + base64.b64encode(b"shop:open sesame/+").decode()


@pytest.mark.parametrize(
    ("told", "echoed"),
    [
        ("Bearer two words", "you sent two words"),
        ("two words", "x=two%20words"),
        ("two words", "x=two+words"),
        ("hunter2", "it was hunter2!"),
        ('a"b\\c/d', 'json: a\\"b\\\\c/d'),
        ('a"b\\c/d', 'json: a\\"b\\\\c\\/d'),
        ("geheimé", '{"got": "geheim\\u00e9"}'),
        ("s3cret-value", "\\u0073\\u0033cret-value"),
        ("s3cret-value", "%73%33cret%2Dvalue"),
        ("s3cret-value", "&#115;3cret-value"),
        ("<k&y>", "got &lt;k&amp;y&gt;"),
        ("s3cret-value", base64.b64encode(b"s3cret-value").decode()),
        ("s3cret-value", base64.b64encode(b"X-Key: s3cret-value\r\n").decode()),
        ("s3cret-value", base64.b64encode(b"a s3cret-value").decode()),
        ("k7Qz", base64.b64encode(b"k7Qz").decode()),
        ("k7Qz", base64.b64encode(b"X-Key: k7Qz").decode()),
        ("do\\main", "".join(f"%{byte:02x}" for byte in b"do\\main")),
        ("do\\main", "".join(f"&#{byte};" for byte in b"do\\main")),
        ("do\\main", "".join(f"\\u{byte:04x}" for byte in b"do\\main")),
        ("s3cret-value", b"s3cret-value".hex()),
        ("s3cret-value", b"s3cret-value".hex().upper()),
        (BASIC, "password is open sesame/+"),
        (BASIC, "you are shop:open sesame/+"),
        (BASIC, BASIC),
        ("v1,c2lnbmF0dXJl v1a,b3RoZXI=", "no such signature c2lnbmF0dXJl"),
    ],
)
def test_a_secret_is_found_however_it_is_echoed(told: str, echoed: str) -> None:
    kept = concealed(echoed, [told])
    assert REDACTED in kept
    assert "open sesame" not in kept
    assert "words" not in kept
    assert concealed_bytes(echoed.encode(), [told]) == kept.encode()
    assert REDACTED in shown({"x-echo": echoed}, told=[told])["x-echo"]


def test_headers_are_cut_after_their_secrets_are_left_out() -> None:
    secret = "S3cr3tPlainTokenABCDEF"
    long = "x" * (RECORD_HEADER_CHARS_MAX - len(secret) + 3) + secret
    assert secret[:8] not in shown({"X-Echo": long}, told=[secret])["x-echo"]
    many = [("X-A", "x" * 995), ("X-A", "y" * 985), ("X-A", secret)]
    assert secret[:8] not in shown(CIMultiDict(many), told=[secret])["x-a"]


def test_a_secret_is_no_name_of_a_header() -> None:
    made = shown({"X-S3cr3tPlainToken": "1"}, told=["S3cr3tPlainToken"])
    assert "s3cr3t" not in str(made).lower()


def test_a_secret_that_is_the_beginning_of_another_leaves_nothing_of_it() -> None:
    assert concealed("got abcd-efgh-ijkl end", ["abcd", "abcd-efgh-ijkl"]) == "got [redacted] end"


@pytest.mark.parametrize("text", ["nothing here", "100 % of C:\\users", '{"a": "\\u00e9"}', ""])
def test_what_holds_no_secret_stays_as_it_is(text: str) -> None:
    assert concealed(text, [BASIC, "two words", "hunter2"]) == text
    assert concealed_bytes(b"\xff\x00" + text.encode(), [BASIC]) == b"\xff\x00" + text.encode()
