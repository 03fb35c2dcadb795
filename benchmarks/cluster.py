"""The figures of a cluster."""

from __future__ import annotations

from benchmarks.figures import failover
from benchmarks.suite import Suite

CLUSTER = Suite(name="cluster", plan={"failover": failover.figures})
