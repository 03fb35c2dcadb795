"""Quotas: what they may say, whose they are, and a pace that is never more than was asked for."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.errors import InvalidInput
from windlass.model.identity.quota import (
    NO_QUOTA,
    Pace,
    Quota,
    quotas_of,
    read_quota_change,
    stored_quota,
)
from windlass.model.job.target import RateLimit

USER, KEY = UUID(int=1), UUID(int=2)


BAD: dict[str, list[Any]] = {
    "requests_per_second": [0, -1, 0.0001, 10_001, 1e308, True, "5", []],
    "requests_burst": [0, -1, 1.5, 100_001, True, "5"],
    "jobs_per_day": [-1, 0.5, 2**53, True, "5", {}],
    "bytes_waiting": [-1, 0.5, 2**53, 1e300, "5"],
    "jobs_per_week": [5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in BAD.items() for value in values]
)
def test_what_is_no_quota_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_quota_change({"bytes_waiting": None, name: value})
    assert f"/{name}" in {problem.pointer for problem in refused.value.problems}


@pytest.mark.parametrize("value", [None, 5, "5", [5]])
def test_a_quota_is_an_object(value: object) -> None:
    with pytest.raises(ValueError, match="must be an object"):
        read_quota_change(value)


def test_what_is_said_changes_and_null_takes_away() -> None:
    quota = NO_QUOTA.changed(read_quota_change({"requests_per_second": 5, "requests_burst": 20.0}))
    assert quota == Quota(requests_per_second=5.0, requests_burst=20)
    quota = quota.changed(read_quota_change({"jobs_per_day": 0}))
    assert quota.given == {"requests_per_second": 5.0, "requests_burst": 20, "jobs_per_day": 0}
    assert quota.changed({"requests_per_second": None}) == Quota(jobs_per_day=0), "with its burst"
    assert stored_quota({**quota.given, "of_a_later_release": 1}) == quota
    assert stored_quota(None) == NO_QUOTA


def test_a_burst_without_a_rate_means_nothing() -> None:
    with pytest.raises(InvalidInput) as refused:
        NO_QUOTA.changed({"requests_burst": 5})
    assert refused.value.problems[0].pointer == "/quota/requests_burst"


def test_a_key_of_a_user_is_held_to_both_and_defaults_are_for_users_and_for_keys_of_nobody() -> (
    None
):
    defaults = Quota(jobs_per_day=10, requests_per_second=1, requests_burst=9)
    own = Quota(requests_per_second=2)
    of_user = quotas_of(defaults, user_id=USER, key_id=KEY, key=own)
    assert [(one.noun, one.id) for one in of_user] == [("key", KEY), ("user", USER)]
    assert [one.quota for one in of_user] == [own, defaults]
    [of_nobody] = quotas_of(defaults, user_id=None, key_id=KEY, key=own)
    assert of_nobody.quota == Quota(requests_per_second=2, jobs_per_day=10), "its rate, its burst"
    assert quotas_of(NO_QUOTA, user_id=USER, key_id=KEY) == ()
    [session] = quotas_of(NO_QUOTA, user_id=USER, user=own)
    assert (session.noun, session.name) == ("user", f"user_{USER.hex}")


rates = st.floats(min_value=0.001, max_value=10_000, allow_nan=False)
bursts = st.integers(min_value=1, max_value=100_000)


@given(rates, bursts)
def test_a_pace_is_never_more_than_was_asked_for(rate: float, burst: int) -> None:
    pace = Pace(per_second=rate, burst=burst)
    assert 1e6 / pace.interval <= rate * (1 + 1e-9)
    assert pace.remaining(0) == burst
    assert pace.remaining(pace.full) == 0
    assert pace.remaining(pace.tolerance) == 1
    assert pace.in_window <= max(1.0, rate * pace.window_seconds)
    assert pace.window_seconds >= math.floor(burst / rate)


@given(
    st.floats(min_value=0.5, max_value=100),
    st.integers(min_value=1, max_value=50),
    st.lists(st.floats(min_value=0, max_value=2), min_size=1, max_size=100),
)
def test_in_any_stretch_of_time_no_more_than_the_burst_and_the_rate_come(
    rate: float, burst: int, rests: list[float]
) -> None:
    limit, now, came = RateLimit(), 100.0, []
    tolerance = (burst - 1) / rate
    for rest in rests:
        now += rest
        room = limit.room(rate, now, tolerance)
        granted, wait = limit.take(rate, 1, now, tolerance)
        assert granted == min(1, room)
        assert granted or wait > 0
        if granted:
            came.append(now)
    for first, begun in enumerate(came):
        for last in range(first, len(came)):
            most = burst + rate * (came[last] - begun) + 1e-3
            assert last - first + 1 <= most


@given(st.floats(min_value=0.01, max_value=1000), st.integers(min_value=1, max_value=1000))
def test_whoever_waits_as_long_as_it_says_is_let_in(rate: float, burst: int) -> None:
    limit, tolerance = RateLimit(), (burst - 1) / rate
    granted, _ = limit.take(rate, burst, 0.0, tolerance)
    assert granted == burst
    granted, wait = limit.take(rate, 1, 0.0, tolerance)
    assert granted == 0
    assert limit.take(rate, 1, wait, tolerance)[0] == 1
