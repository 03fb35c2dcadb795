"""Webhooks against a real receiver: what is sent, what its answers mean, and what it cannot do."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from uuid import UUID

import pytest

from tests.model.job.attempts import attempt
from tests.strategies.receiver import Receiver, deliver
from windlass import __version__
from windlass.model.job.outcome import Failed, Succeeded
from windlass.model.job.target import verdict
from windlass.strategies.http.http import Http


async def test_an_answer_of_200_is_success_and_its_body_the_result(
    http: Http, receiver: Receiver
) -> None:
    outcome = await deliver(http, receiver.url + "/hook?a=1")
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or b"") == {"status_code": 200, "body": "thanks"}
    [(seen, body)] = receiver.seen
    assert (seen.method, seen.path_qs, body) == ("POST", "/hook?a=1", b"")


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_every_2xx_is_success(http: Http, receiver: Receiver, status: int) -> None:
    receiver.will(status)
    assert isinstance(await deliver(http, receiver.url), Succeeded)


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        (500, False), (502, False), (503, False), (599, False),
        (408, False), (425, False), (429, False),
        (400, True), (401, True), (404, True), (422, True),
        (301, True), (302, True), (307, True), (304, True),
    ],
)  # fmt: skip
async def test_other_answers_are_failures_that_may_or_may_not_pass(
    http: Http, receiver: Receiver, status: int, is_final: bool
) -> None:
    receiver.will(status, "" if status == 304 else "why", location=receiver.url + "/elsewhere")
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == (f"http {status}", is_final)
    assert outcome.detail == {"status_code": status, "body": "" if status == 304 else "why"}
    assert len(receiver.seen) == 1, "a redirect is not followed"


async def test_every_request_says_who_and_what_it_is(http: Http, receiver: Receiver) -> None:
    one = attempt(
        kind="http",
        number=3,
        correlation_id="c-1",
        trace_id="4BF92F3577B34DA6A3CE929D0E0E4736",
        claim_id=UUID("00000000-0000-4000-8aaa-123456789abc"),
        input=json.dumps({"url": receiver.url}),
    )
    began = int(time.time())
    await http.perform(one)
    headers = receiver.seen[0][0].headers
    assert headers["user-agent"] == f"windlass/{__version__}"
    assert headers["webhook-id"] == headers["idempotency-key"] == f"job_{one.job_id.hex}"
    assert (headers["windlass-attempt"], headers["windlass-fence"]) == ("3", "3")
    assert began <= int(headers["webhook-timestamp"]) <= time.time()
    assert headers["x-correlation-id"] == "c-1"
    assert headers["traceparent"] == "00-4bf92f3577b34da6a3ce929d0e0e4736-8aaa123456789abc-01"
    assert headers["x-trace-id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert len(headers["windlass-callback-token"]) >= 32
    assert headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("trace_id", [None, "", "0" * 32, "xyz", "a" * 31])
async def test_without_a_trace_the_job_is_its_own_and_the_same_in_every_attempt(
    http: Http, receiver: Receiver, trace_id: str | None
) -> None:
    for number in (1, 2):
        await http.perform(
            attempt(
                kind="http",
                number=number,
                trace_id=trace_id,
                claim_id=UUID(int=number),
                input=json.dumps({"url": receiver.url}),
            )
        )
    first, second = (seen.headers for seen, _ in receiver.seen)
    assert first["x-trace-id"] == second["x-trace-id"] == UUID(int=1).hex
    assert first["x-correlation-id"] == f"job_{UUID(int=1).hex}"
    assert first["webhook-id"] == second["webhook-id"]
    assert first["traceparent"] != second["traceparent"], "each attempt is a span of its own"
    assert first["windlass-callback-token"] != second["windlass-callback-token"]


async def test_headers_of_the_caller_are_sent_and_replace_ours_whatever_their_case(
    http: Http, receiver: Receiver
) -> None:
    given = {
        "X-Key": "é",
        "Content-Type": "application/vnd.x+json",
        "USER-AGENT": "me",
        "empty": "",
    }
    await deliver(http, receiver.url, json={}, headers=given)
    headers = receiver.seen[0][0].headers
    for name, text in given.items():
        assert headers.getall(name) == [text]


@pytest.mark.parametrize(
    ("fields", "body", "content_type"),
    [
        ({"json": {"a": ["é", None, 1.5]}}, b'{"a":["\xc3\xa9",null,1.5]}', "application/json"),
        ({"json": None}, b"null", "application/json"),
        ({"text": "é"}, b"\xc3\xa9", "text/plain; charset=utf-8"),
        (
            {"form": {"a": "1 2", "é": "&"}},
            b"a=1+2&%C3%A9=%26",
            "application/x-www-form-urlencoded",
        ),
        (
            {"base64": base64.b64encode(b"\x00\xff").decode()},
            b"\x00\xff",
            "application/octet-stream",
        ),
        ({"json": "x" * 500_000}, b'"' + b"x" * 500_000 + b'"', "application/json"),
        (
            {"form": {"a": "é" * 200_000}},
            b"a=" + b"%C3%A9" * 200_000,
            "application/x-www-form-urlencoded",
        ),
        (
            {"json": [12345678901234567890123, 0.1, 1e22, -0.0, 3.0, "\U0001f600"]},
            '[12345678901234567890123,0.1,1e22,-0.0,3.0,"\U0001f600"]'.encode(),
            "application/json",
        ),
    ],
    ids=["json", "null", "text", "form", "base64", "large", "over a megabyte", "numbers"],
)
async def test_bodies_arrive_as_they_were_given(
    http: Http, receiver: Receiver, fields: dict[str, Any], body: bytes, content_type: str
) -> None:
    assert isinstance(await deliver(http, receiver.url, **fields), Succeeded)
    [(seen, read)] = receiver.seen
    assert read == body
    assert seen.headers["content-type"] == content_type


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_every_method_is_sent(http: Http, receiver: Receiver, method: str) -> None:
    assert isinstance(await deliver(http, receiver.url, method=method), Succeeded)
    assert receiver.seen[0][0].method == method


async def test_cookies_are_neither_kept_nor_sent(http: Http, receiver: Receiver) -> None:
    receiver.will(200, **{"set-cookie": "session=secret"})
    await deliver(http, receiver.url)
    await deliver(http, receiver.url)
    assert "cookie" not in receiver.seen[1][0].headers


async def test_a_proxy_in_the_environment_is_not_used(
    http: Http, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert isinstance(await deliver(http, receiver.url), Succeeded)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"url": 1e999}',
        '{"url": "ftp://x"}',
        '{"url": "http://x", "odd": 1}',
        '{"url": "http://x", "text": "\\ud800"}',
        '{"url": "http://x", "json": ' + "[" * 5_000 + "]" * 5_000 + "}",
    ],
)
async def test_input_that_did_not_pass_the_door_is_refused_for_good(http: Http, text: str) -> None:
    outcome = await http.perform(attempt(kind="http", input=text))
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("invalid_input", True)


async def test_connections_are_kept_and_used_again(http: Http, receiver: Receiver) -> None:
    for _ in range(3):
        await deliver(http, receiver.url)
    peers = {
        seen.transport and seen.transport.get_extra_info("peername") for seen, _ in receiver.seen
    }
    assert len(peers) == 1


@pytest.mark.parametrize("target", ["shop.example", None])
async def test_a_job_that_was_accepted_for_another_target_is_not_delivered(
    http: Http, receiver: Receiver, target: str | None
) -> None:
    job = attempt(kind="http", input=json.dumps({"url": receiver.url}), target=target)
    outcome = await http.perform(job)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("target", True)
    assert f"accepted for {target or 'no target'}" in outcome.message
    assert not receiver.seen
    assert verdict(outcome, None) == "neutral", "a host that was never called is not to blame"
