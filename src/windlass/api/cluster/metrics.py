"""/metrics for Prometheus: the node's own numbers, queue depth, and which schedules are silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from starlette.types import ASGIApp

from windlass.api.http import shapes as schemas
from windlass.api.http.reply import Reply
from windlass.api.http.route import Answer, Call, Route
from windlass.api.parts import ApiParts
from windlass.engine.jobs.stats import Counters, QueueCounts, add_up
from windlass.engine.schedules.ledger import count_silent
from windlass.limits import METRIC_QUEUES_MAX
from windlass.model.job.states import UNFINISHED
from windlass.telemetry.metrics import OTHER


class Metrics:
    def __init__(self, parts: ApiParts, counters: Counters) -> None:
        self._parts = parts
        self._counters = counters

    async def show(self, _request: Call, _query: dict[str, Any]) -> ASGIApp:
        depth = _depth(await self._counters.read())
        silent = _silent(await count_silent(self._parts.database))
        text = generate_latest(self._parts.registry) + generate_latest(_Fixed([depth, silent]))
        return Reply(text, 200, [(b"content-type", CONTENT_TYPE_LATEST.encode())])


class _Fixed:
    """Something to collect from that was collected already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _depth(queues: Mapping[str, QueueCounts]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(
        "windlass_queue_depth", "Unfinished jobs by queue and state", labels=["queue", "state"]
    )
    for name, queue in _named(queues).items():
        for state in UNFINISHED:
            family.add_metric([name, state], queue.counts[state])
    return family


def _named(queues: Mapping[str, QueueCounts]) -> dict[str, QueueCounts]:
    """The fullest by name, and the rest as one: whoever may submit may name queues."""
    if len(queues) <= METRIC_QUEUES_MAX:
        return dict(queues)

    def rank(item: tuple[str, QueueCounts]) -> tuple[int, str]:
        return -sum(item[1].counts[state] for state in UNFINISHED), item[0]

    ranked = sorted(queues.items(), key=rank)
    named, rest = dict(ranked[:METRIC_QUEUES_MAX]), dict(ranked[METRIC_QUEUES_MAX:])
    if OTHER in named:
        rest[OTHER] = named.pop(OTHER)
    return {**named, OTHER: add_up(rest)}


def _silent(count: int) -> GaugeMetricFamily:
    # Asked of PostgreSQL by every node, so that it is known even where nobody leads.
    return GaugeMetricFamily(
        "windlass_schedule_silent",
        "Schedules that were expected to fire more than a minute ago and did not",
        value=count,
    )


def routes(parts: ApiParts, counters: Counters) -> list[Route]:
    return [
        Route(
            method="GET",
            path="/metrics",
            needs="metrics:read",
            handle=Metrics(parts, counters).show,
            summary="Metrics for Prometheus",
            tag="System",
            answers={
                200: Answer(
                    description="The exposition format",
                    schema=schemas.TEXT,
                    media_type="text/plain",
                )
            },
        )
    ]
