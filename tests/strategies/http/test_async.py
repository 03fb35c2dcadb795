"""202 and `windlass-async`: the receiver has it and will say how it ended."""

from __future__ import annotations

import hashlib

import pytest

from tests.strategies.receiver import Receiver, deliver
from windlass.limits import CALLBACK_SECONDS
from windlass.model.job.outcome import Awaited, Failed, Succeeded
from windlass.strategies.http.http import Http

LATER = {"Windlass-Async": "true"}


def token_hash(receiver: Receiver) -> bytes:
    token = receiver.seen[-1][0].headers["windlass-callback-token"]
    return hashlib.sha256(token.encode()).digest()


async def test_the_job_waits_for_whoever_knows_the_token(http: Http, receiver: Receiver) -> None:
    receiver.will(202, **LATER)
    outcome = await deliver(http, receiver.url)
    assert outcome == Awaited(token_hash(receiver), CALLBACK_SECONDS)


async def test_for_as_long_as_the_job_says(http: Http, receiver: Receiver) -> None:
    receiver.will(202, **LATER)
    outcome = await deliver(http, receiver.url, callback_timeout="10m")
    assert outcome == Awaited(token_hash(receiver), 600.0)


async def test_each_attempt_has_a_token_of_its_own(http: Http, receiver: Receiver) -> None:
    receiver.will(202, **LATER)
    first, second = [await deliver(http, receiver.url) for _ in range(2)]
    assert first != second


@pytest.mark.parametrize(
    ("status", "headers"),
    [(202, {}), (202, {"windlass-async": "false"}), (200, LATER), (201, LATER)],
)
async def test_anything_else_is_an_answer_as_usual(
    http: Http, receiver: Receiver, status: int, headers: dict[str, str]
) -> None:
    receiver.will(status, **headers)
    assert isinstance(await deliver(http, receiver.url), Succeeded)


async def test_an_answer_that_is_no_success_defers_nothing(http: Http, receiver: Receiver) -> None:
    receiver.will(202, **LATER)
    assert isinstance(await deliver(http, receiver.url, statuses={"fail": [202]}), Failed)
    assert isinstance(await deliver(http, receiver.url, expect="json.ok == true"), Failed)
    receiver.will(202, **LATER, **{"webhook-delivery": "abort"})
    assert isinstance(await deliver(http, receiver.url), Failed)
