"""Large executions rest between refreshes."""

from __future__ import annotations

from uuid import UUID

from windlass.limits import REFRESH_RESTS_MAX
from windlass.model.workflow.refresh import RefreshThrottle

ONE = UUID(int=1)


def test_small_ones_never_rest() -> None:
    rests = RefreshThrottle()
    rests.refreshed(ONE, 5, now=100.0)
    assert rests.seconds_left(ONE, 100.0) == 0


def test_a_hundred_thousand_jobs_rest_for_ten_seconds() -> None:
    rests = RefreshThrottle()
    rests.refreshed(ONE, 100_000, now=100.0)
    assert rests.seconds_left(ONE, 103.0) == 7.0
    assert rests.seconds_left(ONE, 111.0) == 0
    assert rests.seconds_left(UUID(int=2), 103.0) == 0


def test_only_so_many_are_remembered() -> None:
    rests = RefreshThrottle()
    for number in range(REFRESH_RESTS_MAX + 1):
        rests.refreshed(UUID(int=number), 100_000, now=0.0)
    assert rests.seconds_left(UUID(int=0), 1.0) == 0
    assert rests.seconds_left(UUID(int=1), 1.0) > 0
