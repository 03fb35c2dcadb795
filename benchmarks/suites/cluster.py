"""The figures of a cluster."""

from __future__ import annotations

from benchmarks.figures import failover, resize, two_nodes
from benchmarks.suite import Suite

CLUSTER = Suite(
    name="cluster",
    plan={
        "failover": failover.figures,
        "resize": resize.figures,
        "two-nodes": two_nodes.figures,
    },
)
