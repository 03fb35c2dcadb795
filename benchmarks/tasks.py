"""The tasks of a node that is being measured (`--app benchmarks.tasks:app`)."""

from __future__ import annotations

import time

from windlass.sdk.app import App

app = App("benchmarks")


@app.task
def now() -> float:
    """When it was called, by the clock that every process of this machine shares."""
    return time.time()
