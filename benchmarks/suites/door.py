"""The figures of a node's door under siege."""

from __future__ import annotations

from benchmarks.figures import besieged
from benchmarks.suite import Suite

DOOR = Suite(name="door", plan=besieged.plan())
