"""The numbers of one node, as Prometheus knows them (names fixed by the contract)."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from windlass.model.settle import Settlement
from windlass.telemetry.buckets import LabelledBuckets

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_AGE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 86400)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._duration = self._histogram(
            "windlass_job_duration_seconds",
            "From the start of an attempt to its outcome",
            ("kind", "queue", "outcome"),
            _FAST,
        )
        self.age = self._histogram(
            "windlass_job_age_seconds", "From creation to the first start", (), _AGE
        ).of()
        self.claim = self._histogram("windlass_claim_seconds", "One claim", (), _FAST).of()
        self.finish = self._histogram(
            "windlass_finish_seconds", "One batch of settlements", (), _FAST
        ).of()
        self._jobs = Counter(
            "windlass_jobs_total",
            "Attempts that were settled, by outcome",
            ["queue", "outcome"],
            registry=self.registry,
        )
        self._rejected = Counter(
            "windlass_jobs_rejected_total",
            "Submissions refused by a limit",
            ["queue", "reason"],
            registry=self.registry,
        )
        self.refused = Counter(
            "windlass_finish_refused_total",
            "Settlements whose fence had moved on",
            registry=self.registry,
        )
        self._slots = Gauge(
            "windlass_slots", "Slots of this node", ["state"], registry=self.registry
        )
        self.fastlane = Gauge(
            "windlass_fastlane_up", "1 while Redis answers", registry=self.registry
        )

    def _histogram(
        self, name: str, about: str, labels: tuple[str, ...], bounds: tuple[float, ...]
    ) -> LabelledBuckets:
        family = LabelledBuckets(name, about, labels, bounds)
        self.registry.register(family)
        return family

    def settled(self, settlements: Iterable[Settlement]) -> None:
        counted: dict[tuple[str, str], int] = {}
        for settlement in settlements:
            queue, outcome = settlement.queue, settlement.outcome
            self._duration.of(settlement.kind, queue, outcome).observe(settlement.duration_seconds)
            counted[queue, outcome] = counted.get((queue, outcome), 0) + 1
        for labels, count in counted.items():
            self._jobs.labels(*labels).inc(count)

    def rejected(self, queue: str, reason: str) -> None:
        self._rejected.labels(queue, reason).inc()

    def slots(self, *, busy: int, free: int, buffered: int) -> None:
        self._slots.labels("busy").set(busy)
        self._slots.labels("free").set(free)
        self._slots.labels("buffered").set(buffered)
