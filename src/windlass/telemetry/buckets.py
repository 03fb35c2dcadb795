"""Prometheus histograms that are cheap to observe.

The hot path observes twice a job, tens of thousands of times a second, on one thread; the client
library's histogram takes a lock for each. These count in plain lists and take the library's form
only when somebody scrapes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


class Buckets:
    """One histogram: how many observations fell under each bound, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def observe_many(self, values: Sequence[float]) -> None:
        bounds, counts = self.bounds, self.counts
        for value in values:
            counts[bisect_left(bounds, value)] += 1
        self.total += sum(values)

    def cumulated(self) -> list[tuple[str, float]]:
        counted, pairs = 0, []
        for bound, count in zip(
            (*map(str, map(float, self.bounds)), "+Inf"), self.counts, strict=True
        ):
            counted += count
            pairs.append((bound, float(counted)))
        return pairs


class LabelledBuckets(Collector):
    """A family of them, one for each set of labels; no labels at all is one set too."""

    def __init__(
        self, name: str, about: str, labels: tuple[str, ...], bounds: tuple[float, ...]
    ) -> None:
        self._name, self._about, self._labels, self._bounds = name, about, labels, bounds
        self._children: dict[tuple[str, ...], Buckets] = {} if labels else {(): Buckets(bounds)}

    def of(self, *labels: str) -> Buckets:
        child = self._children.get(labels)
        if child is None:
            child = self._children[labels] = Buckets(self._bounds)
        return child

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(self._name, self._about, labels=self._labels)
        for labels, child in list(self._children.items()):
            family.add_metric(labels, child.cumulated(), child.total)
        yield family
