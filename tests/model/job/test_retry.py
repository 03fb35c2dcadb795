"""When to try again: bounds, spread and ladders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.limits import ATTEMPTS_MAX, DURATION_SECONDS_MAX
from windlass.model.job.retry import (
    DEFAULT,
    WEBHOOK,
    Retry,
    default_for,
    read_retry,
    rest_seconds,
    to_json,
)

chances = st.floats(0, 1, exclude_max=True)
policies = st.builds(
    Retry,
    max_attempts=st.integers(1, ATTEMPTS_MAX),
    initial_seconds=st.floats(0, DURATION_SECONDS_MAX),
    factor=st.floats(1, 100),
    max_seconds=st.floats(0, DURATION_SECONDS_MAX),
    jitter=st.booleans(),
)


@given(policy=policies, tries=st.integers(1, 2 * ATTEMPTS_MAX), chance=chances)
def test_a_rest_is_never_negative_nor_longer_than_the_policy_and_its_spread_allow(
    policy: Retry, tries: int, chance: float
) -> None:
    rest = rest_seconds(policy, tries, chance)
    assert (rest is None) == (tries >= policy.max_attempts)
    if rest is not None:
        assert 0 <= rest <= policy.max_seconds * 1.25


@given(policy=policies, tries=st.integers(1, ATTEMPTS_MAX), chance=chances)
def test_jitter_spreads_the_rest_by_a_quarter_to_either_side(
    policy: Retry, tries: int, chance: float
) -> None:
    calm = Retry(
        max_attempts=ATTEMPTS_MAX + 1,
        initial_seconds=policy.initial_seconds,
        factor=policy.factor,
        max_seconds=policy.max_seconds,
        jitter=False,
    )
    spread = Retry(**{**{name: getattr(calm, name) for name in calm.__slots__}, "jitter": True})
    rest, spread_rest = rest_seconds(calm, tries, chance), rest_seconds(spread, tries, chance)
    assert rest is not None
    assert spread_rest is not None
    assert rest_seconds(calm, tries, 0.0) == rest, "without jitter chance decides nothing"
    assert rest * 0.75 <= spread_rest <= rest * 1.25


def test_chance_reaches_both_ends_of_the_spread() -> None:
    policy = Retry(initial_seconds=100)
    assert rest_seconds(policy, 1, 0.0) == pytest.approx(75)
    assert rest_seconds(policy, 1, 0.999999) == pytest.approx(125, rel=1e-3)


@given(policy=policies, tries=st.integers(1, ATTEMPTS_MAX - 1), chance=chances)
def test_rests_never_shrink_from_one_try_to_the_next(
    policy: Retry, tries: int, chance: float
) -> None:
    now, later = rest_seconds(policy, tries, chance), rest_seconds(policy, tries + 1, chance)
    assert later is None or (now is not None and now <= later)


def test_the_usual_policy_doubles_from_a_second_to_five_minutes() -> None:
    calm = Retry(max_attempts=20, jitter=False)
    rests = [rest_seconds(calm, tries, 0.5) for tries in range(1, 21)]
    assert rests[:9] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert rests[9:19] == [300] * 10
    assert rests[19] is None


def test_webhooks_climb_their_ladder_over_about_three_days() -> None:
    calm = Retry(
        max_attempts=WEBHOOK.max_attempts, ladder_seconds=WEBHOOK.ladder_seconds, jitter=False
    )
    rests = [rest_seconds(calm, tries, 0.5) for tries in range(1, 11)]
    assert rests == [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400, None]
    assert 3 * 86400 < sum(rest for rest in rests if rest is not None) < 3.5 * 86400


def test_a_ladder_that_is_shorter_than_its_tries_stays_on_its_last_rung() -> None:
    policy = Retry(max_attempts=6, ladder_seconds=(1, 10), jitter=False)
    assert [rest_seconds(policy, tries, 0) for tries in range(1, 7)] == [1, 10, 10, 10, 10, None]


def test_every_kind_has_a_policy_and_the_owners_setting_counts_for_all_but_webhooks() -> None:
    assert default_for("http", 7) == WEBHOOK
    assert default_for("python", 7).max_attempts == 7
    assert default_for("python") == DEFAULT
    assert default_for("noop", None).max_attempts == 5


@given(policy=policies)
def test_a_policy_that_is_kept_is_read_back_the_same(policy: Retry) -> None:
    assert read_retry(to_json(policy), DEFAULT) == (policy, [])


def test_more_tries_alone_keep_the_ladder_of_the_kind() -> None:
    policy, problems = read_retry({"max_attempts": 3}, WEBHOOK)
    assert problems == []
    assert (policy.max_attempts, policy.ladder_seconds) == (3, WEBHOOK.ladder_seconds)


def test_a_policy_of_ones_own_leaves_the_ladder_but_keeps_the_number_of_tries() -> None:
    policy, problems = read_retry({"initial": "2s"}, WEBHOOK)
    assert problems == []
    assert policy == Retry(max_attempts=10, initial_seconds=2)


def test_nothing_given_is_the_fallback() -> None:
    assert read_retry({}, WEBHOOK) == (WEBHOOK, [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_attempts", 0),
        ("max_attempts", -1),
        ("max_attempts", ATTEMPTS_MAX + 1),
        ("max_attempts", True),
        ("max_attempts", 1.5),
        ("max_attempts", "5"),
        ("max_attempts", None),
        ("max_attempts", 10**400),
        ("initial", -1),
        ("initial", "soon"),
        ("initial", DURATION_SECONDS_MAX + 1),
        ("max", []),
        ("max", "1y"),
        ("factor", 0.5),
        ("factor", 101),
        ("factor", "2"),
        ("factor", True),
        ("factor", float("nan")),
        ("jitter", 1),
        ("jitter", "yes"),
        ("tries", 5),
    ],
)
def test_a_bad_value_is_named_by_its_field(field: str, value: Any) -> None:
    policy, problems = read_retry({field: value}, DEFAULT)
    assert policy == DEFAULT
    assert [pointer for pointer, _ in problems] == [f"/{field}"]


def test_all_bad_values_are_named_at_once() -> None:
    _, problems = read_retry({"max_attempts": 0, "factor": 0, "odd": 1, "jitter": True}, DEFAULT)
    assert [pointer for pointer, _ in problems] == ["/max_attempts", "/factor", "/odd"]


@pytest.mark.parametrize("value", [None, 5, "5", [5], True])
def test_what_is_no_object_is_no_policy(value: Any) -> None:
    assert read_retry(value, DEFAULT)[1][0][0] == ""
