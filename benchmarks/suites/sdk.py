"""The figures of the Python SDK."""

from __future__ import annotations

from benchmarks.figures import durable, sdk_commit, sdk_import, sdk_map, sdk_tasks
from benchmarks.suite import Suite

SDK = Suite(
    name="sdk",
    plan={
        "sdk-commit": sdk_commit.figures,
        "sdk-import": sdk_import.figures,
        "sdk-map": sdk_map.figures,
        "sdk-tasks": sdk_tasks.figures,
        "durable": durable.figures,
    },
)
