"""The Prometheus metrics of one node (names fixed by the contract)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windlass.clock import monotonic
from windlass.limits import (
    METRIC_QUEUES_MAX,
    METRIC_TARGETS_MAX,
    METRIC_TASKS_MAX,
    PARTITIONS_AHEAD_DAYS,
)
from windlass.model.job.settle import Settlement
from windlass.telemetry.buckets import LabelledBuckets

# The label of everything that has none of its own.
OTHER: Final = "other"
_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_AGE = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800, 7200, 86400)


class Age(Collector):
    """A gauge of how long ago something happened, in seconds, reckoned at each scrape.

    While nobody knows there is no sample, so no alert can ask for one.
    """

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


def _known(name: str, labels: set[str], most: int) -> str:
    """The name, or one label for all the others when there are too many of them."""
    if name not in labels:
        if len(labels) >= most:
            return OTHER
        labels.add(name)
    return name


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._queues: set[str] = set()  # those that have a label of their own
        self._tasks: set[str] = set()
        self._breakers: dict[str, str] = {}  # target -> state, of those that are shown
        self._duration = self._histogram(
            "windlass_job_duration_seconds",
            "From the start of an attempt to its outcome",
            ("kind", "queue", "task", "outcome"),
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
        self._limited = Counter(
            "windlass_requests_limited_total",
            "Requests refused by a quota of requests a second, of a user or of a key",
            ["subject"],
            registry=self.registry,
        )
        self._turned_away = Counter(
            "windlass_http_refused_total",
            "Connections and requests that were refused before they reached the API, by reason",
            ["reason"],
            registry=self.registry,
        )
        self.refused = Counter(
            "windlass_finish_refused_total",
            "Settlements whose fence had moved on",
            registry=self.registry,
        )
        self.buried = Counter(
            "windlass_finish_buried_total",
            "Settlements that could not be applied; their jobs ended dead, with the reason",
            registry=self.registry,
        )
        self.aside: Callable[[], int] = lambda: 0
        self._gauge(
            "windlass_finish_aside",
            "Settlements that wait for a row that somebody holds, or cannot be applied just now",
            lambda: self.aside(),
        )
        self.elections = Counter(
            "windlass_leader_elections_total",
            "Times this node was elected",
            registry=self.registry,
        )
        # Read when somebody asks: a lead that was not renewed is over, whatever was said before.
        self.term_led: Callable[[], int | None] = lambda: None  # None: this node does not lead
        self._seen_term = 0
        self._gauge("windlass_leader", "1 on the node that leads", self._leads)
        self._gauge(
            "windlass_leader_term",
            "The newest term, as this node led it or last heard of it",
            self._term,
        )
        self._leader_seen = Gauge(
            "windlass_leader_seen",
            "1 while some node leads, as this one heard with its last heartbeat",
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
        self._sweep_age = Age(
            "windlass_sweep_age_seconds",
            "Since a sweep by whomever was heard of; until one was, since Redis was first reached",
        )
        self.registry.register(self._sweep_age)
        self._lateness = self._histogram(
            "windlass_schedule_lateness_seconds",
            "From when an instant of a schedule was due, jitter included, to its firing",
            (),
            _AGE,
        ).of()
        self._refresh = self._histogram(
            "windlass_refresh_seconds", "One batch of executions brought up to date", (), _FAST
        ).of()
        self._refreshed = Counter(
            "windlass_refresh_executions_total",
            "Executions brought up to date with their jobs",
            registry=self.registry,
        )
        self._troubles = Counter(
            "windlass_tending_failed_total",
            "Steps, fan-outs and executions that could not be looked after, by what was to be done",
            ["what"],
            registry=self.registry,
        )
        self._days_ahead = Gauge(
            "windlass_partition_days_ahead",
            "Days after today that the history has its partitions for, as of the last look",
            registry=self.registry,
        )
        self._days_ahead.set(PARTITIONS_AHEAD_DAYS)  # until somebody has looked
        self._overdue = Gauge(
            "windlass_partitions_overdue",
            "Days past the retention that could not be dropped, as of the last try",
            registry=self.registry,
        )
        # Read when somebody asks: they change with every attempt.
        self.slots: Callable[[], Mapping[str, int]] = dict
        slots = Gauge("windlass_slots", "Slots of this node", ["state"], registry=self.registry)
        for state in ("busy", "free", "buffered"):
            slots.labels(state).set_function(partial(self._slots, state))
        self._fastlane = Gauge(
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

        self._cached = Counter(
            "windlass_cache_requests_total",
            "What caches were asked for, by where it was found",
            ["cache", "result"],
            registry=self.registry,
        )
        self._cached_by: dict[tuple[str, str], Counter] = {}  # found again without a lock

        self._background = Counter(
            "windlass_background_failures_total",
            "Times that something a node does in the background failed for no outside reason",
            ["task"],
            registry=self.registry,
        )

    def _histogram(
        self, name: str, about: str, labels: tuple[str, ...], bounds: tuple[float, ...]
    ) -> LabelledBuckets:
        family = LabelledBuckets(name, about, labels, bounds)
        self.registry.register(family)
        return family

    def _gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        Gauge(name, about, registry=self.registry).set_function(read)

    def settled(self, settlements: Iterable[Settlement]) -> None:
        alike: dict[tuple[str, str, str | None, str], list[float]] = {}
        for settlement in settlements:
            key = settlement.kind, settlement.queue, settlement.task, settlement.outcome
            seconds = alike.get(key)
            if seconds is None:
                seconds = alike[key] = []
            seconds.append(settlement.duration_seconds)
        for (kind, name, task, outcome), durations in alike.items():
            queue = self._label(name)
            task = "" if task is None else _known(task, self._tasks, METRIC_TASKS_MAX)
            self._duration.of(kind, queue, task, outcome).observe_many(durations)
            self._jobs.labels(queue, outcome).inc(len(durations))

    def retained(self, days_ahead: int, overdue: int) -> None:
        self._days_ahead.set(days_ahead)
        self._overdue.set(overdue)

    def delivered(self, outcome: str, status_code: int | None) -> None:
        key = outcome, 0 if status_code is None else status_code // 100
        counter = self._delivered.get(key)
        if counter is None:
            code_class = f"{key[1]}xx" if key[1] else "none"
            counter = self._delivered[key] = self._deliveries.labels(outcome, code_class)
        counter.inc()

    def cached(self, cache: str, result: str, count: int) -> None:
        counter = self._cached_by.get((cache, result))
        if counter is None:
            counter = self._cached_by[cache, result] = self._cached.labels(cache, result)
        counter.inc(count)

    def _label(self, queue: str) -> str:
        return _known(queue, self._queues, METRIC_QUEUES_MAX)

    def breaker(self, host: str, state: str) -> None:
        if host not in self._breakers and len(self._breakers) >= METRIC_TARGETS_MAX:
            healthy = next((h for h, known in self._breakers.items() if known == "closed"), None)
            if healthy is None:
                return  # enough others say that something is wrong
            del self._breakers[healthy]
            self._breaker.remove(healthy)
        self._breakers[host] = state
        self._breaker.labels(host).set({"closed": 0, "half_open": 1, "open": 2}[state])

    def swept(self, seconds: float, removed_keys: int) -> None:
        self._sweep.observe(seconds)
        self._swept.inc(removed_keys)
        self.sweep_heard()

    def sweep_heard(self) -> None:
        """Somebody has swept: the leader, a caller of the API, or cron."""
        self._sweep_age.happened()

    def lane_changed(self, is_up: bool) -> None:
        self._fastlane.set(is_up)
        # From now on sweeps are heard of; where there is no Redis nobody waits for one.
        if is_up and not self._sweep_age.is_known:
            self._sweep_age.happened()

    def fired(self, late_seconds: Iterable[float]) -> None:
        for seconds in late_seconds:
            self._lateness.observe(seconds)

    def refreshed(self, executions: int, seconds: float) -> None:
        self._refresh.observe(seconds)
        self._refreshed.inc(executions)

    def tending_failed(self, what: str) -> None:
        """One item of a background round failed for a reason that nobody foresaw."""
        self._troubles.labels(what).inc()

    def leader_seen(self, term: int, is_led: bool) -> None:
        """PostgreSQL was asked who leads; called on any thread."""
        self._seen_term = term
        self._leader_seen.set(is_led)

    def background_failed(self, task: str) -> None:
        """Called on any thread."""
        self._background.labels(task).inc()

    def rejected(self, queue: str, reason: str) -> None:
        self._rejected.labels(self._label(queue), reason).inc()

    def limited(self, subject: str) -> None:
        self._limited.labels(subject).inc()

    def turned_away(self, reason: str) -> None:
        self._turned_away.labels(reason).inc()

    def _leads(self) -> float:
        return float(self.term_led() is not None)

    def _term(self) -> float:
        return max(self._seen_term, self.term_led() or 0)

    def _slots(self, state: str) -> float:
        return self.slots().get(state, 0)
