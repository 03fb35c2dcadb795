"""The figures of starting: a node, and a command."""

from __future__ import annotations

from benchmarks.figures import start
from benchmarks.suite import Suite

START = Suite(name="start", plan={"start": start.figures})
