"""A rate limit is even, whatever is asked and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windlass.model.job.target import RateLimit, tolerance_seconds

RATES = st.floats(min_value=0.01, max_value=10_000)
STEPS = st.lists(
    st.tuples(st.floats(min_value=0, max_value=2), st.integers(min_value=1, max_value=500)),
    min_size=1,
    max_size=60,
)


@given(rate=RATES, steps=STEPS)
def test_no_window_holds_more_than_the_rate_and_the_slack(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    limit, now, went = RateLimit(), 1_000.0, []
    for rest, wanted in steps:
        now += rest
        granted, _ = limit.take(rate, wanted, now)
        assert 0 <= granted <= wanted
        went.append((now, granted))
    slack = tolerance_seconds(rate) * rate + 1
    for first, (start, _) in enumerate(went):
        total = 0
        for at, count in went[first:]:
            total += count
            # A little more for arithmetic in floats.
            assert total <= (at - start) * rate + slack + 1e-3 * (1 + total)


@given(rate=RATES)
def test_who_waits_as_long_as_told_may_go(rate: float) -> None:
    limit, now = RateLimit(), 50.0
    for _ in range(20):
        _, wait = limit.take(rate, 1, now)
        now += wait + 1e-9 * (1 + now)
        granted, wait = limit.take(rate, 1, now)
        assert granted == 1
        now += wait


def test_a_pace_that_rested_does_not_save_up() -> None:
    limit = RateLimit()
    assert limit.take(10, 1, 0.0)[0] == 1
    assert limit.take(10, 100, 60.0)[0] == 1
