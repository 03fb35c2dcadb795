"""What a node says of the cluster, and what it leaves unsaid."""

from __future__ import annotations

import pytest

from windlass.limits import METRIC_QUEUES_MAX, METRIC_TARGETS_MAX
from windlass.telemetry import metrics
from windlass.telemetry.metrics import Metrics

AGE = "windlass_sweep_age_seconds"


class Watch:
    """A monotonic clock that a test sets."""

    seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    found = Watch()
    monkeypatch.setattr(metrics, "monotonic", found)
    return found


def test_where_there_is_no_redis_nobody_says_how_long_ago_a_sweep_was(watch: Watch) -> None:
    metrics = Metrics()
    watch.seconds += 3_600
    assert metrics.registry.get_sample_value(AGE) is None


def test_the_age_of_the_last_sweep_goes_on_while_nobody_sweeps(watch: Watch) -> None:
    metrics = Metrics()
    metrics.lane_changed(is_up=True)
    watch.seconds += 60
    assert metrics.registry.get_sample_value(AGE) == 60, "none was heard of since there is Redis"
    metrics.lane_changed(is_up=False)
    metrics.lane_changed(is_up=True)
    assert metrics.registry.get_sample_value(AGE) == 60, "a Redis that came back is no sweep"
    metrics.sweep_heard()
    watch.seconds += 5
    assert metrics.registry.get_sample_value(AGE) == 5
    metrics.swept(0.1, removed_keys=0)
    assert metrics.registry.get_sample_value(AGE) == 0


def test_queues_and_targets_beyond_a_number_share_a_label() -> None:
    metrics = Metrics()
    for n in range(METRIC_QUEUES_MAX + 5):
        metrics.rejected(f"q{n}", "queue_full")
    metrics.rejected("q0", "queue_full")
    rejected = "windlass_jobs_rejected_total"

    def count(queue: str) -> float | None:
        labels = {"queue": queue, "reason": "queue_full"}
        return metrics.registry.get_sample_value(rejected, labels)

    assert (count("q0"), count("other")) == (2, 5)
    assert count(f"q{METRIC_QUEUES_MAX}") is None

    def shown(target: str) -> float | None:
        return metrics.registry.get_sample_value("windlass_breaker_state", {"target": target})

    metrics.breaker("well", "closed")
    for n in range(METRIC_TARGETS_MAX + 5):
        metrics.breaker(f"h{n}", "open")
    assert shown("well") is None, "it made room for one that is not"
    assert (shown("h0"), shown(f"h{METRIC_TARGETS_MAX}")) == (2, None)
    metrics.breaker("h0", "closed")
    metrics.breaker("late", "half_open")
    assert (shown("h0"), shown("late")) == (None, 1)
