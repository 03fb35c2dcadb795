"""What an answer means: statuses, `retry-after`, the job's own statuses, and a receiver's no."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.model.job.attempts import attempt
from tests.strategies.receiver import Receiver, deliver
from windlass.limits import RETRY_AFTER_SECONDS_MAX
from windlass.model.job.outcome import Failed, Outcome, Succeeded
from windlass.model.job.settle import settle
from windlass.strategies.http.http import Http, check_input
from windlass.strategies.http.judge import retry_after_seconds, verdict_of

NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)


def failed(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed)
    return outcome


async def test_410_is_gone_for_good(http: Http, receiver: Receiver) -> None:
    receiver.will(410)
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    outcome = failed(await http.perform(one))
    assert (outcome.cause, outcome.is_final) == ("gone", True)
    assert one.detail is not None
    assert one.detail["status_code"] == 410, "which is what disables its target"


@pytest.mark.parametrize("status", [200, 202, 404, 503])
async def test_a_receiver_that_asks_to_stop_is_obeyed_whatever_the_status(
    http: Http, receiver: Receiver, status: int
) -> None:
    receiver.will(status, **{"Webhook-Delivery": " Abort ", "retry-after": "5"})
    outcome = failed(await deliver(http, receiver.url, expect="true"))
    assert (outcome.cause, outcome.is_final) == ("aborted by receiver", True)
    assert outcome.retry_after_seconds is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 120 ", 120.0),
        ("86400", 86_400.0),
        ("31536000", RETRY_AFTER_SECONDS_MAX),
        ("9" * 5_000, RETRY_AFTER_SECONDS_MAX),
        ("Thu, 31 Jan 2030 12:01:40 GMT", 100.0),
        ("Thu, 31 Jan 2030 12:01:40 -0000", 100.0),
        ("Thu, 31 Jan 2030 11:59:00 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", RETRY_AFTER_SECONDS_MAX),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("1e9", None),
        ("inf", None),
        ("soon", None),
        ("²", None),
        ("Thu, 99 Jan 2030 12:01:40 GMT", None),
        ("Mon, 01 Jan 0001 00:00:00 +2359", None),
        ("x" * 10_000, None),
    ],
)
def test_a_wish_for_later_is_read_and_nonsense_is_not(text: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": text}, NOW) == seconds


def test_a_date_is_read_by_the_receivers_own_clock() -> None:
    wish = {
        "retry-after": "Mon, 07 Jan 2008 10:00:30 GMT",
        "date": "Mon, 07 Jan 2008 10:00:00 GMT",
    }
    assert retry_after_seconds(wish, NOW) == 30.0


@pytest.mark.parametrize("status", [429, 503])
async def test_an_absurd_wish_does_not_park_a_job_for_years(
    http: Http, receiver: Receiver, status: int
) -> None:
    receiver.will(status, **{"retry-after": "99999999999999999999"})
    one = attempt(kind="http", input=json.dumps({"url": receiver.url}))
    settlement = settle(one, await http.perform(one), 0.5)
    assert settlement.state == "queued"
    assert settlement.rest_seconds == RETRY_AFTER_SECONDS_MAX


async def test_a_wish_is_kept_with_the_failure(http: Http, receiver: Receiver) -> None:
    receiver.will(429, **{"retry-after": "7"})
    assert failed(await deliver(http, receiver.url)).retry_after_seconds == 7.0


@pytest.mark.parametrize(
    ("status", "statuses", "verdict"),
    [
        (404, {"succeed": [404]}, "succeed"),
        (404, {"retry": ["4xx"]}, "retry"),
        (404, {"retry": ["4xx"], "succeed": [404]}, "succeed"),
        (404, {"succeed": ["4xx"], "fail": [404]}, "fail"),
        (500, {"fail": ["5xx"]}, "fail"),
        (503, {"fail": ["5xx"], "retry": [503]}, "retry"),
        (200, {"retry": [200]}, "retry"),
        (302, {"succeed": ["3xx"]}, "succeed"),
        (204, {"fail": [200]}, "succeed"),
        (418, {}, "fail"),
    ],
)
def test_the_jobs_own_statuses_come_first_and_a_number_beats_a_class(
    status: int, statuses: dict[str, Any], verdict: str
) -> None:
    assert verdict_of(status, statuses) == verdict


async def test_the_jobs_own_statuses_reach_the_outcome(http: Http, receiver: Receiver) -> None:
    receiver.will(404)
    statuses = {"retry": [404]}
    outcome = failed(await deliver(http, receiver.url, statuses=statuses))
    assert (outcome.cause, outcome.is_final) == ("http 404", False)
    receiver.will(410)
    outcome = failed(await deliver(http, receiver.url, statuses={"retry": [410]}))
    assert (outcome.cause, outcome.is_final) == ("http 410", False)


@pytest.mark.parametrize(
    ("statuses", "pointer"),
    [
        ([], "/statuses"),
        ({"ok": [200]}, "/statuses"),
        ({"succeed": 200}, "/statuses/succeed"),
        ({"succeed": [200] * 101}, "/statuses/succeed"),
        ({"succeed": [99]}, "/statuses/succeed/0"),
        ({"succeed": [600]}, "/statuses/succeed/0"),
        ({"succeed": [200, True]}, "/statuses/succeed/1"),
        ({"succeed": [200.5]}, "/statuses/succeed/0"),
        ({"succeed": [None]}, "/statuses/succeed/0"),
        ({"succeed": [[]]}, "/statuses/succeed/0"),
        ({"retry": ["6xx"]}, "/statuses/retry/0"),
        ({"retry": ["404"]}, "/statuses/retry/0"),
        ({"retry": [404], "fail": [404]}, "/statuses/fail/0"),
    ],
)
def test_statuses_that_say_nothing_clear_are_refused_at_the_door(
    statuses: Any, pointer: str
) -> None:
    [(found, detail)] = check_input({"url": "http://x.example", "statuses": statuses})
    assert found == pointer
    assert detail


def test_a_status_under_two_verdicts_is_named_as_it_is_known() -> None:
    """404.0 is 404: JSON does not tell them apart."""
    statuses = {"retry": [404], "fail": [404.0]}
    [(_, detail)] = check_input({"url": "http://x.example", "statuses": statuses})
    assert detail == "404 stands under retry too"


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b'{"id": 7}', {"id": 7}),
        ("application/problem+json; charset=utf-8", b"[1.0]", [1.0]),
        ("application/json", b"null", None),
    ],
)
async def test_json_of_an_answer_is_part_of_the_result(
    http: Http, receiver: Receiver, content_type: str, body: bytes, expected: Any
) -> None:
    receiver.will(200, body.decode(), **{"content-type": content_type})
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or b"") == {
        "status_code": 200,
        "body": body.decode(),
        "json": expected,
    }


@pytest.mark.parametrize(
    "body",
    [
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[1e999]",
        '["\\u0000"]',
        '["\\ud800"]',
        "[" * 70 + "]" * 70,
        "[" * 20_000 + "]" * 20_000,
        "9" * 5_000,
        "{",
        '["' + "x" * 70_000 + '"]',
    ],
    ids=lambda body: body[:12],
)
async def test_json_that_could_do_harm_is_kept_as_text_only(
    http: Http, receiver: Receiver, body: str
) -> None:
    receiver.will(200, body, **{"content-type": "application/json"})
    outcome = await deliver(http, receiver.url)
    assert isinstance(outcome, Succeeded)
    assert json.loads(outcome.result or b"").keys() == {"status_code", "body"}
