"""The figures of a task beside PgQueuer, graphile-worker, Celery and BullMQ."""

from __future__ import annotations

from benchmarks.figures.beside import drain_async, sdk_latency
from benchmarks.suite import Suite

PEERS = Suite(
    name="peers",
    plan={"sdk-latency": sdk_latency.figures, "drain-async": drain_async.figures},
)
