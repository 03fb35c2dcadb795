"""The figures of schedules."""

from __future__ import annotations

from benchmarks.figures import schedules_due, schedules_kills, schedules_steady
from benchmarks.suite import Suite

SCHEDULES = Suite(
    name="schedules",
    plan={
        "schedules-due": schedules_due.figures,
        "schedules-steady": schedules_steady.figures,
        "schedules-kills": schedules_kills.figures,
    },
)
