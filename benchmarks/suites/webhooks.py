"""The figures of webhooks."""

from __future__ import annotations

from benchmarks.figures import dead_host, delivery, drip, endless
from benchmarks.suite import Suite

WEBHOOKS = Suite(
    name="webhooks",
    plan={
        "delivery": delivery.figures,
        "dead_host": dead_host.figures,
        "drip": drip.figures,
        "endless": endless.figures,
    },
)
