"""The figures of the sweep."""

from __future__ import annotations

from benchmarks.figures import sweep
from benchmarks.suite import Suite

SWEEP = Suite(name="sweep", plan={"sweep": sweep.figures})
