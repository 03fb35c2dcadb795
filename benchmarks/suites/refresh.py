"""The figures of refreshing executions."""

from __future__ import annotations

from benchmarks.figures import refresh
from benchmarks.suite import Suite

REFRESH = Suite(name="refresh", plan={"refresh": refresh.figures})
