"""Redirects: where they are followed, and where they never lead."""

from __future__ import annotations

import pytest
from aiohttp import web

from tests.strategies.receiver import Receiver, deliver, listening, perform_within
from windlass.model.job.outcome import Failed, Succeeded
from windlass.strategies.http.http import Http


def pointing(receiver: Receiver, status: int, location: str, times: int = 1) -> None:
    """The first `times` requests are sent on; then it answers."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if len(receiver.seen) > times:
            return web.Response(text="arrived")
        return web.Response(status=status, headers={"location": location})

    receiver.answer = answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_for_good_that_says_where_it_led_but_not_the_path(
    http: Http, receiver: Receiver, status: int
) -> None:
    pointing(receiver, status, "https://elsewhere.example/hook?token=s3cret")
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == (f"http {status}", True)
    assert "elsewhere.example" in outcome.message
    assert "s3cret" not in outcome.message
    assert len(receiver.seen) == 1


@pytest.mark.parametrize(
    ("status", "method", "body"),
    [
        (307, "POST", b'{"a":1}'),
        (308, "POST", b'{"a":1}'),
        (301, "GET", b""),
        (302, "GET", b""),
        (303, "GET", b""),
    ],
)
async def test_where_allowed_it_is_followed_within_the_origin(
    http: Http, receiver: Receiver, status: int, method: str, body: bytes
) -> None:
    pointing(receiver, status, "/new?secret=1")
    done = await perform_within(http, 5, receiver.url, json={"a": 1}, redirects=1)
    assert isinstance(done.outcome, Succeeded)
    [(_, _), (second, read)] = receiver.seen
    assert (second.method, second.path_qs, read) == (method, "/new?secret=1", body)
    assert second.headers["webhook-id"] == receiver.seen[0][0].headers["webhook-id"]
    assert ("content-type" in second.headers) == bool(body)
    assert done.detail["redirects"] == [f"{status} /new"], "without the query, which is a secret"


@pytest.mark.parametrize("redirects", [0, 5])
@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://localhost/",
        "//169.254.169.254/",
        "https://127.0.0.1/",
        "file:///etc/passwd",
        "http://user:pw@{here}/",
        "{canary}",
        "http://[bad",
        "\t",
    ],
)
async def test_nothing_leads_to_another_origin(
    http: Http, receiver: Receiver, location: str, redirects: int
) -> None:
    async with listening() as canary:
        here = receiver.url.removeprefix("http://")
        pointing(receiver, 307, location.format(here=here, canary=canary.url))
        outcome = await deliver(http, receiver.url, json={}, redirects=redirects)
        assert canary.seen == []
    assert isinstance(outcome, Failed)
    assert (outcome.cause, outcome.is_final) == ("http 307", True)
    assert len(receiver.seen) == 1


async def test_a_loop_ends(http: Http, receiver: Receiver) -> None:
    pointing(receiver, 307, "/again", times=1_000)
    done = await perform_within(http, 5, receiver.url, redirects=5)
    assert isinstance(done.outcome, Failed)
    assert (done.outcome.cause, done.outcome.is_final) == ("http 307", True)
    assert len(receiver.seen) == 6
    assert done.detail["redirects"] == ["307 /again"] * 5


async def test_the_jobs_own_statuses_judge_the_answer_that_is_left(
    http: Http, receiver: Receiver
) -> None:
    pointing(receiver, 307, "/again", times=1_000)
    statuses = {"succeed": ["3xx"]}
    assert isinstance(await deliver(http, receiver.url, statuses=statuses), Succeeded)
    assert len(receiver.seen) == 1
