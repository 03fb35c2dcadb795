"""What deliveries say about targets, and who may go to one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from windlass.model.job.outcome import (
    Awaited,
    Cancelled,
    Crashed,
    Failed,
    Outcome,
    Snoozed,
    Succeeded,
    TimedOut,
)
from windlass.model.job.target import Target, reason_to_park, unpark_count, verdict

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOST = "shop.example"


@pytest.mark.parametrize(
    ("outcome", "status_code", "expected"),
    [
        (Succeeded(), 200, "answered"),
        (Awaited(b"", 1.0), 202, "answered"),
        (Failed("http 404", ""), 404, "answered"),
        (Failed("http 429", ""), 429, "answered"),
        (Failed("unexpected answer", ""), 200, "answered"),
        (Failed("gone", ""), 410, "gone"),
        (Failed("http 500", ""), 500, "failed"),
        (Failed("http 503", ""), 503, "failed"),
        (Failed("connection refused", ""), None, "failed"),
        (Failed("dns", ""), None, "failed"),
        (TimedOut(1.0), None, "failed"),
        (TimedOut(1.0), 200, "failed"),
        (Failed("egress_refused", ""), None, "neutral"),
        (Failed("secret", ""), None, "neutral"),
        (Failed("out of sockets", ""), None, "neutral"),
        (Failed("no route", ""), None, "neutral"),
        (Failed("invalid_input", ""), None, "neutral"),
        (Failed("target", ""), None, "neutral"),
        (Cancelled(), None, "neutral"),
        (Snoozed(0.0), None, "neutral"),
        (Crashed(""), None, "neutral"),
    ],
)
def test_only_silence_and_server_errors_speak_against_a_target(
    outcome: Outcome, status_code: int | None, expected: str
) -> None:
    assert verdict(outcome, status_code) == expected


def test_what_keeps_a_delivery_back_is_named_by_the_weightiest() -> None:
    assert reason_to_park(Target(host=HOST), has_pass=False) is None
    assert reason_to_park(Target(host=HOST, rate=1.0), has_pass=False) == "rate"
    assert reason_to_park(Target(host=HOST, max_running=1), has_pass=False) == "max_running"
    opened = Target(host=HOST, rate=1.0, breaker="open", open_until=NOW)
    assert reason_to_park(opened, has_pass=False) == "breaker"
    gone = Target(host=HOST, is_enabled=False, breaker="open", open_until=NOW)
    assert reason_to_park(gone, has_pass=False) == "disabled"


def test_a_pass_opens_everything_but_a_disabled_target() -> None:
    probed = Target(host=HOST, rate=1.0, max_running=1, breaker="half_open", open_until=NOW)
    assert reason_to_park(probed, has_pass=True) is None
    assert reason_to_park(Target(host=HOST, is_enabled=False), has_pass=True) == "disabled"


def test_an_open_breaker_lets_nobody_go_before_its_time_and_then_one() -> None:
    opened = Target(host=HOST, breaker="open", open_until=NOW)
    before, after = NOW - timedelta(seconds=1), NOW
    assert unpark_count(opened, before, passes=0, probes=1, most=500) == 0
    assert unpark_count(opened, after, passes=0, probes=1, most=500) == 1
    assert unpark_count(opened, after, passes=1, probes=1, most=500) == 0


def test_the_room_of_a_limited_target_is_what_its_passes_leave() -> None:
    limited = Target(host=HOST, max_running=3)
    assert unpark_count(limited, NOW, passes=1, probes=1, most=500) == 2
    assert unpark_count(limited, NOW, passes=7, probes=1, most=500) == 0
    assert unpark_count(limited, NOW, passes=0, probes=1, most=1) == 1
    assert unpark_count(Target(host=HOST, is_enabled=False), NOW, passes=0, probes=1, most=9) == 0


def test_a_target_with_a_breaker_of_its_own_is_remembered() -> None:
    assert Target(host=HOST).is_ordinary
    assert not Target(host=HOST, failures=3).is_ordinary
    assert Target(host=HOST, failures=3).is_unlimited
