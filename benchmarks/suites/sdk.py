"""The figures of the Python SDK."""

from __future__ import annotations

from benchmarks.figures import durable
from benchmarks.figures.sdk import commit, imports, mapped, tasks
from benchmarks.suite import Suite

SDK = Suite(
    name="sdk",
    plan={
        "sdk-commit": commit.figures,
        "sdk-import": imports.figures,
        "sdk-map": mapped.figures,
        "sdk-tasks": tasks.figures,
        "durable": durable.figures,
    },
)
