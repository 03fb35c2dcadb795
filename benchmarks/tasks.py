"""The tasks of a node that is being measured (`--app benchmarks.tasks:app`)."""

from __future__ import annotations

import time

from windlass.sdk.app import App

app = App("benchmarks")


@app.task
def now() -> float:
    """When it was called, by the clock that every process of this machine shares."""
    return time.time()


def keep(note: str) -> None:
    """What is mapped; whoever maps it has an App of their own."""


@app.task
def nothing() -> None:
    pass


@app.task
async def nothing_async() -> None:
    pass


@app.task(isolate="process")
def nothing_apart() -> None:
    pass
