"""The figures of this checkout beside another one."""

from __future__ import annotations

from benchmarks.figures import versus
from benchmarks.suite import Suite

VERSUS = Suite(name="versus", plan=versus.PLAN)
