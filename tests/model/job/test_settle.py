"""What becomes of a job when an attempt ends: every outcome at every stage of its life."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.model.job.attempts import attempt
from windlass.limits import CRASHES_MAX, ERROR_TEXT_MAX
from windlass.model.job.outcome import (
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.model.job.settle import settle
from windlass.model.job.states import LEGAL_MOVES

OUTCOMES: list[Outcome] = [
    Succeeded(),
    Succeeded(b'{"a":1}'),
    Failed("ValueError", "no"),
    Failed("http 404", "gone", is_final=True),
    TimedOut(30),
    Crashed("the process died"),
    Snoozed(60),
    Cancelled(),
]


def expected_state(outcome: Outcome, tries: int, max_attempts: int, crashes: int) -> str:
    """The decision once more, in other words."""
    if isinstance(outcome, Succeeded):
        return "succeeded"
    if isinstance(outcome, Cancelled):
        return "cancelled"
    if isinstance(outcome, Snoozed):
        return "queued"
    if isinstance(outcome, Crashed):
        return "dead" if crashes + 1 >= CRASHES_MAX else "queued"
    is_over = tries >= max_attempts
    is_over |= isinstance(outcome, Failed) and outcome.is_final
    return "dead" if is_over else "queued"


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda outcome: outcome.name)
def test_every_outcome_at_every_stage_leads_where_the_policy_says(outcome: Outcome) -> None:
    stages = product(range(1, 7), range(3), range(1, 6), range(CRASHES_MAX + 1))
    for number, snoozes, max_attempts, crashes in stages:
        if snoozes + crashes >= number:
            continue
        tried = attempt(number=number, snoozes=snoozes, max_attempts=max_attempts, crashes=crashes)
        settled = settle(tried, outcome, 0.5)
        tries = number - snoozes - crashes
        assert settled.state == expected_state(outcome, tries, max_attempts, crashes)
        assert settled.state in LEGAL_MOVES["running"]
        assert settled.outcome == outcome.name
        assert settled.crashed == isinstance(outcome, Crashed)
        assert settled.rest_seconds >= 0
        assert (settled.attempt, settled.claim_id) == (number, tried.claim_id), "the fence"


def test_success_keeps_its_result() -> None:
    assert settle(attempt(), Succeeded(b'{"a":1}'), 0).result == '{"a":1}'
    assert settle(attempt(), Succeeded(), 0).result is None


def test_a_snooze_rests_as_long_as_it_asked_and_spends_nothing() -> None:
    settled = settle(attempt(number=5, max_attempts=5), Snoozed(60.5), 0)
    assert (settled.state, settled.rest_seconds) == ("queued", 60.5)
    assert attempt(number=5, snoozes=3).tries == 2


def test_a_retry_rests_as_its_own_policy_says() -> None:
    policy = json.dumps({"max_attempts": 5, "initial": 10, "factor": 3, "max": 50, "jitter": False})
    rests = [
        settle(attempt(number=n, retry=policy), Failed("x", "x"), 0.9).rest_seconds
        for n in range(1, 5)
    ]
    assert rests == [10, 30, 50, 50]


def test_the_policy_of_the_job_decides_not_that_of_the_kind() -> None:
    spent = attempt(kind="http", number=2, max_attempts=2, retry='{"max_attempts": 2}')
    assert settle(spent, Failed("http 503", "busy"), 0).state == "dead"
    more = attempt(kind="http", number=10, max_attempts=12, retry='{"max_attempts": 12}')
    settled = settle(more, Failed("http 503", "busy"), 0.5)
    assert (settled.state, settled.rest_seconds) == ("queued", 86400)


def test_a_webhook_without_a_policy_has_ten_tries() -> None:
    ninth = settle(attempt(kind="http", number=9, max_attempts=10), Failed("x", "x"), 0.5)
    tenth = settle(attempt(kind="http", number=10, max_attempts=10), Failed("x", "x"), 0.5)
    assert (ninth.state, ninth.rest_seconds, tenth.state) == ("queued", 86400, "dead")


def test_a_policy_that_cannot_be_read_falls_back_to_the_kinds() -> None:
    # Rows can be written by other hands, and a settlement must never fail.
    for retry in ('"five"', "[]", '{"max_attempts": "many"}', '{"odd": 1}'):
        settled = settle(attempt(retry=retry), Failed("x", "x"), 0.5)
        assert (settled.state, settled.rest_seconds) == ("queued", 1.0)


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (Failed("http 503", "busy", {"status_code": 503}), "http 503"),
        (TimedOut(1.5), "timeout"),
        (Crashed("exit code -9"), "worker_died"),
    ],
)
def test_a_failure_is_explained_by_a_cause_and_a_document(outcome: Outcome, cause: str) -> None:
    settled = settle(attempt(), outcome, 0)
    error = json.loads(settled.error or "")
    assert settled.cause == error["cause"] == cause
    assert error["message"]


def test_a_timeout_says_after_how_long() -> None:
    error = json.loads(settle(attempt(), TimedOut(1.5), 0).error or "")
    assert error["message"] == "the attempt was stopped after 1.5 s"


def test_the_details_of_a_failure_are_kept() -> None:
    failed = Failed("http 500", "broken", {"status_code": 500, "body": "oops"})
    error = json.loads(settle(attempt(), failed, 0).error or "")
    assert error == {"cause": "http 500", "message": "broken", "status_code": 500, "body": "oops"}


@pytest.mark.parametrize(
    "text", ["NUL \x00 inside", "half \ud800 pair", "long " * 10_000], ids=["nul", "half", "long"]
)
def test_whatever_a_failure_says_can_be_stored(text: str) -> None:
    detail: dict[str, Any] = {"body": text, text: float("nan")}
    settled = settle(attempt(), Failed(text, text, detail), 0)
    stored = (settled.cause or "") + (settled.error or "")
    stored.encode()
    assert "\x00" not in stored
    assert "\\u0000" not in stored
    assert "NaN" not in stored
    assert len(settled.cause or "") <= 200
    assert len(json.loads(settled.error or "")["message"]) <= ERROR_TEXT_MAX


def test_a_task_that_says_when_to_try_again_is_taken_at_its_word() -> None:
    def asked(wish: float) -> Failed:
        return Failed("RetryAfter", "later", retry_after_seconds=wish, is_exact=True)

    for wish in (0.0, 1.0, 3 * 24 * 3600.0):
        settlement = settle(attempt(number=3), asked(wish), 0.5)
        assert (settlement.state, settlement.rest_seconds) == ("queued", wish)
    spent = settle(attempt(number=5), asked(1.0), 0.5)
    assert spent.state == "dead", "it spends its tries all the same"
