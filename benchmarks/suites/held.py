"""The figures of everything beside a transaction that is left open."""

from __future__ import annotations

from benchmarks.figures import opened
from benchmarks.suite import Suite

HELD = Suite(name="held", plan={"opened": opened.figures})
