"""The numbers of one node, as Prometheus knows them (names fixed by the contract)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

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
        self.elections = Counter(
            "windlass_leader_elections_total",
            "Times this node was elected",
            registry=self.registry,
        )
        self._sweep = self._histogram(
            "windlass_sweep_seconds", "One sweep of dead coordinators", (), _FAST
        ).of()
        self._swept = Counter(
            "windlass_sweep_removed_total",
            "Keys of dead coordinators that were removed",
            registry=self.registry,
        )
        # Read when somebody asks: they change with every attempt.
        self.slots: Callable[[], Mapping[str, int]] = dict
        slots = Gauge("windlass_slots", "Slots of this node", ["state"], registry=self.registry)
        for state in ("busy", "free", "buffered"):
            slots.labels(state).set_function(partial(self._slots, state))
        self.fastlane = Gauge(
            "windlass_fastlane_up", "1 while Redis answers", registry=self.registry
        )

        self._deliveries = Counter(
            "windlass_webhook_deliveries_total",
            "Deliveries by how they ended and the class of the answer",
            ["outcome", "code_class"],
            registry=self.registry,
        )
        self._delivered: dict[tuple[str, int], Counter] = {}  # found again without a lock
        self._breaker = Gauge(
            "windlass_breaker_state",
            "Of targets whose breaker has moved: 0 closed, 1 half open, 2 open",
            ["target"],
            registry=self.registry,
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

    def delivered(self, outcome: str, status_code: int | None) -> None:
        key = outcome, 0 if status_code is None else status_code // 100
        counter = self._delivered.get(key)
        if counter is None:
            code_class = f"{key[1]}xx" if key[1] else "none"
            counter = self._delivered[key] = self._deliveries.labels(outcome, code_class)
        counter.inc()

    def breaker(self, host: str, state: str) -> None:
        self._breaker.labels(host).set({"closed": 0, "half_open": 1, "open": 2}[state])

    def swept(self, seconds: float, removed_keys: int) -> None:
        self._sweep.observe(seconds)
        self._swept.inc(removed_keys)

    def rejected(self, queue: str, reason: str) -> None:
        self._rejected.labels(queue, reason).inc()

    def _slots(self, state: str) -> float:
        return self.slots().get(state, 0)
