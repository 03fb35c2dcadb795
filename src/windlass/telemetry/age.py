"""How long ago something happened, reckoned anew whenever somebody asks."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.clock import monotonic


class Age(Collector):
    """A gauge of seconds. While nobody knows there is no sample, so no alert can ask for one."""

    def __init__(self, name: str, about: str) -> None:
        self._name, self._about = name, about
        self._since: float | None = None  # by the monotonic clock; None: nobody knows

    @property
    def is_known(self) -> bool:
        return self._since is not None

    def happened(self) -> None:
        self._since = monotonic()

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._about)
        if self._since is not None:
            family.add_metric([], monotonic() - self._since)
        yield family
