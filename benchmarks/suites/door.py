"""The figures of a node's door: under siege, and what it costs to know who calls."""

from __future__ import annotations

from benchmarks.figures import auth, besieged
from benchmarks.suite import Suite

DOOR = Suite(name="door", plan={"auth": auth.figures, **besieged.plan()})
